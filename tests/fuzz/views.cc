#include "tests/fuzz/views.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/decoding/file_names.h"
#include "tests/fuzz/expect.h"

namespace recordfs::fuzz {
namespace {

constexpr std::size_t kMostChunks = 40;
constexpr std::uint64_t kMostRecords = 300;          // of all chunks together
constexpr std::uint64_t kMostBytes = 4 << 20;        // of all records together
constexpr std::uint64_t kLargestDocument = 1 << 20;  // larger JSON files are not checked

using Json = nlohmann::json;

// The content of a file; nullopt if it cannot be read because of its bytes.
using Content = std::optional<std::string>;

class Comparison {
 public:
  Comparison(const MountedInput& mounted, Bytes file)
      : mounted_(mounted), store_(mounted.store()), file_(file), size_(file.size()) {}

  void run() {
    const auto walked = contract::walk(mounted_.container(), size_);
    const auto totals = waited([&] { return store_.index().totals(ScanDetail::kSizes); });
    if (!totals) return expect_judgement(totals.error());
    compare_chunk_list(walked.chunks());
    for (std::uint64_t number = 0; number < totals->chunks && may_go_on(number); ++number) compare_chunk(number);
    compare_ends(*totals);
    compare_damage();
    compare_whole_stream(*totals);
    check_json(node("info.json"));
    check_json(node(".views/index/summary.json"));
  }

 private:
  bool may_go_on(std::uint64_t number) const {
    return number < kMostChunks && records_ < kMostRecords && bytes_ < kMostBytes;
  }

  std::uint64_t node(const std::string& path) const {
    const auto number = mounted_.find(path);
    expect(number.has_value(), "not found: " + path);
    return *number;
  }
  Content content(std::uint64_t number) const {
    auto bytes = mounted_.content(number);
    if (bytes) return std::move(*bytes);
    expect_judgement(bytes.error());
    return std::nullopt;
  }
  Content piece(std::uint64_t number, std::uint64_t offset, std::uint64_t length) const {
    const auto slice = mounted_.read(number, offset, length);
    if (slice) return std::string(as_text(slice->bytes));
    expect_judgement(slice.error());
    return std::nullopt;
  }
  std::uint64_t size_of(std::uint64_t number) const {
    const auto status = mounted_.status(number);
    expect(status.has_value(), "a file has no size");
    return status->size;
  }
  std::string raw(Position begin, Position end) const {
    return std::string(as_text(file_.subspan(begin, end - begin)));
  }

  void check_json(std::uint64_t number) const {
    if (size_of(number) > kLargestDocument) return;
    const Content text = content(number);
    expect(!text || Json::accept(*text), "a JSON file is not valid JSON");
  }

  // index/chunks.tsv lists the chunks of the scan, in scan order.
  void compare_chunk_list(const std::vector<ChunkInfo>& chunks) const {
    const Content table = content(node(".views/index/chunks.tsv"));
    expect(table.has_value(), "the table of chunks is unreadable");
    std::string_view rest = *table;
    const auto line = [&] {
      const std::size_t end = rest.find('\n');
      expect(end != std::string_view::npos, "the table of chunks is too short");
      const std::string_view taken = rest.substr(0, end);
      rest.remove_prefix(end + 1);
      return taken;
    };
    line();
    for (const ChunkInfo& chunk : chunks) {
      const std::string due = fmt::format("{}\t{}\t{}\t{}\t", chunk.begin, chunk.end, chunk.kind.word(), chunk.codec);
      expect(line().starts_with(due), "a row of the table of chunks differs from the scan's chunk");
    }
    expect(rest.empty(), "the table of chunks is too long");
  }

  void compare_chunk(std::uint64_t number) {
    const auto indexed = waited([&] { return store_.index().find({}, SearchKey::kChunks, number); });
    expect(indexed.has_value(), "a chunk that was counted is not found");
    const ChunkInfo& chunk = indexed->chunk;
    const std::string path = ".views/chunks/" + position_name(chunk.begin);
    expect(content(node(path + "/raw")) == raw(chunk.begin, chunk.end), "raw is not the file's bytes");
    check_json(node(path + "/info.json"));
    const auto records = store_.chunks().records_in({}, chunk);
    const std::uint64_t count = records ? *records : 0;
    const std::uint64_t first = indexed->before.records;
    expect(first == ordinals_, "the ordinals of a chunk do not follow those before it");
    compare_data(chunk, path);
    compare_lines(path, first, count);
    compare_records(path, first, count);
    ordinals_ += count;
    is_whole_ &= contents_.size() == count;
    compare_streams(chunk, first);
  }

  // data is the payload that the layout divides into records.
  void compare_data(const ChunkInfo& chunk, const std::string& path) {
    const std::uint64_t number = node(path + "/data");
    data_.reset();
    layout_.reset();
    expect(size_of(number) > 0 || store_.chunks().get({}, chunk), "data is empty and unreadable");
    if (size_of(number) > kMostBytes) return;
    data_ = content(number);
    if (auto layout = store_.chunks().layout({}, chunk)) layout_ = *layout;
    if (data_) expect(layout_ != nullptr, "data is readable but has no layout");
  }

  void compare_records(const std::string& path, std::uint64_t first, std::uint64_t count) {
    contents_.clear();
    for (std::uint64_t i = 0; i < count && records_ < kMostRecords && bytes_ < kMostBytes; ++i) {
      const std::uint64_t by_ordinal = node("records/" + record_name(first + i));
      const std::uint64_t by_index = node(path + "/records/" + chunk_record_name(i));
      const auto thousand = fmt::format(".views/thousands/{}/", thousand_name((first + i) / 1000));
      expect(by_ordinal == by_index, "a record has another number in its chunk");
      expect(node(thousand + record_name(first + i)) == by_ordinal, "a record has another number in its thousand");
      const std::uint64_t size = size_of(by_ordinal);
      ++records_;
      bytes_ += std::min(size, kMostBytes);
      if (size > kMostBytes) return;
      compare_record(i, content(by_ordinal), size);
      check_document(path, i);
    }
  }

  void compare_record(std::uint64_t index, Content record, std::uint64_t size) {
    if (record && data_ && index < layout_->records()) {
      const Extent extent = layout_->extent(index);
      expect(data_->substr(extent.begin, extent.size) == *record, "a record differs from its chunk's data");
    }
    expect(record || size > 0, "an unreadable record is empty");
    // An empty record has no bytes in data.
    expect(record || !data_ || layout_->extent(index).size == 0, "data contains a record that is unreadable by itself");
    contents_.push_back(std::move(record));
  }

  void check_document(const std::string& path, std::uint64_t index) const {
    const auto document = mounted_.find(path + "/records/" + chunk_record_name(index) + ".json");
    if (document) return check_json(*document);
    expect_judgement(document.error());
  }

  // records.jsonl has one line for each record, and each line is JSON.
  void compare_lines(const std::string& path, std::uint64_t first, std::uint64_t count) const {
    const std::uint64_t number = node(path + "/records.jsonl");
    if (count > kMostRecords || size_of(number) > 4 * kMostBytes) return;
    const Content text = content(number);
    expect(text.has_value(), "the lines of a chunk are unreadable");
    std::uint64_t lines = 0;
    for (std::size_t at = 0; at < text->size(); ++lines) {
      const std::size_t end = text->find('\n', at);
      expect(end != std::string::npos, "the last line of a chunk has no newline");
      const Json line = Json::parse(text->begin() + static_cast<std::ptrdiff_t>(at),
                                    text->begin() + static_cast<std::ptrdiff_t>(end), nullptr, false);
      expect(line.is_object(), "a line is not a JSON object");
      const bool is_record = line.contains("ordinal");
      expect(!is_record || line["ordinal"] == first + lines, "a line has another ordinal");
      expect(is_record || line.contains("error"), "a line has neither a record nor an error");
      at = end + 1;
    }
    expect(lines == count || (count == 0 && lines == 1), "the number of lines differs from the number of records");
  }

  // concat and lines contain each record at the offset that follows from the sizes before it.
  void compare_streams(const ChunkInfo& chunk, std::uint64_t first) {
    const auto layout = store_.chunks().layout({}, chunk);
    if (!is_whole_) return;
    if (layout) {
      for (std::size_t i = 0; i < contents_.size(); ++i) compare_in_streams(**layout, i, first + i);
    } else if (counted_size(chunk) > 0) {
      expect(!piece(node(".views/streams/concat"), stream_begin_, 1), "a stream has bytes of a chunk without a layout");
    }
    stream_begin_ += layout ? (*layout)->total() : counted_size(chunk);
  }

  void compare_in_streams(const Layout& layout, std::size_t index, std::uint64_t ordinal) const {
    const Extent extent = layout.extent(index);
    const std::uint64_t at = stream_begin_ + extent.begin - layout.first_begin();
    const Content whole = piece(node(".views/streams/concat"), at, extent.size);
    const Content line = piece(node(".views/streams/lines"), at + ordinal, extent.size + 1);
    if (const Content& record = contents_[index]) {
      expect(whole == *record, "concat has other bytes than the record");
      expect(line == *record + "\n", "lines has other bytes than the record");
    } else {
      expect(!whole || extent.size == 0, "concat contains an unreadable record");
      expect(!line, "lines contains an unreadable record");
    }
  }

  void compare_ends(const PrefixSums& totals) const {
    const bool is_all = is_whole_ && ordinals_ == totals.records && totals.chunks <= kMostChunks;
    expect(ordinals_ <= totals.records, "there are more records than were counted");
    const std::uint64_t concat = size_of(node(".views/streams/concat"));
    expect(size_of(node(".views/streams/lines")) == concat + totals.records,
           "lines does not have one newline per record");
    if (is_all) expect(concat >= stream_begin_, "concat is shorter than the records");
    const auto after_last = mounted_.find("records/" + record_name(totals.records));
    expect(!after_last && after_last.error().code == Code::kNotFound, "a record follows the last one");
  }

  void compare_damage() const {
    const auto damage = waited([&] { return store_.index().damage(); });
    expect(damage.has_value(), "the damage cannot be listed");
    const Content table = content(node(".views/index/damage.tsv"));
    expect(table.has_value(), "the table of damage is unreadable");
    const auto lines = static_cast<std::size_t>(std::ranges::count(*table, '\n'));
    expect(lines == (*damage)->size() + 1, "the table of damage does not have one line per region");
    for (std::size_t i = 0; i < std::min((*damage)->size(), kMostChunks); ++i) {
      const DamagedRegion& region = (**damage)[i].region;
      const auto found = mounted_.find(".views/damage/" + position_name(region.begin));
      if (found) {
        const Content bytes = content(*found);
        expect(bytes && raw(region.begin, size_).starts_with(*bytes), "a damaged region has other bytes than the file");
      } else {
        expect_judgement(found.error());
      }
    }
  }

  void compare_whole_stream(const PrefixSums& totals) {
    const std::optional<DenseArray>& stream = store_.traits().array;
    if (!stream) return;
    const std::uint64_t number = node(".views/streams/" + stream->name);
    expect(size_of(number) == stream->size, "a whole stream has another size than the container says");
    expect(piece(number, 0, stream->header.size()) == stream->header, "a whole stream begins with something else");
    for (std::uint64_t i = 0; i < std::min<std::uint64_t>(totals.records, 20); ++i) {
      const std::uint64_t at = stream->header.size() + i * stream->record_size;
      if (at >= stream->size) break;
      const std::uint64_t due = std::min(stream->record_size, stream->size - at);
      const Content inside = piece(number, at, due);
      const Content record = content(node("records/" + record_name(i)));
      const bool fits = record && record->size() == due;
      expect(inside.has_value() == fits, "a whole stream has a record that does not fit, or lacks one that does");
      expect(!inside || *inside == *record, "a whole stream has other bytes than the record");
    }
  }

  const MountedInput& mounted_;
  const RecordStore& store_;
  const Bytes file_;
  const std::uint64_t size_;

  std::uint64_t records_ = 0;   // compared so far
  std::uint64_t bytes_ = 0;     // their total size
  std::uint64_t ordinals_ = 0;  // in the chunks so far
  std::uint64_t stream_begin_ = 0;
  bool is_whole_ = true;  // every record so far was compared

  // The chunk being compared.
  Content data_;
  std::shared_ptr<const Layout> layout_;
  std::vector<Content> contents_;  // of its records
};

}  // namespace

void compare_views(const MountedInput& mounted, Bytes file) { Comparison(mounted, file).run(); }

}  // namespace recordfs::fuzz
