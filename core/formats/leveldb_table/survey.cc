#include "core/formats/leveldb_table/survey.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "core/formats/leveldb_table/entries.h"
#include "core/formats/leveldb_table/salvage.h"
#include "core/formats/leveldb_table/wire.h"

namespace recordfs::leveldb_table {
namespace {

// Length of the search for a footer that other data follow.
constexpr std::uint64_t kSearchedTail = 64 << 10;
constexpr int kBitsOfMagic = 64;
constexpr int kBitsOfChecksum = 32;
constexpr std::uint64_t kProbedHead = 64u << 10;

// Returns the last footer in the tail of a file, even if other data follow it.
Result<std::optional<Footer>> find_footer(const RequestContext& context, const Source& source) {
  auto footer = read_footer(context, source);
  if (!footer || *footer) return footer;
  const std::uint64_t size = std::min(source.size(), kSearchedTail);
  ASSIGN_OR_RETURN(const auto bytes, read_up_to(context, source, source.size() - size, size));
  const Bytes tail = bytes.view();
  for (std::size_t end = tail.size(); end > kFooterSize; --end) {
    auto found = parse_footer(tail.first(end), source.size() - (tail.size() - end));
    if (found && found->flaw.empty()) return std::optional(std::move(*found));
  }
  return std::optional<Footer>{};
}

bool is_name_of_table(std::string_view name) { return name.ends_with(".ldb") || name.ends_with(".sst"); }

// The dialects to try for a file without a footer.
const Dialect kGuesses[] = {{},
                            {.is_rocksdb = true, .version = 5},
                            {.is_rocksdb = true, .version = 5, .checksum = Checksum::kXxh3},
                            {.is_rocksdb = true, .version = 5, .checksum = Checksum::kXxHash64},
                            {.is_rocksdb = true, .version = 5, .checksum = Checksum::kXxHash32}};
// The checksums to try with a context, which format version 6 has added.
constexpr Checksum kGuessesInContext[] = {Checksum::kXxh3, Checksum::kCrc32c, Checksum::kXxHash64, Checksum::kXxHash32};
// Length of the search for the end of the first block with a checksum that costs more than CRC-32C.
constexpr std::uint64_t kHashedHead = 256 << 10;

struct FirstBlock {
  Dialect dialect;
  BlockPlace place;
};

// Uses the first dialect that can decompress the block; if none can but its checksum matches, LevelDB's.
Result<std::optional<FirstBlock>> find_first_block(const RequestContext& context, const Source& source,
                                                   std::uint64_t most = kSearchedHead) {
  std::optional<FirstBlock> best;
  for (const Dialect& dialect : kGuesses) {
    const std::uint64_t searched = dialect.checksum == Checksum::kCrc32c ? most : std::min(most, kHashedHead);
    ASSIGN_OR_RETURN(const auto found, find_end(context, source, 0, source.size(), {}, searched, dialect, Limits{}));
    if (!found.place) continue;
    ASSIGN_OR_RETURN(const auto kind, kind_of_block(context, source, *found.place, dialect, Limits{}));
    if (kind == Kind::kFilter) continue;
    const FirstBlock first{dialect, *found.place};
    auto content = read_block(context, source, first.place, dialect, Limits{});
    if (content) return std::optional(first);
    if (!is_permanent(content.error().code)) return std::move(content).error();
    if (!best) best = first;
  }
  if (best) return best;
  for (const Checksum checksum : kGuessesInContext) {
    const Dialect dialect{.is_rocksdb = true, .version = 6, .checksum = checksum};
    ASSIGN_OR_RETURN(auto found, find_context(context, source, dialect, Limits{}));
    if (found) return std::optional(FirstBlock{std::move(found->dialect), found->place});
  }
  return std::optional<FirstBlock>{};
}

// Finds any block, for a file whose front was cut off or that begins with other data.
Result<std::optional<FirstBlock>> find_any_block(const RequestContext& context, const Source& source) {
  auto first = find_first_block(context, source);
  if (!first || *first) return first;
  for (const Dialect& dialect : kGuesses) {
    if (!can_find_after_damage(dialect)) continue;
    ASSIGN_OR_RETURN(const auto found, find_block(context, source, 0, source.size(), dialect, Limits{}));
    if (!found) continue;
    auto content = read_block(context, source, *found, dialect, Limits{});
    if (content) return std::optional(FirstBlock{dialect, *found});
    if (!is_permanent(content.error().code)) return std::move(content).error();
  }
  return std::optional<FirstBlock>{};
}

// A file's view with its positions moved by `shift` bytes.
class ShiftedSource final : public Source {
 public:
  ShiftedSource(const Source& source, std::int64_t shift, std::uint64_t size)
      : source_(source), shift_(static_cast<std::uint64_t>(shift)), size_(size) {}
  std::uint64_t size() const override { return size_; }
  Result<std::size_t> read_at(const RequestContext& context, Position at, MutableBytes out) const override {
    const Position in_file = at + shift_;  // positions before the file wrap to after its end
    if (in_file >= source_.size()) return std::size_t{0};
    return source_.read_at(context, in_file, out);
  }

 private:
  const Source& source_;
  const std::uint64_t shift_;
  const std::uint64_t size_;
};

// A larger first block does not show whether its keys are internal. Usual ones have 4 to 64 KiB.
constexpr std::uint64_t kMostForKeys = 64u << 20;

// Returns whether the entries of the first data block look like those of a database. True if unknown.
Result<bool> has_entries_of_database(const RequestContext& context, const Source& source, const BlockPlace& place,
                                     const Dialect& dialect, const Limits& limits) {
  Limits small = limits;
  small.decoded_chunk = std::min(limits.decoded_chunk, kMostForKeys);
  auto content = read_block(context, source, place, dialect, small);
  if (!content) {
    if (!is_permanent(content.error().code)) return std::move(content).error();
    return true;
  }
  bool is_database = true;
  for_each_entry(content->view(), dialect,
                 [&](Bytes key, Bytes value) { return is_database = is_entry_of_database(key, value); });
  return is_database;
}

class Surveyor {
 public:
  Surveyor(const Source& source, const Limits& limits) : source_(source), limits_(limits) {}

  Result<Survey> run(const RequestContext& context, Footer footer) {
    survey_.dialect = footer.dialect;
    survey_.footer = std::move(footer);
    // Blocks at the indexes' own places may belong to another table, or to a copy of this one.
    TRY(read_shifted(context));
    const Error elsewhere{Code::kDamage, survey_.footer->begin, "the footer's blocks are not where it says"};
    auto read = survey_.shifted.empty() ? read_indexes(context) : elsewhere;
    if (!read) {
      if (!is_permanent(read.error().code)) return std::move(read).error();
      survey_.flaw = std::move(read).error();
    }
    const Position begin = survey_.footer->begin;
    const std::uint64_t size = survey_.footer->size();
    survey_.pieces.push_back({begin, static_cast<std::uint32_t>(size), Kind::kFooter});
    TRY(tell_keys(context));
    return std::move(survey_);
  }

 private:
  // The footer gives its own expected position. Its distance from there applies to the blocks before it too.
  Result<void> read_shifted(const RequestContext& context) {
    const Footer& footer = *survey_.footer;
    const auto shift = static_cast<std::int64_t>(footer.begin - footer.due);
    if (footer.due == 0 || shift == 0) return {};
    const ShiftedSource moved(source_, shift, footer.due + footer.size());
    ASSIGN_OR_RETURN(auto there, read_footer(context, moved));
    if (!there) return {};
    Surveyor inner(moved, limits_);
    inner.survey_.dialect = there->dialect;
    inner.survey_.footer = std::move(there);
    if (auto read = inner.read_indexes(context); !read) {
      return is_permanent(read.error().code) ? Result<void>() : std::move(read).error();
    }
    return take_shifted(context, std::move(inner.survey_), shift);
  }

  Result<void> take_shifted(const RequestContext& context, Survey inner, std::int64_t shift) {
    const auto shift_bits = static_cast<std::uint64_t>(shift);
    auto& pieces = inner.pieces;
    std::erase_if(pieces, [&](const Piece& piece) { return shift < 0 && piece.begin < std::uint64_t{0} - shift_bits; });
    for (Piece& piece : pieces) piece.begin += shift_bits;
    inner.dialect.shift = shift;
    // Blocks before the deleted or inserted bytes are at another distance.
    std::size_t first = 0;
    for (std::size_t after = pieces.size(); first < after;) {
      const std::size_t middle = first + (after - first) / 2;
      ASSIGN_OR_RETURN(const auto stands,
                       block_unpacks(context, source_, pieces[middle].place(), inner.dialect, limits_));
      stands ? after = middle : first = middle + 1;
    }
    pieces.erase(pieces.begin(), pieces.begin() + static_cast<std::ptrdiff_t>(first));
    if (pieces.empty()) return {};
    survey_.shifted = std::move(pieces);
    survey_.shifted_dialect = inner.dialect;
    survey_.dialect.is_rocksdb = inner.dialect.is_rocksdb;
    // The bytes before may belong to another table.
    ASSIGN_OR_RETURN(const auto other, find_first_block(context, source_));
    if (other && dialect_differs(other->dialect)) survey_.dialect = other->dialect;
    survey_.has_database_keys = inner.has_database_keys;
    survey_.tail = std::move(inner.tail);
    survey_.tail.blocks.properties.reset();
    return {};
  }

  bool dialect_differs(const Dialect& other) const {
    return other.checksum != survey_.dialect.checksum || other.is_rocksdb != survey_.dialect.is_rocksdb ||
           survey_.dialect.context != 0;
  }

  Result<void> read_indexes(const RequestContext& context) {
    const Footer& footer = *survey_.footer;
    ASSIGN_OR_RETURN(auto tail, read_tail(context, source_, footer, limits_));
    survey_.dialect = tail.dialect;
    survey_.tail.properties = tail.properties;
    // LevelDB's index has one form. RocksDB's is given by properties that the meta index names, whatever the footer.
    const bool is_form_known = !tail.flaw || !tail.dialect.is_rocksdb;
    const IndexForm& form = tail.properties.index;
    ASSIGN_OR_RETURN(auto index,
                     is_form_known ? read_index(context, source_, tail.index, tail.dialect, form, footer.begin, limits_)
                                   : read_index_of_any_form(context, tail.index, *tail.flaw));
    survey_.tail = std::move(tail);
    take(std::move(index));
    const auto& filter = survey_.tail.blocks.filter_index;
    return filter ? take_filter(context, *filter, survey_.tail.properties.index) : Result<void>();
  }

  // Reads the index in the form in which it leads from block to block; no other form does by chance. Fails with `why`
  // if there is none.
  Result<Index> read_index_of_any_form(const RequestContext& context, const BlockPlace& place, const Error& why) const {
    constexpr unsigned kForms = 8;
    for (unsigned bits = 0; bits < kForms; ++bits) {
      const IndexForm form{
          .is_delta_encoded = (bits & 1) != 0, .has_first_keys = (bits & 2) != 0, .has_two_levels = (bits & 4) != 0};
      auto index = read_index(context, source_, place, survey_.dialect, form, survey_.footer->begin, limits_);
      if (index && index->is_gapless && index->data_blocks > 0) return index;
      if (!index && !is_permanent(index.error().code)) return index;
    }
    return why;
  }

  void take(Index index) {
    survey_.pieces = std::move(index.pieces);
    survey_.data_blocks = index.data_blocks;
    survey_.has_database_keys = index.has_database_keys;
    std::vector<Piece> others = std::exchange(survey_.tail.blocks.pieces, {});
    const BlockPlace& metaindex = survey_.footer->metaindex;
    if (metaindex.size <= UINT32_MAX - kTrailerSize) {
      others.push_back({metaindex.begin, static_cast<std::uint32_t>(metaindex.size + kTrailerSize), Kind::kMetaIndex});
    }
    add(std::move(others));
  }

  // A filter that cannot be parsed is ignored, since lookups do not use it.
  Result<void> take_filter(const RequestContext& context, const BlockPlace& place, const IndexForm& form) {
    auto parts = read_filter_index(context, source_, place, survey_.dialect, form, survey_.footer->begin, limits_);
    if (!parts) return is_permanent(parts.error().code) ? Result<void>() : std::move(parts).error();
    context.announce_growth(survey_.pieces, parts->size());
    add(std::move(*parts));
    return {};
  }

  bool has_room(const Piece& piece) const {
    const auto& pieces = survey_.pieces;
    const auto after = std::ranges::lower_bound(pieces, piece.begin, {}, &Piece::begin);
    return (after == pieces.end() || after->begin >= piece.end()) &&
           (after == pieces.begin() || (after - 1)->end() <= piece.begin);
  }

  // Ignores pieces that overlap another block.
  void add(std::vector<Piece> added) {
    std::ranges::stable_sort(added, {}, &Piece::begin);
    Position after = 0;
    std::erase_if(added, [&](const Piece& piece) {
      const bool overlaps = piece.begin < after || !has_room(piece);
      if (!overlaps) after = piece.end();
      return overlaps;
    });
    auto& pieces = survey_.pieces;
    const auto others = static_cast<std::ptrdiff_t>(pieces.size());
    pieces.insert(pieces.end(), added.begin(), added.end());
    std::ranges::inplace_merge(pieces, pieces.begin() + others, {}, &Piece::begin);
  }

  Result<void> tell_keys(const RequestContext& context) {
    if (survey_.dialect.is_rocksdb) {
      survey_.has_database_keys = true;
      return {};
    }
    BlockPlace first;
    const auto& pieces = survey_.shifted.empty() ? survey_.pieces : survey_.shifted;
    const auto data = std::ranges::find(pieces, Kind::kData, &Piece::kind);
    if (data != pieces.end()) {
      first = data->place();
    } else {
      ASSIGN_OR_RETURN(const auto found, find_any_block(context, source_));
      if (!found) return {};
      first = found->place;
    }
    ASSIGN_OR_RETURN(const auto is_database,
                     has_entries_of_database(context, source_, first, survey_.dialect, limits_));
    survey_.has_database_keys = survey_.has_database_keys && is_database;
    return {};
  }

  const Source& source_;
  const Limits& limits_;
  Survey survey_;
};

}  // namespace

Dialect Survey::dialect_of(Position begin, Kind kind) const {
  Dialect found = !shifted.empty() && begin >= shifted.front().begin ? shifted_dialect : dialect;
  found.dictionary = kind == Kind::kData ? tail.dictionary : nullptr;
  return found;
}

Result<int> bid_for(const RequestContext& context, const Source& source, std::string_view file_name, ProbeDepth depth) {
  auto footer = read_footer(context, source);
  if (!footer) return std::move(footer).error();
  if (*footer) return kBitsOfMagic;
  // For a file with the name of a table the head is sufficient evidence: the footer may be cut off, or be before the
  // end.
  const bool searches = depth == ProbeDepth::kSearch;
  if (!searches && !is_name_of_table(file_name)) return 0;
  if (searches) footer = find_footer(context, source);
  if (!footer) return std::move(footer).error();
  if (*footer) return kBitsOfMagic;
  ASSIGN_OR_RETURN(const auto first,
                   searches ? find_any_block(context, source) : find_first_block(context, source, kProbedHead));
  return first ? kBitsOfChecksum : 0;
}

Result<std::optional<Survey>> survey(const RequestContext& context, const Source& source, const Limits& limits) {
  ASSIGN_OR_RETURN(auto footer, find_footer(context, source));
  if (footer) {
    ASSIGN_OR_RETURN(auto found, Surveyor(source, limits).run(context, std::move(*footer)));
    return std::optional<Survey>(std::move(found));
  }
  ASSIGN_OR_RETURN(const auto first, find_any_block(context, source));
  if (!first) return std::optional<Survey>{};
  Survey found;
  found.dialect = first->dialect;
  found.flaw = Error{Code::kUnfinished, source.size(), "the file ends without an index and a footer"};
  ASSIGN_OR_RETURN(const auto is_database,
                   has_entries_of_database(context, source, first->place, found.dialect, limits));
  found.has_database_keys = found.dialect.is_rocksdb || is_database;
  return std::optional<Survey>(std::move(found));
}

}  // namespace recordfs::leveldb_table
