#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/base/limits.h"
#include "core/formats/container.h"
#include "core/formats/leveldb_table/bulk.h"
#include "core/formats/leveldb_table/entries.h"
#include "core/formats/leveldb_table/format.h"
#include "core/formats/leveldb_table/salvage.h"
#include "core/formats/leveldb_table/survey.h"
#include "core/formats/leveldb_table/wire.h"

namespace recordfs::leveldb_table {
namespace {

// ChunkKey::state of a scan without an index. The two highest bits determine the meaning of the rest.
constexpr std::uint64_t kMode = std::uint64_t{3} << 62;
constexpr std::uint64_t kGoOn = std::uint64_t{1} << 62;         // progress of the search for a block's end, and its CRC
constexpr std::uint64_t kAfterDamage = std::uint64_t{3} << 62;  // progress of the search after damage
constexpr std::uint64_t kKnown = std::uint64_t{2} << 62;        // the block's size
constexpr int kCrcBits = 32;
constexpr std::uint64_t kMostSearched = (std::uint64_t{1} << 30) - 1;

// ChunkInfo::detail
constexpr std::size_t kSizeDetail = 0;

std::uint64_t state_of(const EndSearch& search) { return kGoOn | search.searched << kCrcBits | search.crc; }

EndSearch search_of(std::uint64_t state) {
  if ((state & kMode) != kGoOn) return {};
  return {(state & ~kMode) >> kCrcBits, static_cast<std::uint32_t>(state)};
}

DamageClass class_of(Code code) {
  switch (code) {
    case Code::kUnfinished: return DamageClass::kUnfinished;
    case Code::kUnsupported:
    case Code::kLimit: return DamageClass::kUnsupported;
    default: return DamageClass::kDamage;
  }
}

DamagedRegion region_of(Position begin, Position end, const Error& why) {
  return damaged_region(begin, end, why.code == Code::kUnfinished ? why.detail : to_string(why), class_of(why.code));
}

BlockPlace place_of(const ChunkInfo& chunk) { return {chunk.begin, chunk.detail[kSizeDetail]}; }

ChunkInfo blobs_chunk(Position begin, Position end) {
  ChunkInfo chunk;
  chunk.key = {begin, 0};
  chunk.begin = begin;
  chunk.end = end;
  chunk.kind = {Kind::kBlobs, to_string(Kind::kBlobs)};
  chunk.codec = to_string(CodecId::kNone);
  chunk.stored_size = end - begin;
  chunk.records = chunk.decoded_size = 0;
  return chunk;
}

// Returns how many windows from `begin` on are part of a hole and can be skipped. No run of zeros as long as a window
// has a CRC that is stored as zeros.
Result<std::uint64_t> windows_in_hole(const RequestContext& context, const Source& source, Position begin,
                                      Position end) {
  constexpr std::uint64_t kSeen = 4096;
  ASSIGN_OR_RETURN(const auto seen, read_up_to(context, source, begin, std::min(kSeen, end - begin)));
  ASSIGN_OR_RETURN(const auto data, data_after_hole(context, source, begin + seen.size(), seen.view()));
  const std::uint64_t hole = std::min(data, end) - begin;
  return hole < kResyncWindow ? 0 : (hole - kResyncWindow) / kResyncStride + 1;
}

// Returns nullopt if all bytes are zeros, since writers may align blocks.
Result<std::optional<DamagedRegion>> region_between(const RequestContext& context, const Source& source, Position begin,
                                                    Position end) {
  constexpr std::uint64_t kMostFilling = 64 << 10;
  if (end - begin <= kMostFilling) {
    ASSIGN_OR_RETURN(const auto bytes, read_exactly(context, source, begin, end - begin));
    if (std::ranges::all_of(bytes.view(), [](std::byte byte) { return byte == std::byte{0}; })) {
      return std::optional<DamagedRegion>{};
    }
  }
  return std::optional<DamagedRegion>(region_of(begin, end, {Code::kDamage, begin, "not listed in a valid index"}));
}

// An open table. Its chunks are the file's blocks; each entry of a data block is a record.
class TableContainer final : public Container, private Metadata {
 public:
  TableContainer(std::shared_ptr<const Source> source, const Limits& limits, Survey survey)
      : source_(std::move(source)),
        limits_(limits),
        survey_(std::move(survey)),
        traits_(make_traits()),
        schema_(make_schema()),
        bulk_(survey_, limits_) {}

  const ContainerTraits& traits() const override { return traits_; }

  Result<Step> scan(const RequestContext& context, ChunkKey at) const override {
    if (at.position >= source_->size()) return Step{};
    return survey_.has_index() ? scan_pieces(context, at.position, survey_.pieces) : scan_salvaged(context, at);
  }

  Result<std::optional<ChunkInfo>> locate(const RequestContext& context, Position at) const override {
    const auto& pieces = survey_.pieces;
    const auto after = std::ranges::upper_bound(pieces, at, {}, &Piece::begin);
    if (after == pieces.begin() || (after - 1)->end() <= at) return std::optional<ChunkInfo>{};
    ASSIGN_OR_RETURN(const auto chunk, describe(context, *(after - 1), {(after - 1)->begin, 0}));
    return std::optional<ChunkInfo>(chunk);
  }

  Result<Layout> layout(const RequestContext& context, const ChunkInfo& chunk) const override {
    if (chunk.kind.as<Kind>() == Kind::kFooter || chunk.kind.as<Kind>() == Kind::kBlobs) return Layout();
    const Dialect dialect = dialect_of(chunk);
    if (!has_records(chunk.kind.as<Kind>())) {
      TRY(read_metadata(context, *source_, place_of(chunk), dialect, limits_,
                        fmt::format("the block of kind {}", chunk.kind.word()),
                        largest_index(source_->size(), limits_)));
      return Layout();
    }
    ASSIGN_OR_RETURN(const auto content, read_block(context, *source_, place_of(chunk), dialect, limits_));
    return layout_records(context, content.view(), chunk.begin, dialect, limits_);
  }

  Result<Verification> verify(const RequestContext& context, const ChunkInfo& chunk) const override {
    TRY(decode(context, chunk));
    return survey_.dialect.checksum == Checksum::kNone ? Verification::kNoChecksum : Verification::kVerified;
  }

  Result<std::shared_ptr<const Chunk>> decode(const RequestContext& context, const ChunkInfo& chunk) const override {
    if (!has_records(chunk.kind.as<Kind>())) {
      if (chunk.kind.as<Kind>() == Kind::kBlobs) TRY(verify_blobs(context, chunk));
      ASSIGN_OR_RETURN(auto none, layout(context, chunk));
      return std::shared_ptr<const Chunk>(std::make_shared<BufferChunk>(Buffer(), std::move(none)));
    }
    const Dialect dialect = dialect_of(chunk);
    ASSIGN_OR_RETURN(auto content, read_block(context, *source_, place_of(chunk), dialect, limits_));
    return decode_records(context, std::move(content), chunk.begin, dialect, limits_);
  }

  const Metadata* metadata() const override { return this; }
  const RecordSchema& schema() const override { return schema_; }
  const BulkReader* bulk() const override {
    const bool is_possible = survey_.has_index() && survey_.dialect.checksum != Checksum::kNone;
    return is_possible ? &bulk_ : nullptr;
  }

 private:
  ContainerTraits make_traits() const {
    std::vector<Fact> facts;
    const Dialect& dialect = survey_.dialect;
    facts.push_back({"database", dialect.is_rocksdb ? "RocksDB" : "LevelDB"});
    if (dialect.version > 0) facts.push_back({"version", std::to_string(dialect.version)});
    facts.push_back({"checksum", std::string(to_string(dialect.checksum))});
    if (survey_.has_index()) facts.push_back({"data_blocks", survey_.data_blocks});
    if (const auto records = stated_records()) facts.push_back({"num_records", *records});
    facts.push_back({"internal_keys", survey_.has_database_keys});
    if (const auto family = survey_.tail.properties.column_family) {
      facts.push_back({"column_family", std::uint64_t{*family}});
    }
    if (!survey_.tail.blocks.filter.empty()) facts.push_back({"filter", survey_.tail.blocks.filter});
    if (survey_.flaw) facts.push_back({"damage", to_string(*survey_.flaw)});
    return {.format = kFormat.name,
            .facts = std::move(facts),
            .grows_by_appending = false,  // the index at the end determines what a block is
            .has_seek_structure = survey_.has_index(),
            .index_fits_in_chunk = false,  // entries with shared keys can take three bytes, and less if compressed
            .records_have_checksums = dialect.checksum != Checksum::kNone};
  }

  // Returns the number of records that the table states; nullopt if it states none, or does not count deletions of
  // ranges.
  std::optional<std::uint64_t> stated_records() const {
    const bool counts_all = !survey_.tail.blocks.range_deletions || survey_.tail.properties.range_deletions;
    return survey_.has_index() && counts_all ? survey_.tail.properties.entries : std::nullopt;
  }

  RecordSchema make_schema() const {
    return {.value = [this](Bytes record, ValueForm) { return value_of(record, survey_.has_database_keys); },
            .parts = RecordSchema::Parts::kRequired,
            .change_kinds = [this](Bytes record, const TakeChangeKind& take) -> Result<void> {
              ASSIGN_OR_RETURN(const auto kind, change_kind_of(record, survey_.has_database_keys));
              take(kind);
              return {};
            },
            .may_be_message = false};
  }

  Result<std::vector<Attribute>> attributes(const RequestContext& context, const ChunkInfo*) const override {
    std::vector<Attribute> attributes;
    const auto& place = survey_.tail.blocks.properties;
    if (!place) return attributes;
    ASSIGN_OR_RETURN(const auto content,
                     read_metadata(context, *source_, *place, survey_.dialect, limits_, "the block of properties"));
    const auto extents = split_content(content.view(), survey_.dialect.is_rocksdb);
    if (!extents) return Error{Code::kDamage, place->begin, "the properties are not a block of entries"};
    EntryReader reader(*extents);
    KeyBuilder keys;
    while (!reader.at_end()) {
      const auto entry = reader.next();
      if (!entry) return Error{Code::kDamage, place->begin, "a property does not fit its block"};
      if (attributes.size() == limits_.metadata_values) {
        return Error{Code::kLimit, place->begin,
                     fmt::format("the table has more than {} properties", limits_.metadata_values)};
      }
      const Bytes key = keys.key(*entry);
      attributes.push_back({.key = std::string(as_text(key)),
                            .type = "",
                            .value = std::string(as_text(entry->value)),
                            .number = number_in_property(as_text(key), entry->value)});
    }
    return attributes;
  }

  Result<Step> scan_pieces(const RequestContext& context, Position at, const std::vector<Piece>& pieces) const {
    const auto piece = std::ranges::lower_bound(pieces, at, {}, &Piece::begin);
    Step step;
    if (piece == pieces.end()) {
      step.damage.push_back(region_of(at, source_->size(), {Code::kDamage, at, "bytes after the end of the table"}));
      step.damage.back().records_lost = 0;
      return step;
    }
    if (piece->begin > at && has_blobs_before(*piece)) {
      step.chunk = blobs_chunk(at, piece->begin);
      step.next = ChunkKey{piece->begin, 0};
      return step;
    }
    if (piece->begin > at) {
      ASSIGN_OR_RETURN(auto region, region_between(context, *source_, at, piece->begin));
      if (region) step.damage.push_back(std::move(*region));
    }
    ASSIGN_OR_RETURN(const auto chunk, describe(context, *piece, {piece->begin, 0}));
    step.chunk = chunk;
    if (piece->end() < source_->size()) step.next = ChunkKey{piece->end(), 0};
    return step;
  }

  // --- values between the data blocks

  bool has_blobs_before(const Piece& piece) const {
    return survey_.tail.properties.has_embedded_blobs && has_records(piece.kind) && is_searchable(survey_.dialect);
  }

  // Only the entries state the sizes of the values, so checksums tell where each ends.
  Result<void> verify_blobs(const RequestContext& context, const ChunkInfo& chunk) const {
    const Dialect dialect = survey_.dialect_of(chunk.begin, Kind::kOther);
    for (Position at = chunk.begin; at < chunk.end;) {
      ASSIGN_OR_RETURN(const auto found,
                       find_end(context, *source_, at, chunk.end, {}, chunk.end - at, dialect, limits_));
      if (!found.place) return Error{Code::kDamage, at, "the checksum of an embedded value does not match"};
      at += found.place->size + kTrailerSize;
    }
    return {};
  }

  // --- blocks without an index

  // A scan by checksums alone. The footer, which is not trusted then, is damage.
  Result<Step> scan_salvaged(const RequestContext& context, ChunkKey at) const {
    const Position end = salvaged_end();
    if (!survey_.shifted.empty() && at.position >= end && at.position < survey_.footer->begin) {
      auto step = scan_pieces(context, at.position, survey_.shifted);
      if (!step) return step;
      return step->chunk ? std::move(step) : rest_is_lost(at.position);
    }
    if (at.position < end && is_searchable(survey_.dialect)) {
      switch (at.state & kMode) {
        case kKnown: return found_block(context, at, {at.position, at.state & ~kMode});
        case kAfterDamage: return search_after_damage(context, at, end);
        default: return search_end(context, at, end);
      }
    }
    return rest_is_lost(at.position);
  }

  Result<Step> search_end(const RequestContext& context, ChunkKey at, Position end) const {
    Limits limits = limits_;
    const bool is_crc = survey_.dialect.checksum == Checksum::kCrc32c;
    limits.stored_chunk = std::min(limits.stored_chunk, is_crc ? kMostSearched - kTrailerSize : kMostHashed);
    ASSIGN_OR_RETURN(const auto found, find_end(context, *source_, at.position, end, search_of(at.state),
                                                limits_.scan_bytes, survey_.dialect, limits));
    if (found.place) return found_block(context, {at.position, kKnown | found.place->size}, *found.place);
    const bool is_through = found.search.searched >= std::min(end - at.position, limits.stored_chunk + kTrailerSize);
    return Step{{}, {}, ChunkKey{at.position, is_through ? kAfterDamage : state_of(found.search)}};
  }

  Result<Step> search_after_damage(const RequestContext& context, ChunkKey at, Position end) const {
    const std::uint64_t passed = (at.state & ~kMode) + 1;
    if (passed >= end - at.position || !can_find_after_damage(survey_.dialect)) return rest_is_lost(at.position);
    ASSIGN_OR_RETURN(const auto in_hole, windows_in_hole(context, *source_, at.position + passed, end));
    if (in_hole > 0) return Step{{}, {}, ChunkKey{at.position, at.state + in_hole * kResyncStride}};
    ASSIGN_OR_RETURN(const auto found,
                     find_block(context, *source_, at.position + passed, end, survey_.dialect, limits_));
    if (found) {
      ASSIGN_OR_RETURN(auto step, found_block(context, {found->begin, kKnown | found->size}, *found));
      const Error why{Code::kDamage, at.position, "no valid block begins here"};
      step.damage.insert(step.damage.begin(), region_of(at.position, found->begin, why));
      return step;
    }
    if (end - at.position - passed <= kResyncWindow) return rest_is_lost(at.position);
    return Step{{}, {}, ChunkKey{at.position, at.state + kResyncStride}};
  }

  // Returns where a scan by checksums alone ends: at the footer, or at the first block that is known again.
  Position salvaged_end() const {
    if (!survey_.shifted.empty()) return survey_.shifted.front().begin;
    return survey_.footer ? survey_.footer->begin : source_->size();
  }

  Result<Step> rest_is_lost(Position from) const {
    Step step;
    const Position end = from < salvaged_end() && !survey_.shifted.empty() ? salvaged_end() : source_->size();
    step.damage.push_back(region_of(from, end, *survey_.flaw));
    if (survey_.footer && from >= survey_.footer->begin) step.damage.back().records_lost = 0;
    if (end < source_->size()) step.next = ChunkKey{end, 0};
    return step;
  }

  Result<Kind> kind_of_found(const RequestContext& context, const BlockPlace& place) const {
    // The footer still identifies valid indexes even if they are not trusted.
    const bool has_valid_footer = survey_.footer && survey_.footer->flaw.empty();
    if (has_valid_footer && survey_.footer->metaindex == place) return Kind::kMetaIndex;
    if (has_valid_footer && survey_.footer->index == place) return Kind::kIndex;
    return kind_of_block(context, *source_, place, survey_.dialect, limits_);
  }

  Result<Step> found_block(const RequestContext& context, ChunkKey key, const BlockPlace& place) const {
    const Position file_end = source_->size();
    if (!fits(place, salvaged_end())) return Error{Code::kChanged, place.begin, "the block is no longer there"};
    ASSIGN_OR_RETURN(const auto kind, kind_of_found(context, place));
    ASSIGN_OR_RETURN(
        const auto chunk,
        describe(context, {place.begin, static_cast<std::uint32_t>(place.size + kTrailerSize), kind}, key));
    Step step;
    step.chunk = chunk;
    if (chunk.end < file_end) {
      step.next = ChunkKey{chunk.end, 0};
    } else {
      // The file was cut off after a block. No byte represents the lost part, so the last byte of the file does.
      step.damage.push_back(region_of(file_end - 1, file_end, *survey_.flaw));
    }
    return step;
  }

  Result<ChunkInfo> describe(const RequestContext& context, const Piece& piece, ChunkKey key) const {
    ChunkInfo chunk;
    chunk.key = key;
    chunk.begin = piece.begin;
    chunk.end = piece.end();
    chunk.kind = {piece.kind, to_string(piece.kind)};
    chunk.codec = to_string(CodecId::kNone);
    if (piece.kind != Kind::kFooter) {
      ASSIGN_OR_RETURN(const auto codec,
                       codec_of(context, *source_, piece.place(), survey_.dialect_of(piece.begin, piece.kind)));
      chunk.codec = codec;
      chunk.stored_size = chunk.detail[kSizeDetail] = piece.place().size;
    }
    if (has_records(piece.kind)) {
      chunk.layout_cost = LayoutCost::kDecode;
    } else {
      chunk.records = chunk.decoded_size = 0;
    }
    return chunk;
  }

  Dialect dialect_of(const ChunkInfo& chunk) const { return survey_.dialect_of(chunk.begin, chunk.kind.as<Kind>()); }

  const std::shared_ptr<const Source> source_;
  const Limits limits_;
  const Survey survey_;
  const ContainerTraits traits_;
  const RecordSchema schema_;
  const TableBulkReader bulk_;
};

Result<std::unique_ptr<Container>> open(const RequestContext& context, std::shared_ptr<const Source> source,
                                        const Limits& limits) {
  ASSIGN_OR_RETURN(auto found, survey(context, *source, limits));
  if (!found) return Error{Code::kNoContainer, 0, "neither the footer of a table nor a valid first block was found"};
  return open_surveyed(std::move(source), limits, std::move(*found));
}

}  // namespace

std::unique_ptr<Container> open_surveyed(std::shared_ptr<const Source> source, const Limits& limits, Survey found) {
  return std::make_unique<TableContainer>(std::move(source), limits, std::move(found));
}

const Format kFormat = {
    .name = "leveldb-table", .probe = bid_for, .open = open, .suffixes = ".ldb .sst", .opens_from_end = true};

}  // namespace recordfs::leveldb_table
