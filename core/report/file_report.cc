#include "core/report/file_report.h"

#include <algorithm>
#include <atomic>
#include <iterator>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "core/base/utf8.h"
#include "core/decoding/record_decoder.h"
#include "core/store/container_info.h"

namespace recordfs {
namespace {

constexpr std::uint64_t kWaitingMemory = 64u << 20;    // of decoded chunks that wait
constexpr std::string_view kNoCodec = "-";             // of a chunk without a payload, or with an unknown one
constexpr std::uint64_t kLargestDecoded = 256u << 10;  // of first records
constexpr std::uint64_t kMostText = 1u << 20;
constexpr std::size_t kShownText = 1200;  // bytes
constexpr std::size_t kShownBytes = 128;  // as hexadecimal digits
constexpr std::size_t kDigitsInLine = 16;

// Returns the longest front of UTF-8 text that has at most `most` bytes.
std::string_view front_of(std::string_view text, std::size_t most) {
  std::size_t size = 0;
  while (size < text.size()) {
    const std::size_t length = utf8_character(text.substr(size));
    if (length == 0 || size + length > most) break;
    size += length;
  }
  return text.substr(0, size);
}

// Returns lines of an offset, bytes as digits, and the same bytes as ASCII.
std::string dump_of(Bytes bytes) {
  std::string text;
  for (std::size_t at = 0; at < bytes.size(); at += kDigitsInLine) {
    const Bytes line = bytes.subspan(at, std::min(kDigitsInLine, bytes.size() - at));
    std::string digits;
    std::string ascii;
    for (const auto byte : line) {
      const auto value = static_cast<unsigned char>(byte);
      digits += fmt::format(" {:02x}", value);
      ascii += value >= 0x20 && value < 0x7F ? static_cast<char>(value) : '.';
    }
    text += fmt::format("{:06x} {:<48}  {}\n", at, digits, ascii);
  }
  if (!text.empty()) text.pop_back();
  return text;
}

FirstRecord shown_record(const RequestContext& context, const RecordDecoder& decoder, const ChunkInfo& chunk,
                         std::uint64_t size, Bytes record) {
  FirstRecord shown{.size = size};
  if (size <= kLargestDecoded) {
    if (auto document = decoder.document(context, chunk, record)) {
      shown.is_json = true;
      shown.text = front_of(*document, kShownText);
      shown.is_cut = shown.text.size() < document->size();
      return shown;
    }
  }
  const std::string_view front = front_of(as_text(record), kShownText);
  const bool is_text = !front.empty() && front.find('\0') == std::string_view::npos &&
                       (front.size() == size || front.size() + 4 > kShownText);
  shown.text = is_text ? std::string(front) : dump_of(record.first(std::min(kShownBytes, record.size())));
  shown.is_cut = (is_text ? front.size() : std::min(kShownBytes, record.size())) < size;
  return shown;
}

// The records of one chunk.
struct ChunkReport {
  SizeHistogram sizes;
  std::uint64_t decoded = 0;
  bool is_damaged = false;
  PartCounts parts;
  std::vector<FirstRecord> first;
  ColumnCounter columns;
  UndecodedRecords::Summary undecoded;
  std::vector<Error> failures;
  Thumbnails thumbnails;

  void note(const ChunkInfo& chunk, std::string_view path, const Error& error) {
    if (UndecodedRecords::is_of_record(error.code)) {
      undecoded.note(chunk, path, error);
    } else if (failures.size() < FileReport::kMostFailures) {
      failures.push_back(error);
    }
  }
};

class FileReporter {
 public:
  FileReporter(const RecordStore& store, const RecordFile& file, const RecordChoice& choice, FileReport& report)
      : store_(store),
        file_(file),
        condition_(choice.condition.get()),
        selects_(scalar_selector(choice.condition)),
        report_(report),
        decoder_(store.schema(), store.metadata(), choice.types, kMostText),
        has_columns_(decoder_.decodes({})) {
    report_.size = store.source().size();
    report_.bins.resize(static_cast<std::size_t>(std::min<std::uint64_t>(FileReport::kBins, report_.size)));
    report_.has_keys = store.schema().change_kinds != nullptr;
    report_.codecs.push_back({.name = "no records"});
  }

  // Reports on the records of a chunk. Any thread.
  std::function<void()> observe(const RequestContext& context, const IndexedChunk& indexed, const Chunk* chunk) {
    const auto made = std::make_shared<ChunkReport>();
    if (chunk == nullptr) {
      made->is_damaged = true;
    } else {
      look_at_records(context, indexed, *chunk, *made);
    }
    return [this, made, info = indexed.chunk] { take(info, *made); };
  }

  // Completes the report after the last chunk.
  void finish(Verdict verdict) {
    report_.verdict = std::move(verdict);
    for (const Finding& finding : report_.verdict.findings) {
      if (finding.impact == Impact::kNone) continue;
      each_bin(finding.begin, finding.end.value_or(finding.begin + 1),
               [](FileBin& bin, std::uint64_t) { bin.is_damaged = true; });
    }
    if (report_.boundaries.size() > FileReport::kMostBoundaries) report_.boundaries.clear();
  }

 private:
  void look_at_records(const RequestContext& context, const IndexedChunk& indexed, const Chunk& chunk,
                       ChunkReport& made) const {
    const Layout& layout = chunk.layout();
    for (std::uint64_t i = 0; i < layout.records(); ++i) {
      if (layout.failure(i) != nullptr) {
        made.is_damaged = true;
      } else {
        look_at_record(context, indexed, chunk, i, made);
      }
    }
  }

  void look_at_record(const RequestContext& context, const IndexedChunk& indexed, const Chunk& chunk,
                      std::uint64_t index, ChunkReport& made) const {
    const RecordSchema& schema = store_.schema();
    const Extent extent = chunk.layout().extent(index);
    const bool is_first = made.first.size() < FileReport::kFirstRecords && !has_first_;
    const bool is_counted = PartCounts::has(schema) && extent.size <= schema.largest_record_with_parts;
    made.decoded += extent.size;
    if (!is_first && !is_counted && !has_columns_ && condition_ == nullptr) return made.sizes.add(extent.size);
    const bool is_whole = is_counted || has_columns_ || condition_ != nullptr || extent.size <= kLargestDecoded;
    const auto record = store_.chunks().read(context, chunk, extent.begin, is_whole ? extent.size : kLargestDecoded);
    if (!record) {
      made.is_damaged = true;
      return made.sizes.add(extent.size);
    }
    const ChunkInfo& info = indexed.chunk;
    if (condition_ != nullptr) {
      const auto is_selected = condition_->matches(context, decoder_, info, record->bytes, file_);
      if (!is_selected) made.note(info, file_.path, is_selected.error());
      if (!is_selected || !*is_selected) return;
    }
    made.sizes.add(extent.size);
    if (is_counted) made.parts.add(schema, record->bytes);
    if (has_columns_) {
      const auto counted = made.columns.count(context, decoder_, info, record->bytes, file_.path_in_set, selects_);
      if (!counted) made.note(info, file_.path, counted.error());
    }
    if (!is_first) return;
    made.first.push_back(shown_record(context, decoder_, info, extent.size, record->bytes));
    ImageFinder images(made.thumbnails);
    images.start_record(indexed.before.records + index);
    JsonFilter filter(images);
    if (has_columns_) static_cast<void>(decoder_.visit(context, info, record->bytes, filter));
  }

  // Adds a chunk, in the container's order.
  void take(const ChunkInfo& info, ChunkReport& made) {
    const std::size_t codec = codec_of(info);
    CodecSums& sums = report_.codecs[codec];
    ++sums.chunks;
    sums.stored += info.end - info.begin;
    sums.decoded += made.decoded;
    report_.sizes.add(made.sizes);
    report_.parts.add(made.parts);
    report_.columns.add(made.columns);
    report_.undecoded.add(made.undecoded);
    for (const Error& why : made.failures) {
      if (report_.failures.size() < FileReport::kMostFailures) report_.failures.push_back(why);
    }
    if (report_.first.size() < FileReport::kFirstRecords) report_.thumbnails.add(std::move(made.thumbnails));
    std::ranges::move(made.first, std::back_inserter(report_.first));
    if (report_.first.size() >= FileReport::kFirstRecords) {
      report_.first.resize(FileReport::kFirstRecords);
      has_first_ = true;
    }
    if (report_.boundaries.size() <= FileReport::kMostBoundaries) report_.boundaries.push_back(info.begin);
    each_bin(info.begin, info.end, [&](FileBin& bin, std::uint64_t bytes) {
      bin.stored[codec] += bytes;
      bin.is_damaged |= made.is_damaged;
      if (made.decoded == 0) return;
      bin.packed += static_cast<double>(bytes);
      bin.decoded +=
          static_cast<double>(made.decoded) * static_cast<double>(bytes) / static_cast<double>(info.end - info.begin);
    });
  }

  std::size_t codec_of(const ChunkInfo& info) {
    if (info.codec == kNoCodec && info.records.value_or(0) == 0) return 0;
    const std::string_view name = info.codec == kNoCodec ? "unknown codec" : info.codec;
    auto& codecs = report_.codecs;
    const auto found = std::ranges::find(codecs, name, &CodecSums::name);
    if (found == codecs.end() && codecs.size() == FileBin::kMostCodecs) return FileBin::kMostCodecs - 1;
    if (found == codecs.end()) codecs.push_back({.name = std::string(name)});
    return static_cast<std::size_t>(std::ranges::find(codecs, name, &CodecSums::name) - codecs.begin());
  }

  // Calls `take` for each bin that shares bytes with [begin, end), with their number.
  template <class Take>
  void each_bin(Position begin, Position end, Take take) {
    const std::size_t bins = report_.bins.size();
    end = std::min(end, report_.size);
    if (begin >= end) return;
    auto bin = static_cast<std::size_t>(static_cast<double>(begin) / static_cast<double>(report_.size) *
                                        static_cast<double>(bins));
    bin = std::min(bin, bins - 1);
    while (bin > 0 && report_.begin_of(bin) > begin) --bin;
    while (report_.begin_of(bin + 1) <= begin) ++bin;
    for (; bin < bins && report_.begin_of(bin) < end; ++bin) {
      const Position from = std::max(begin, report_.begin_of(bin));
      take(report_.bins[bin], std::min(end, report_.begin_of(bin + 1)) - from);
    }
  }

  const RecordStore& store_;
  const RecordFile file_;
  const RecordCondition* const condition_;  // may be null
  const SelectScalar selects_;
  FileReport& report_;
  const RecordDecoder decoder_;
  const bool has_columns_;
  std::atomic<bool> has_first_{false};  // FileReport::first is complete
};

}  // namespace

Position FileReport::begin_of(std::size_t bin) const {
  // In two parts, because the product may exceed 64 bits.
  const std::uint64_t count = bins.size();
  return size / count * bin + size % count * bin / count;
}

Result<FileReport> report_of(const RecordStore& store, const RecordFile& file, const RecordChoice& choice,
                             unsigned threads, const std::function<bool(std::uint64_t)>& goes_on) {
  FileReport report;
  ASSIGN_OR_RETURN(report.info, container_info({}, store));
  FileReporter reporter(store, file, choice, report);
  reporter.finish(verify(store, threads, kWaitingMemory, goes_on,
                         [&](const RequestContext& context, const IndexedChunk& indexed, const Chunk* chunk) {
                           return reporter.observe(context, indexed, chunk);
                         }));
  return report;
}

}  // namespace recordfs
