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

constexpr std::string_view kSuffix = ".blob";

constexpr std::uint64_t kLargestKey = 64u << 10;  // bytes; of a record that is read in place

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

class BlobFile final : public FramedContainer<Wire> {
 public:
  BlobFile(std::shared_ptr<const Source> file, const Limits& limits, const Ends& ends)
      : FramedContainer(std::move(file), limits,
                        Wire{ends.header ? std::optional(ends.header->compression) : std::nullopt}, kFileHeaderSize,
                        ends.footer),
        ends_(ends),
        traits_(make_traits()),
        schema_(make_schema()) {}

  const ContainerTraits& traits() const override { return traits_; }
  const RecordSchema& schema() const override { return schema_; }

  Result<Step> scan(const RequestContext& context, ChunkKey key) const override {
    if (key.state == 0 && key.position == 0 && source()->size() > 0) {
      const bool is_intact = ends_.header && ends_.header->is_intact;
      if (is_intact) return step_with(fixed_chunk("header", 0, kFileHeaderSize));
      if (source()->size() < kFileHeaderSize) return torn_header();
      return pass_damage(context, key);
    }
    if (key.state == 0 && key.position == ends_.footer && key.position < source()->size()) {
      return step_with(fixed_chunk("footer", key.position, source()->size()));
    }
    return FramedContainer::scan(context, key);
  }

  Result<Layout> layout(const RequestContext& context, const ChunkInfo& chunk) const override {
    return chunk.records == 0u ? Layout() : FramedContainer::layout(context, chunk);
  }

  Result<Verification> verify(const RequestContext& context, const ChunkInfo& chunk) const override {
    if (wire().are_stored() && chunk.records != 0u) return verify_records(context, chunk);
    ASSIGN_OR_RETURN(const auto decoded, decode(context, chunk));
    if (chunk.begin == 0) return Verification::kNoChecksum;
    if (const Error* const failure = decoded->layout().first_failure()) return *failure;
    return Verification::kVerified;
  }

  Result<std::shared_ptr<const Chunk>> decode(const RequestContext& context, const ChunkInfo& chunk) const override {
    const std::uint64_t size = chunk.end - chunk.begin;
    if (chunk.records == 0u) {
      TRY(check_fixed(context, chunk));
      return std::shared_ptr<const Chunk>(std::make_shared<BufferChunk>(Buffer(), Layout()));
    }
    if (size > limits().stored_chunk) return framed::too_large(chunk.begin, size);
    // A record without bytes that cannot be read still matches its checksum.
    ASSIGN_OR_RETURN(const auto stored, read_exactly(context.filling_unreadable(), *source(), chunk.begin, size));
    return decode_records(context, *source(), wire(), stored.view(), chunk.begin, limits());
  }

  Result<std::shared_ptr<const Chunk>> open_in_place(const RequestContext& context,
                                                     const ChunkInfo& chunk) const override {
    if (chunk.records != 1u || !wire().are_stored()) return std::shared_ptr<const Chunk>{};
    const std::uint64_t generation = source()->generation();
    ASSIGN_OR_RETURN(const auto bytes, read_exactly(context, *source(), chunk.begin, kRecordHeaderSize));
    const auto header = parse_record_header(bytes.view());
    if (!header || !header->fits(chunk.end - chunk.begin)) return framed::not_as_found(chunk.begin);
    if (header->key_size > kLargestKey) return std::shared_ptr<const Chunk>{};
    const Position key_begin = chunk.begin + kRecordHeaderSize;
    ASSIGN_OR_RETURN(const auto key, read_exactly(context, *source(), key_begin, header->key_size));
    std::string front = leveldb_table::record_front(key.view(), header->value_size);
    const std::uint64_t held = front.size();
    return record_in_place(context, generation, chunk.begin, *header, held + header->value_size,
                           stored_after(std::move(front), key_begin + header->key_size), held);
  }

 private:
  ContainerTraits make_traits() const {
    std::vector<Fact> facts{{"database", "RocksDB"}, {"version", "1"}};
    if (ends_.header) {
      const bool is_known = codec_of(ends_.header->compression).has_value();
      facts.push_back({"compression", is_known ? std::string(codec_name(wire().compression))
                                               : fmt::format("type {}", ends_.header->compression)});
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
    chunk.kind = ChunkKind(kind);
    chunk.codec = to_string(CodecId::kNone);
    chunk.records = chunk.decoded_size = 0;
    return chunk;
  }

  Step step_with(const ChunkInfo& chunk) const {
    Step step;
    step.chunk = chunk;
    if (chunk.end < source()->size()) step.next = ChunkKey{chunk.end, 0};
    return step;
  }

  Step torn_header() const {
    Step step;
    step.damage.push_back(
        damaged_region(0, source()->size(), "the file ends inside its header", DamageClass::kUnfinished));
    step.damage.back().records_lost = 0;
    return step;
  }

  DamagedRegion torn_region(Position begin) const override {
    auto region = damaged_region(begin, source()->size(), "the file ends inside a record or its footer",
                                 DamageClass::kUnfinished);
    if (source()->size() - begin >= kRecordHeaderSize) region.records_lost = 1;
    return region;
  }

  DamagedRegion region_without_record(Position begin, Position end) const override {
    auto region = damaged_region(begin, end, reason_of_damage(begin, end));
    if ((begin == 0 && end == kFileHeaderSize) || is_footer(begin, end)) region.records_lost = 0;
    return region;
  }

  std::string_view codec() const override { return codec_name(wire().compression); }

  // Returns whether a region is the place of a footer.
  bool is_footer(Position begin, Position end) const { return end == source()->size() && end - begin == kFooterSize; }

  std::string_view reason_of_damage(Position begin, Position end) const {
    if (begin == 0) return "the magic or the version of the file is wrong";
    return is_footer(begin, end) ? "the footer does not match its checksum"
                                 : "the header of a record does not match its checksum";
  }

  // --- content

  // Verifies the header or the footer.
  Result<void> check_fixed(const RequestContext& context, const ChunkInfo& chunk) const {
    ASSIGN_OR_RETURN(const auto bytes, read_up_to(context, *source(), chunk.begin, kFooterSize));
    const bool is_same =
        chunk.begin == 0 ? matching_magic(bytes.view()) == kMagicSize : parse_footer(bytes.view()).has_value();
    return is_same ? Result<void>() : Error{Code::kDamage, chunk.begin, "not the structure that the scan found"};
  }

  const Ends ends_;
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
  ASSIGN_OR_RETURN(const auto found, framed::search<Wire>(context, source, 1, source.size(), scan_bytes));
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

const Format kFormat = {.name = "rocksdb-blob", .probe = probe, .open = open, .opens_from_end = true};

}  // namespace recordfs::rocksdb_blob
