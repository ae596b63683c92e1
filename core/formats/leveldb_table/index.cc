#include "core/formats/leveldb_table/index.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "core/base/buffer.h"
#include "core/base/cursor.h"
#include "core/base/request_context.h"
#include "core/formats/leveldb_table/entries.h"
#include "core/formats/leveldb_table/wire.h"

namespace recordfs::leveldb_table {
namespace {

constexpr std::uint32_t kTwoLevels = 2;
constexpr std::uint32_t kWithFirstKeys = 3;
constexpr std::size_t kLeastInternalKey = 8;  // bytes
constexpr std::string_view kFilterInParts = "partitionedfilter.";

Error no_list(Position begin, std::string_view what) {
  return {Code::kDamage, begin, fmt::format("{} is not a valid list of the file's blocks", what)};
}

// Returns whether a file may have another block than `blocks` disjoint ones before `end`.
bool has_room_for_another(std::uint64_t blocks, Position end) { return blocks < end / kTrailerSize; }

std::optional<Piece> piece_of(const BlockPlace& place, Kind kind, Position end) {
  if (!fits(place, end) || place.size > UINT32_MAX - kTrailerSize) return std::nullopt;
  return Piece{place.begin, static_cast<std::uint32_t>(place.size + kTrailerSize), kind};
}

// The number in the property rocksdb.column.family.id. A table that was written for no family has kUnknownFamily.
std::optional<std::uint32_t> column_family_in(Cursor cursor) {
  constexpr std::uint64_t kUnknownFamily = INT32_MAX;
  const std::uint64_t family = cursor.varint64();
  if (!cursor.ok() || !cursor.at_end() || family == kUnknownFamily || family > UINT32_MAX) return std::nullopt;
  return static_cast<std::uint32_t>(family);
}

// Properties that RocksDB stores as a varint, without "rocksdb.".
constexpr std::string_view kVarintProperties[] = {"column.family.id",
                                                  "creation.time",
                                                  "data.size",
                                                  "deleted.keys",
                                                  "file.creation.time",
                                                  "filter.size",
                                                  "fixed.key.length",
                                                  "format.version",
                                                  "index.key.is.user.key",
                                                  "index.partitions",
                                                  "index.size",
                                                  "index.value.is.delta.encoded",
                                                  "key.largest.seqno",
                                                  "key.smallest.seqno",
                                                  "merge.operands",
                                                  "newest.key.time",
                                                  "num.data.blocks",
                                                  "num.entries",
                                                  "num.filter_entries",
                                                  "num.range-deletions",
                                                  "oldest.key.time",
                                                  "original.file.number",
                                                  "raw.key.size",
                                                  "raw.value.size",
                                                  "sample_for_compression.fast.data.size",
                                                  "sample_for_compression.slow.data.size",
                                                  "tail.start.offset",
                                                  "top-level.index.size",
                                                  "user.defined.timestamps.persisted"};

void take_property(std::string_view name, Bytes value, Properties& found) {
  constexpr std::uint32_t kVersionWithSequence = 2;
  Cursor cursor(value);
  if (name == "rocksdb.block.based.table.index.type") {
    const std::uint32_t type = cursor.u32_le();
    found.index.has_two_levels = type == kTwoLevels;
    found.index.has_first_keys = type == kWithFirstKeys;
  } else if (name == "rocksdb.index.value.is.delta.encoded") {
    found.index.is_delta_encoded = cursor.varint64() != 0;
  } else if (name == "rocksdb.index.key.is.user.key") {
    found.has_user_keys_in_index = cursor.varint64() != 0;
  } else if (name == "rocksdb.column.family.id") {
    found.column_family = column_family_in(cursor);
  } else if (name == "rocksdb.column.family.name") {
    found.column_family_name = as_text(value);
  } else if (name == "rocksdb.comparator") {
    found.comparator = as_text(value);
  } else if (name == "rocksdb.user.defined.timestamps.persisted") {
    found.has_timestamps = cursor.varint64() != 0;
  } else if (name == "rocksdb.merge.operator") {
    if (as_text(value) != "nullptr") found.merge_operator = as_text(value);
  } else if (name == "rocksdb.block.based.table.whole.key.filtering") {
    found.filters_whole_keys = as_text(value) == "1";
  } else if (name == "rocksdb.embedded.blob.stats") {
    found.has_embedded_blobs = true;
  } else if (name == "rocksdb.external_sst_file.version") {
    found.is_external = cursor.u32_le() >= kVersionWithSequence;
  } else if (name == "rocksdb.external_sst_file.global_seqno") {
    found.external_sequence = cursor.u64_le();
  } else if (name == "rocksdb.num.entries") {
    found.entries = cursor.varint64();
  } else if (name == "rocksdb.num.range-deletions") {
    found.range_deletions = cursor.varint64();
  } else if (name == "rocksdb.creating.db.identity") {
    found.database_id = as_text(value);
  } else if (name == "rocksdb.creating.session.identity") {
    found.session_id = as_text(value);
  } else if (name == "rocksdb.original.file.number") {
    found.original_number = cursor.varint64();
  }
}

Kind kind_of(std::string_view name) {
  if (name.starts_with("filter.") || name.starts_with("fullfilter.") || name.starts_with(kFilterInParts)) {
    return Kind::kFilter;
  }
  if (name == "rocksdb.properties" || name == "rocksdb.stats") return Kind::kProperties;
  if (name.starts_with("rocksdb.range_del")) return Kind::kRangeDeletions;
  return name == "rocksdb.index" ? Kind::kIndex : Kind::kOther;
}

void take_filter(std::string_view name, const BlockPlace& place, MetaBlocks& found) {
  found.filter_kind = name.substr(0, name.find('.'));
  found.filter = name.substr(name.find('.') + 1);
  (name.starts_with(kFilterInParts) ? found.filter_index : found.whole_filter) = place;
}

void take_meta_block(std::string_view name, const BlockPlace& place, const Piece& piece, MetaBlocks& found) {
  if (piece.kind == Kind::kIndex) {
    found.index = place;
    return;
  }
  if (piece.kind == Kind::kProperties) found.properties = place;
  if (piece.kind == Kind::kRangeDeletions) found.range_deletions = place;
  if (piece.kind == Kind::kFilter) take_filter(name, place, found);
  if (name == "rocksdb.compression_dict") found.dictionary = place;
  found.pieces.push_back(piece);
}

// Reads the places in an index in order.
class PlaceReader {
 public:
  PlaceReader(const Extents& extents, const IndexForm& form) : reader_(extents, !form.is_delta_encoded), form_(form) {}

  bool at_end() const { return reader_.at_end(); }
  // Returns nullopt for an invalid entry.
  std::optional<BlockPlace> next() {
    entry_ = reader_.next();
    if (!entry_) return std::nullopt;
    Cursor cursor(form_.is_delta_encoded ? reader_.rest() : entry_->value);
    if (form_.is_delta_encoded && entry_->shared != 0) {
      read_delta(cursor);
    } else {
      last_ = read_place(cursor);
    }
    if (form_.has_first_keys && cursor.take(cursor.varint32()).size() < kLeastInternalKey) return std::nullopt;
    if (!cursor.ok() || (!form_.is_delta_encoded && !cursor.at_end())) return std::nullopt;
    if (form_.is_delta_encoded) reader_.skip(cursor.offset());
    return last_;
  }
  // Returns the entry of the last place.
  const Entry& entry() const { return *entry_; }

 private:
  void read_delta(Cursor& cursor) {
    const std::uint64_t number = cursor.varint64();
    const std::uint64_t delta = (number >> 1) ^ (0 - (number & 1));
    last_.begin += last_.size + kTrailerSize;
    last_.size += delta;
  }

  EntryReader reader_;
  IndexForm form_;
  std::optional<Entry> entry_;
  BlockPlace last_;
};

class IndexReader {
 public:
  IndexReader(const Source& source, const Dialect& dialect, const IndexForm& form, Position end, const Limits& limits)
      : source_(source), dialect_(dialect), form_(form), end_(end), limits_(limits) {
    limits_.decoded_chunk = largest_index(end, limits);
  }

  Result<Index> run(const RequestContext& context, const BlockPlace& top) {
    TRY(read_level(context, top, form_.has_two_levels));
    std::ranges::sort(index_.pieces, {}, &Piece::begin);
    for (std::size_t i = 1; i < index_.pieces.size(); ++i) {
      if (index_.pieces[i].begin < index_.pieces[i - 1].end()) {
        return Error{Code::kDamage, top.begin, "the index lists overlapping blocks"};
      }
    }
    index_.is_gapless = is_gapless();
    if (!dialect_.is_rocksdb && !index_.is_gapless) {
      return Error{Code::kDamage, top.begin, "the index does not list all blocks"};
    }
    return std::move(index_);
  }

 private:
  Result<void> read_level(const RequestContext& context, const BlockPlace& place, bool has_partitions) {
    const auto piece = piece_of(place, Kind::kIndex, end_);
    if (!piece) return no_list(place.begin, "the index");
    ASSIGN_OR_RETURN(const auto content,
                     read_metadata(context, source_, place, dialect_, limits_, "the index", limits_.decoded_chunk));
    limits_.decoded_chunk -= content.size();
    index_.pieces.push_back(*piece);
    const auto extents = split_content(content.view(), dialect_.is_rocksdb);
    if (!extents) return no_list(place.begin, "the index");
    PlaceReader places(*extents, form_);
    KeyBuilder keys;
    while (!places.at_end()) {
      const auto found = places.next();
      if (!found) return no_list(place.begin, "the index");
      if (!is_index_key_of_database(keys.key(places.entry()))) index_.has_database_keys = false;
      TRY(take(context, *found, place.begin, has_partitions));
    }
    return {};
  }

  // LevelDB leaves no gaps between data blocks; RocksDB may if blocks are aligned.
  bool is_gapless() const {
    Position due = 0;
    for (const Piece& piece : index_.pieces) {
      if (piece.kind != Kind::kData) continue;
      if (piece.begin != due) return false;
      due = piece.end();
    }
    return true;
  }

  Result<void> take(const RequestContext& context, const BlockPlace& found, Position begin, bool is_partition) {
    if (is_partition) {
      // Prevents an index from naming, and reading, one partition many times.
      if (found.begin < after_partition_) return no_list(begin, "the index");
      after_partition_ = found.begin + 1;
      return read_level(context, found, false);
    }
    const auto piece = piece_of(found, Kind::kData, end_);
    if (!piece || !has_room_for_another(index_.pieces.size(), end_)) return no_list(begin, "the index");
    context.announce_growth(index_.pieces);
    index_.pieces.push_back(*piece);
    ++index_.data_blocks;
    return {};
  }

  const Source& source_;
  const Dialect& dialect_;
  const IndexForm form_;
  const Position end_;
  Limits limits_;  // decoded_chunk is what remains of it for all levels together
  Position after_partition_ = 0;
  Index index_;
};

}  // namespace

std::string_view to_string(Kind kind) {
  switch (kind) {
    case Kind::kData: return "data";
    case Kind::kRangeDeletions: return "range-deletions";
    case Kind::kIndex: return "index";
    case Kind::kMetaIndex: return "metaindex";
    case Kind::kFilter: return "filter";
    case Kind::kProperties: return "properties";
    case Kind::kOther: return "other";
    case Kind::kFooter: return "footer";
    case Kind::kBlobs: return "blobs";
  }
  return "other";
}

Result<MetaBlocks> read_meta_index(const RequestContext& context, const Source& source, const BlockPlace& place,
                                   const Dialect& dialect, Position end, const Limits& limits) {
  ASSIGN_OR_RETURN(const auto content, read_metadata(context, source, place, dialect, limits, "the meta index",
                                                     largest_index(end, limits)));
  MetaBlocks found;
  const bool is_list = for_each_entry(content.view(), dialect, [&](Bytes key, Bytes value) {
    Cursor cursor(value);
    const BlockPlace named = read_place(cursor);
    const auto piece = piece_of(named, kind_of(as_text(key)), end);
    if (!cursor.ok() || !piece || found.pieces.size() == limits.metadata_values) return false;
    take_meta_block(as_text(key), named, *piece, found);
    return true;
  });
  if (!is_list) return no_list(place.begin, "the meta index");
  return found;
}

Result<Properties> read_properties(const RequestContext& context, const Source& source, const BlockPlace& place,
                                   const Dialect& dialect, const Limits& limits) {
  ASSIGN_OR_RETURN(const auto content,
                   read_metadata(context, source, place, dialect, limits, "the block of properties"));
  Properties found;
  for_each_entry(content.view(), dialect, [&](Bytes key, Bytes value) {
    take_property(as_text(key), value, found);
    return true;
  });
  return found;
}

std::optional<std::uint64_t> number_in_property(std::string_view name, Bytes value) {
  constexpr std::string_view kPrefix = "rocksdb.";
  if (!name.starts_with(kPrefix)) return std::nullopt;
  name.remove_prefix(kPrefix.size());
  Cursor cursor(value);
  std::uint64_t number = 0;
  if (name == "block.based.table.index.type" || name == "external_sst_file.version") {
    number = cursor.u32_le();
  } else if (name == "external_sst_file.global_seqno") {
    number = cursor.u64_le();
  } else if (std::ranges::find(kVarintProperties, name) != std::ranges::end(kVarintProperties)) {
    number = cursor.varint64();
  } else {
    return std::nullopt;
  }
  return cursor.ok() && cursor.at_end() ? std::optional(number) : std::nullopt;
}

std::vector<BlockPlace> first_places(const Extents& extents, const IndexForm& form, std::size_t most) {
  std::vector<BlockPlace> places;
  PlaceReader reader(extents, form);
  while (places.size() < most && !reader.at_end()) {
    const auto place = reader.next();
    if (!place) break;
    places.push_back(*place);
  }
  return places;
}

bool has_contiguous_blocks(const Extents& extents, const IndexForm& form) {
  PlaceReader reader(extents, form);
  std::optional<Position> due;
  bool has_row = false;
  while (!reader.at_end()) {
    const auto place = reader.next();
    if (!place || !fits(*place, UINT64_MAX)) return false;
    // A relative place follows the previous one by definition, so it is no evidence.
    const bool is_whole_key = !form.is_delta_encoded || reader.entry().shared == 0;
    if (due && is_whole_key && place->begin != *due) return false;
    has_row |= due && is_whole_key;
    due = place->begin + place->size + kTrailerSize;
  }
  return has_row;
}

Result<Index> read_index(const RequestContext& context, const Source& source, const BlockPlace& place,
                         const Dialect& dialect, const IndexForm& form, Position end, const Limits& limits) {
  return IndexReader(source, dialect, form, end, limits).run(context, place);
}

void BlockList::add(Bytes key, const BlockPlace& place) {
  listed_.push_back({static_cast<std::uint32_t>(keys_.size()), static_cast<std::uint32_t>(key.size()), place});
  keys_ += as_text(key);
}

Result<BlockList> read_block_list(const RequestContext& context, const Source& source, const BlockPlace& place,
                                  const Dialect& dialect, const IndexForm& form, Position end, const Limits& limits) {
  const std::uint64_t most = largest_index(end, limits);
  ASSIGN_OR_RETURN(const auto content, read_metadata(context, source, place, dialect, limits, "the index", most));
  const auto extents = split_content(content.view(), dialect.is_rocksdb);
  if (!extents) return no_list(place.begin, "the index");
  BlockList list;
  PlaceReader places(*extents, form);
  KeyBuilder keys;
  while (!places.at_end()) {
    const auto found = places.next();
    const bool is_block = found && piece_of(*found, Kind::kData, end) && has_room_for_another(list.size(), end);
    if (!is_block) return no_list(place.begin, "the index");
    const Bytes key = keys.key(places.entry());
    if (key.size() > most - list.key_bytes()) return metadata_exceeds(place.begin, "the index", most);
    list.add(key, *found);
  }
  return list;
}

Result<std::vector<Piece>> read_filter_index(const RequestContext& context, const Source& source,
                                             const BlockPlace& place, const Dialect& dialect, const IndexForm& form,
                                             Position end, const Limits& limits) {
  const Error flaw = no_list(place.begin, "the index of the filter's partitions");
  ASSIGN_OR_RETURN(const auto content, read_metadata(context, source, place, dialect, limits, "the filter's index",
                                                     largest_index(end, limits)));
  const auto extents = split_content(content.view(), dialect.is_rocksdb);
  if (!extents) return flaw;
  std::vector<Piece> parts;
  PlaceReader places(*extents, {.is_delta_encoded = form.is_delta_encoded});
  for (Position after = 0; !places.at_end(); after = parts.back().end()) {
    const auto found = places.next();
    const auto piece = found ? piece_of(*found, Kind::kFilter, end) : std::nullopt;
    if (!piece || piece->begin < after) return flaw;
    context.announce_growth(parts);
    parts.push_back(*piece);
  }
  return parts;
}

bool looks_like_meta_index(Bytes content) {
  bool names_any = false;
  const bool is_list = for_each_entry(content, Dialect{}, [&](Bytes key, Bytes value) {
    Cursor cursor(value);
    names_any = true;
    read_place(cursor);
    return cursor.ok() && cursor.at_end() && kind_of(as_text(key)) != Kind::kOther;
  });
  return is_list && names_any;
}

}  // namespace recordfs::leveldb_table
