#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/base/buffer.h"
#include "core/base/limits.h"
#include "core/base/source.h"
#include "core/formats/chunk.h"
#include "core/formats/container.h"
#include "core/formats/leveldb_table/entries.h"
#include "core/formats/rocksdb_blob/format.h"
#include "core/formats/rocksdb_blob/records.h"
#include "core/formats/rocksdb_blob/wire.h"

namespace recordfs::rocksdb_blob {
namespace {

// Largest run of several records, as stored and as decoded. Reading a single record reads its whole run.
constexpr std::uint64_t kRunSize = 256u << 10;
constexpr std::string_view kSuffix = ".blob";

constexpr int kBidOnName = 1;
constexpr int kBidOnSearch = 24;  // the record may be inside a record of another format, which then bids higher
constexpr int kBidOnRecord = 32;
constexpr int kBidPerByte = 8;  // of the magic and the version
constexpr std::size_t kLeastMagic = 4;

// What is known of a file when it is open.
struct Ends {
  std::optional<FileHeader> header{};      // nullopt: damaged, or shorter than a header
  std::optional<std::uint64_t> records{};  // in the footer; nullopt: there is none
  Position footer = 0;                     // where it begins; without one, the file's end
};

class BlobFile final : public Container {
 public:
  BlobFile(std::shared_ptr<const Source> source, const Limits& limits, const Ends& ends)
      : source_(std::move(source)),
        limits_(limits),
        ends_(ends),
        records_(ends.header ? std::optional(ends.header->compression) : std::nullopt, limits),
        traits_(make_traits()),
        schema_(make_schema()) {}

  const ContainerTraits& traits() const override { return traits_; }
  const RecordSchema& schema() const override { return schema_; }

  Result<Step> scan(const RequestContext& context, ChunkKey key) const override {
    if (key.position >= source_->size()) return Step{};
    if (key.state != 0) return pass_damage(context, key);
    if (key.position == 0) return scan_header(context);
    if (key.position == ends_.footer) return step_with(fixed_chunk("footer", key.position, source_->size()));
    return scan_run(context, key);
  }

  Result<Layout> layout(const RequestContext& context, const ChunkInfo& chunk) const override {
    Layout layout;
    if (chunk.records == 0u) return layout;
    WindowedReader headers = header_reader(*source_);
    for (Position at = chunk.begin; at < chunk.end;) {
      ASSIGN_OR_RETURN(const auto record, records_.outline_at(context, headers, at, chunk.end));
      if (!record) return not_as_found(at);
      if (!could_be_read(record->shown, record->stored, limits_)) return too_large(at, record->shown);
      layout.add(context, record->shown);
      at += record->stored;
    }
    return layout;
  }

  Result<Verification> verify(const RequestContext& context, const ChunkInfo& chunk) const override {
    if (records_.are_stored() && chunk.records != 0u) {
      TRY(verify_stored(context, *source_, chunk));
      return Verification::kVerified;
    }
    ASSIGN_OR_RETURN(const auto decoded, decode(context, chunk));
    if (chunk.begin == 0) return Verification::kNoChecksum;
    const Layout& layout = decoded->layout();
    for (std::uint64_t i = 0; layout.has_failures() && i < layout.records(); ++i) {
      if (const Error* const failure = layout.failure(i)) return *failure;
    }
    return Verification::kVerified;
  }

  Result<std::shared_ptr<const Chunk>> decode(const RequestContext& context, const ChunkInfo& chunk) const override {
    const std::uint64_t size = chunk.end - chunk.begin;
    if (chunk.records == 0u) {
      TRY(check_fixed(context, chunk));
      return std::shared_ptr<const Chunk>(std::make_shared<BufferChunk>(Buffer(), Layout()));
    }
    if (size > limits_.stored_chunk) return too_large(chunk.begin, size);
    // A record without bytes that cannot be read still matches its checksum.
    ASSIGN_OR_RETURN(const auto stored, read_exactly(context.filling_unreadable(), *source_, chunk.begin, size));
    return records_.decode(context, *source_, stored.view(), chunk.begin);
  }

  Result<std::shared_ptr<const Chunk>> open_in_place(const RequestContext& context,
                                                     const ChunkInfo& chunk) const override {
    if (chunk.records != 1u || !records_.are_stored()) return std::shared_ptr<const Chunk>{};
    return open_record(context, source_, chunk.begin, chunk.end);
  }

 private:
  ContainerTraits make_traits() const {
    std::vector<Fact> facts{{"database", "RocksDB"}, {"version", "1"}};
    if (ends_.header) {
      const bool is_known = codec_of(ends_.header->compression).has_value();
      facts.push_back({"compression",
                       is_known ? std::string(records_.codec()) : fmt::format("type {}", ends_.header->compression)});
      facts.push_back({"column_family", std::uint64_t{ends_.header->column_family}});
      facts.push_back({"has_ttl", ends_.header->has_ttl});
    }
    facts.push_back({"closed", ends_.records.has_value()});
    if (ends_.records) facts.push_back({"num_records", *ends_.records});
    return {.format = kFormat.name, .facts = std::move(facts), .headers_have_checksums = false};  // the file's has none
  }

  static RecordSchema make_schema() {
    return {.value = [](Bytes record, ValueForm) { return leveldb_table::value_of(record, false); },
            .parts = RecordSchema::Parts::kRequired,
            .change_kinds = [](Bytes record, const TakeChangeKind& take) -> Result<void> {
              ASSIGN_OR_RETURN(const auto kind, leveldb_table::change_kind_of(record, false));
              take(kind);
              return {};
            },
            .may_be_message = false};
  }

  // --- scan

  // Returns a chunk without records.
  static ChunkInfo fixed_chunk(std::string_view kind, Position begin, Position end) {
    ChunkInfo chunk;
    chunk.key = {begin, 0};
    chunk.begin = begin;
    chunk.end = end;
    chunk.kind = kind;
    chunk.codec = to_string(CodecId::kNone);
    chunk.records = chunk.decoded_size = 0;
    return chunk;
  }

  Step step_with(const ChunkInfo& chunk) const {
    Step step;
    step.chunk = chunk;
    if (chunk.end < source_->size()) step.next = ChunkKey{chunk.end, 0};
    return step;
  }

  Result<Step> scan_header(const RequestContext& context) const {
    if (ends_.header && ends_.header->is_intact) return step_with(fixed_chunk("header", 0, kFileHeaderSize));
    if (source_->size() >= kFileHeaderSize) return pass_damage(context, {});
    Step step;
    step.damage.push_back(
        damaged_region(0, source_->size(), "the file ends inside its header", DamageClass::kUnfinished));
    step.damage.back().records_lost = 0;
    return step;
  }

  // Returns whether a run may get another record.
  bool has_room(const ChunkInfo& run, const Outline& record) const {
    const std::uint64_t most = std::min({kRunSize, limits_.stored_chunk, limits_.decoded_chunk});
    return run.end - run.begin + record.stored <= most && *run.decoded_size + record.shown <= most &&
           *run.records < limits_.records_per_chunk;
  }

  Result<Step> scan_run(const RequestContext& context, ChunkKey key) const {
    ChunkInfo run = fixed_chunk("run", key.position, key.position);
    run.codec = records_.codec();
    WindowedReader headers = header_reader(*source_);
    Outline last;
    for (Position at = key.position; at < source_->size() && at != ends_.footer; at = run.end) {
      // What looks like a footer may be the end of a value, if the file is still being written.
      ASSIGN_OR_RETURN(const auto record, records_.outline_at(context, headers, at, source_->size()));
      if (!record && run.records == 0u) return without_record(context, key);
      if (!record) {
        ASSIGN_OR_RETURN(const auto cut, cut_short_at(context, *source_, at - last.stored, at, source_->size()));
        if (cut) return step_before(run, last, *cut);
      }
      if (!record || (run.records != 0u && !has_room(run, *record))) break;
      last = *record;
      run.end = at + record->stored;
      *run.records += 1;
      *run.decoded_size += record->shown;
    }
    run.stored_size = run.end - run.begin;
    if (!could_be_read(*run.decoded_size, run.stored_size, limits_)) run.decoded_size.reset();
    return step_with(run);
  }

  // Returns the step at a position where no record begins that is complete.
  Result<Step> without_record(const RequestContext& context, ChunkKey key) const {
    const std::uint64_t rest = source_->size() - key.position;
    ASSIGN_OR_RETURN(const auto header, read_up_to(context, *source_, key.position, kRecordHeaderSize));
    const bool is_torn = rest < kRecordHeaderSize || parse_record_header(header.view());
    if (!is_torn) return pass_damage(context, key);
    Step step;
    step.damage.push_back(damaged_region(key.position, source_->size(), "the file ends inside a record or its footer",
                                         DamageClass::kUnfinished));
    if (rest >= kRecordHeaderSize) step.damage.back().records_lost = 1;
    return step;
  }

  // Reports the damage at the key's position. The key's state is where the search for the next record continues, or 0.
  Result<Step> pass_damage(const RequestContext& context, ChunkKey key) const {
    Step step;
    const Position limit = key.position < ends_.footer ? ends_.footer : source_->size();
    std::optional<Position> end;
    std::optional<std::uint64_t> lost;
    if (key.state == 0 && key.position > 0) {
      ASSIGN_OR_RETURN(end, end_of_damaged(context, *source_, key.position, limit));
      if (end) lost = 1;
    }
    if (!end) {
      const Position from = key.state == 0 ? key.position + 1 : key.state;
      ASSIGN_OR_RETURN(const auto found, search(context, *source_, from, source_->size(), limits_.scan_bytes));
      if (found.kind == ResyncResult::Kind::kLater && found.at < limit) {
        step.next = ChunkKey{key.position, found.at};
        return step;
      }
      end = std::min(found.at, limit);
      const bool is_header = key.position == 0 && *end == kFileHeaderSize;
      if (is_header || is_footer(key.position, *end)) lost = 0;
    }
    step.damage.push_back(damaged_region(key.position, *end, reason_of_damage(key.position, *end)));
    step.damage.back().records_lost = lost;
    if (*end < source_->size()) step.next = ChunkKey{*end, 0};
    return step;
  }

  // Returns whether a region is the place of a footer.
  bool is_footer(Position begin, Position end) const { return end == source_->size() && end - begin == kFooterSize; }

  std::string_view reason_of_damage(Position begin, Position end) const {
    if (begin == 0) return "the magic or the version of the file is wrong";
    return is_footer(begin, end) ? "the footer does not match its checksum"
                                 : "the header of a record does not match its checksum";
  }

  // Returns the step of the run without its last record, which is too short. The next record is at `found`.
  static Step step_before(ChunkInfo run, const Outline& last, Position found) {
    Step step;
    *run.records -= 1;
    *run.decoded_size -= last.shown;
    run.end -= last.stored;
    run.stored_size = run.end - run.begin;
    step.damage.push_back(damaged_region(run.end, found, "truncated record"));
    step.damage.back().records_lost = 1;
    step.damage.back().records_before = *run.records;
    if (*run.records > 0) step.chunk = run;
    step.next = ChunkKey{found, 0};
    return step;
  }

  // --- content

  // Verifies the header or the footer.
  Result<void> check_fixed(const RequestContext& context, const ChunkInfo& chunk) const {
    ASSIGN_OR_RETURN(const auto bytes, read_up_to(context, *source_, chunk.begin, kFooterSize));
    const bool is_same =
        chunk.begin == 0 ? matching_magic(bytes.view()) == kMagicSize : parse_footer(bytes.view()).has_value();
    return is_same ? Result<void>() : Error{Code::kDamage, chunk.begin, "not the structure that the scan found"};
  }

  const std::shared_ptr<const Source> source_;
  const Limits limits_;
  const Ends ends_;
  const Records records_;
  const ContainerTraits traits_;
  const RecordSchema schema_;
};

// Returns whether the name is like "000012.blob".
bool is_name(std::string_view file_name) {
  if (file_name.size() <= kSuffix.size() || !file_name.ends_with(kSuffix)) return false;
  file_name.remove_suffix(kSuffix.size());
  return std::ranges::all_of(file_name, [](char c) { return c >= '0' && c <= '9'; });
}

// Bids on the head of a file.
int bid_on(Bytes head) {
  const std::size_t matching = matching_magic(head);
  if (matching >= kLeastMagic) return static_cast<int>(matching) * kBidPerByte;
  return head.size() > kFileHeaderSize && parse_record_header(head.subspan(kFileHeaderSize)) ? kBidOnRecord : 0;
}

Result<int> bid_on_search(const RequestContext& context, const Source& source, std::uint64_t scan_bytes) {
  ASSIGN_OR_RETURN(const auto found, search(context, source, 1, source.size(), scan_bytes));
  return found.kind == ResyncResult::Kind::kFound ? kBidOnSearch : 0;
}

Result<int> probe(const RequestContext& context, const Source& source, std::string_view file_name, ProbeDepth depth) {
  if (source.size() == 0) return is_name(file_name) ? kBidOnName : 0;
  ASSIGN_OR_RETURN(const auto head, read_up_to(context, source, 0, kFileHeaderSize + kRecordHeaderSize));
  if (const int bid = bid_on(head.view()); bid > 0 || depth == ProbeDepth::kHead) return bid;
  return bid_on_search(context, source, Limits{}.scan_bytes);
}

Result<std::unique_ptr<Container>> open(const RequestContext& context, std::shared_ptr<const Source> source,
                                        const Limits& limits) {
  const std::uint64_t size = source->size();
  ASSIGN_OR_RETURN(const auto head, read_up_to(context, *source, 0, kFileHeaderSize + kRecordHeaderSize));
  if (size > 0 && bid_on(head.view()) == 0) {
    ASSIGN_OR_RETURN(const auto bid, bid_on_search(context, *source, limits.scan_bytes));
    if (bid == 0) return Error{.code = Code::kNoContainer, .detail = "no record of a blob file was found"};
  }
  Ends ends{.header = parse_file_header(head.view()), .footer = size};
  if (size >= kFileHeaderSize + kFooterSize) {
    ASSIGN_OR_RETURN(const auto tail, read_exactly(context, *source, size - kFooterSize, kFooterSize));
    ends.records = parse_footer(tail.view());
    if (ends.records) ends.footer = size - kFooterSize;
  }
  return std::unique_ptr<Container>(std::make_unique<BlobFile>(std::move(source), limits, ends));
}

}  // namespace

const Format kFormat = {.name = "rocksdb-blob", .probe = probe, .open = open};

}  // namespace recordfs::rocksdb_blob
