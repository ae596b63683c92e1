#include "core/formats/leveldb_table/survey.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "core/formats/leveldb_table/entries.h"
#include "core/formats/leveldb_table/keys.h"
#include "core/formats/leveldb_table/salvage.h"
#include "core/formats/leveldb_table/stored.h"

namespace recordfs::leveldb_table {
namespace {

constexpr int kBitsOfMagic = 64;
constexpr int kBitsOfChecksum = 32;

Result<std::optional<Footer>> read_footer(const Source& source) {
  const std::uint64_t size = source.size();
  const std::uint64_t tail = std::min(size, kRocksDbFooterSize);
  auto bytes = read_up_to(source, size - tail, tail);
  if (!bytes) return std::move(bytes).error();
  if (bytes->size() < tail) return std::optional<Footer>{};
  return parse_footer(bytes->view(), size);
}

// The dialects that a file without a footer may be written in.
constexpr Dialect kGuesses[] = {{}, {.is_rocksdb = true, .version = 5}};

struct FirstBlock {
  Dialect dialect;
  BlockPlace place;
};

// In the first dialect that can unpack it; where none can, but its checksum matches, in LevelDB's.
Result<std::optional<FirstBlock>> find_first_block(const Source& source) {
  std::optional<FirstBlock> best;
  for (const Dialect& dialect : kGuesses) {
    auto found = find_end(source, 0, source.size(), {}, kSearchedHead, dialect, Limits{});
    if (!found) return std::move(found).error();
    if (!found->place) continue;
    auto kind = kind_of_block(source, *found->place, dialect, Limits{});
    if (!kind) return std::move(kind).error();
    if (*kind == Kind::kFilter) continue;
    const FirstBlock first{dialect, *found->place};
    auto content = read_block(source, first.place, dialect, Limits{});
    if (content) return std::optional(first);
    if (!lies_in_the_bytes(content.error().code)) return std::move(content).error();
    if (!best) best = first;
  }
  return best;
}

// Whether the entries of the first data block look like those of a database. True where that can't be told.
Result<bool> has_entries_of_database(const Source& source, const BlockPlace& place, const Dialect& dialect,
                                     const Limits& limits) {
  auto content = read_block(source, place, dialect, limits);
  if (!content) {
    if (!lies_in_the_bytes(content.error().code)) return std::move(content).error();
    return true;
  }
  const auto extents = split_content(content->view(), dialect.is_rocksdb);
  if (!extents) return true;
  EntryReader reader(*extents);
  KeyBuilder keys;
  while (!reader.at_end()) {
    const auto entry = reader.next();
    if (!entry) return true;
    if (!is_entry_of_database(keys.key(*entry), entry->value)) return false;
  }
  return true;
}

class Surveyor {
 public:
  Surveyor(const Source& source, const Limits& limits) : source_(source), limits_(limits) {}

  Result<Survey> run(Footer footer) {
    survey_.dialect = footer.dialect;
    survey_.footer = std::move(footer);
    auto read = read_indexes();
    if (!read) {
      if (!lies_in_the_bytes(read.error().code)) return std::move(read).error();
      survey_.flaw = std::move(read).error();
      survey_.pieces.clear();
      survey_.data_blocks = 0;
    }
    const Position begin = survey_.footer->begin;
    survey_.pieces.push_back({begin, static_cast<std::uint32_t>(source_.size() - begin), Kind::kFooter});
    if (auto told = tell_keys(); !told) return std::move(told).error();
    return std::move(survey_);
  }

 private:
  Result<void> read_indexes() {
    const Footer& footer = *survey_.footer;
    if (!footer.flaw.empty()) return Error{Code::kDamage, footer.begin, footer.flaw};
    auto meta = read_meta_index(source_, footer.metaindex, footer.dialect, footer.begin, limits_);
    if (!meta && !lies_in_the_bytes(meta.error().code)) return std::move(meta).error();
    // LevelDB's index has but one form, RocksDB's is told by properties that the meta index names.
    std::optional<Error> unknown_form;
    if (!meta && footer.dialect.is_rocksdb) unknown_form = meta.error();
    const MetaBlocks blocks = meta ? std::move(*meta) : MetaBlocks{};
    const auto place = footer.index ? footer.index : blocks.index;
    if (!place && unknown_form) return *std::move(unknown_form);
    if (!place) return Error{Code::kDamage, footer.metaindex.begin, "the meta index does not name an index"};
    IndexForm form;
    // LevelDB's footer, and RocksDB's own blocks: an old RocksDB.
    if (blocks.properties) survey_.dialect.is_rocksdb = true;
    if (footer.dialect.is_rocksdb && blocks.properties) {
      auto read = read_index_form(source_, *blocks.properties, footer.dialect, limits_);
      if (!read && !lies_in_the_bytes(read.error().code)) return std::move(read).error();
      if (read) form = *read;
      if (!read) unknown_form = std::move(read).error();
    }
    auto index = unknown_form ? read_index_of_any_form(*place, *unknown_form)
                              : read_index(source_, *place, survey_.dialect, form, footer.begin, limits_);
    if (!index) return std::move(index).error();
    take(std::move(*index), blocks);
    return blocks.filter_index ? take_filter(*blocks.filter_index, form) : Result<void>();
  }

  // In the form in which it leads from block to block; none does so by chance. Fails with `why` where there is none.
  Result<Index> read_index_of_any_form(const BlockPlace& place, const Error& why) const {
    constexpr unsigned kForms = 8;
    for (unsigned bits = 0; bits < kForms; ++bits) {
      const IndexForm form{
          .is_delta_encoded = (bits & 1) != 0, .has_first_keys = (bits & 2) != 0, .has_two_levels = (bits & 4) != 0};
      auto index = read_index(source_, place, survey_.dialect, form, survey_.footer->begin, limits_);
      if (index && index->is_gapless && index->data_blocks > 0) return index;
      if (!index && !lies_in_the_bytes(index.error().code)) return index;
    }
    return why;
  }

  void take(Index index, const MetaBlocks& blocks) {
    survey_.pieces = std::move(index.pieces);
    survey_.data_blocks = index.data_blocks;
    survey_.has_database_keys = index.has_database_keys;
    survey_.filter = blocks.filter;
    survey_.has_dictionary = blocks.has_dictionary;
    survey_.properties = blocks.properties;
    for (const Piece& piece : blocks.pieces) add(piece);
    const BlockPlace& metaindex = survey_.footer->metaindex;
    if (metaindex.size <= UINT32_MAX - kTrailerSize) {
      add({metaindex.begin, static_cast<std::uint32_t>(metaindex.size + kTrailerSize), Kind::kMetaIndex});
    }
  }

  // A filter that can't be understood is left out: nothing is looked up by it.
  Result<void> take_filter(const BlockPlace& place, const IndexForm& form) {
    auto parts = read_filter_index(source_, place, survey_.dialect, form, survey_.footer->begin, limits_);
    if (!parts) return lies_in_the_bytes(parts.error().code) ? Result<void>() : std::move(parts).error();
    auto& pieces = survey_.pieces;
    std::erase_if(*parts, [&](const Piece& part) { return !has_room(part); });
    const auto others = static_cast<std::ptrdiff_t>(pieces.size());
    LargeAllocations::announce_growth(pieces, parts->size());
    pieces.insert(pieces.end(), parts->begin(), parts->end());
    std::ranges::inplace_merge(pieces, pieces.begin() + others, {}, &Piece::begin);
    return {};
  }

  bool has_room(const Piece& piece) const {
    const auto& pieces = survey_.pieces;
    const auto behind = std::ranges::lower_bound(pieces, piece.begin, {}, &Piece::begin);
    return (behind == pieces.end() || behind->begin >= piece.end()) &&
           (behind == pieces.begin() || (behind - 1)->end() <= piece.begin);
  }

  // What stands in another block is left out.
  void add(const Piece& piece) {
    if (!has_room(piece)) return;
    survey_.pieces.insert(std::ranges::lower_bound(survey_.pieces, piece.begin, {}, &Piece::begin), piece);
  }

  Result<void> tell_keys() {
    if (survey_.dialect.is_rocksdb) {
      survey_.has_database_keys = true;
      return {};
    }
    BlockPlace first;
    const auto data = std::ranges::find(survey_.pieces, Kind::kData, &Piece::kind);
    if (data != survey_.pieces.end()) {
      first = data->place();
    } else {
      auto found = find_first_block(source_);
      if (!found) return std::move(found).error();
      if (!*found) return {};
      first = (*found)->place;
    }
    auto is_database = has_entries_of_database(source_, first, survey_.dialect, limits_);
    if (!is_database) return std::move(is_database).error();
    survey_.has_database_keys = survey_.has_database_keys && *is_database;
    return {};
  }

  const Source& source_;
  const Limits& limits_;
  Survey survey_;
};

}  // namespace

Dialect Survey::dialect_of_data() const {
  Dialect data = dialect;
  data.has_dictionary = has_dictionary;
  return data;
}

Result<int> bid_for(const Source& source, ProbeDepth depth) {
  auto footer = read_footer(source);
  if (!footer) return std::move(footer).error();
  if (*footer) return kBitsOfMagic;
  if (depth != ProbeDepth::kSearch) return 0;
  auto first = find_first_block(source);
  if (!first) return std::move(first).error();
  return *first ? kBitsOfChecksum : 0;
}

Result<std::optional<Survey>> survey(const Source& source, const Limits& limits) {
  auto footer = read_footer(source);
  if (!footer) return std::move(footer).error();
  if (*footer) {
    auto found = Surveyor(source, limits).run(std::move(**footer));
    if (!found) return std::move(found).error();
    return std::optional<Survey>(std::move(*found));
  }
  auto first = find_first_block(source);
  if (!first) return std::move(first).error();
  if (!*first) return std::optional<Survey>{};
  Survey found;
  found.dialect = (*first)->dialect;
  found.flaw = Error{Code::kUnfinished, source.size(), "the file ends without an index and a footer"};
  auto is_database = has_entries_of_database(source, (*first)->place, found.dialect, limits);
  if (!is_database) return std::move(is_database).error();
  found.has_database_keys = found.dialect.is_rocksdb || *is_database;
  return std::optional<Survey>(std::move(found));
}

}  // namespace recordfs::leveldb_table
