// What a table's own indexes say: where each block stands, and what it is. FORMAT.md, "Index".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/limits.h"
#include "core/base/result.h"
#include "core/base/source.h"
#include "core/formats/leveldb_table/wire.h"

namespace recordfs::leveldb_table {

enum class Kind : std::uint8_t { kData, kRangeDeletions, kIndex, kMetaIndex, kFilter, kProperties, kOther, kFooter };

// The word for it in listings. Static storage.
std::string_view to_string(Kind kind);
// Whether its entries are records.
constexpr bool has_records(Kind kind) { return kind == Kind::kData || kind == Kind::kRangeDeletions; }

// The file's bytes [begin, begin + size), trailer included.
struct Piece {
  Position begin = 0;
  std::uint32_t size = 0;
  Kind kind = Kind::kData;

  Position end() const { return begin + size; }
  // REQUIRES: kind != Kind::kFooter.
  BlockPlace place() const { return {begin, size - kTrailerSize}; }
};

// Blocks that the meta index names.
struct MetaBlocks {
  std::vector<Piece> pieces;
  std::optional<BlockPlace> index, properties;
  std::optional<BlockPlace> filter_index;  // of a filter in parts
  std::string filter;                      // the name of the policy; empty: there is none
  bool has_dictionary = false;             // that data blocks are compressed with
};

// Fails as read_block() does, and with kDamage where the content is no list of blocks before `end`.
Result<MetaBlocks> read_meta_index(const Source& source, const BlockPlace& place, const Dialect& dialect, Position end,
                                   const Limits& limits);

// How an index is written.
struct IndexForm {
  bool is_delta_encoded = false;  // a place may be told by the one before
  bool has_first_keys = false;
  bool has_two_levels = false;
};

// What RocksDB's properties say of a table.
struct Properties {
  IndexForm index;
  std::optional<std::uint32_t> column_family;  // nullopt where they do not say it
};

// Fails as read_block() does.
Result<Properties> read_properties(const Source& source, const BlockPlace& place, const Dialect& dialect,
                                   const Limits& limits);

struct Extents;

// The first places that an index of this form tells, `most` of them at the most; fewer where something else follows.
std::vector<BlockPlace> first_places(const Extents& extents, const IndexForm& form, std::size_t most);

// Whether all entries are those of an index of this form, and each tells of a block that stands right behind the one
// before. Values that are none do not so by chance, and it needs no block to be where it was.
bool tells_of_a_row(const Extents& extents, const IndexForm& form);

struct Index {
  std::vector<Piece> pieces;      // the data blocks, and the index's own; in file order, apart from each other
  std::uint64_t data_blocks = 0;  // among them
  bool has_database_keys = true;  // each key looks like one of LevelDB's
  bool is_gapless = false;        // the data blocks stand one behind the other from offset 0
};

// Fails as read_block() does, and with kDamage where the content is no list of blocks before `end`, or blocks stand in
// each other.
Result<Index> read_index(const Source& source, const BlockPlace& place, const Dialect& dialect, const IndexForm& form,
                         Position end, const Limits& limits);

// The parts of a filter, by the index of them that stands at `place`: in file order, apart from each other. Fails as
// read_index() does.
Result<std::vector<Piece>> read_filter_index(const Source& source, const BlockPlace& place, const Dialect& dialect,
                                             const IndexForm& form, Position end, const Limits& limits);

// Whether a block with this content is a meta index by what is in it: names that are known, and places.
bool looks_like_meta_index(Bytes content);

}  // namespace recordfs::leveldb_table
