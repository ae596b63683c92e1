// The contents of a table's indexes: the place and the kind of each block. FORMAT.md, "Index".
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

enum class Kind : std::uint8_t {
  kData,
  kRangeDeletions,
  kIndex,
  kMetaIndex,
  kFilter,
  kProperties,
  kOther,
  kFooter,
  kBlobs,  // values that entries of the same table refer to, each followed by a trailer
};

// Returns the name of a kind for listings. Static storage.
std::string_view to_string(Kind kind);
// Returns whether the entries of such a block are records.
constexpr bool has_records(Kind kind) { return kind == Kind::kData || kind == Kind::kRangeDeletions; }

// The file's bytes [begin, begin + size), including the trailer.
struct Piece {
  Position begin = 0;
  std::uint32_t size = 0;
  Kind kind = Kind::kData;

  Position end() const { return begin + size; }
  // REQUIRES: kind != Kind::kFooter.
  BlockPlace place() const { return {begin, size - kTrailerSize}; }
};

// The blocks listed in the meta index.
struct MetaBlocks {
  std::vector<Piece> pieces;
  std::optional<BlockPlace> index, properties;
  std::optional<BlockPlace> filter_index;  // of a filter in parts
  std::optional<BlockPlace> dictionary;    // for the compression of data blocks
  std::optional<BlockPlace> range_deletions;
  std::optional<BlockPlace> whole_filter;  // of a filter in one block
  std::string filter;                      // the name of the policy; empty: no filter
  std::string filter_kind;                 // "filter", "fullfilter", "partitionedfilter"; empty: no filter
};

// Fails as read_block() does, and with kDamage if the content is not a list of blocks before `end`.
Result<MetaBlocks> read_meta_index(const RequestContext& context, const Source& source, const BlockPlace& place,
                                   const Dialect& dialect, Position end, const Limits& limits);

// The form of an index.
struct IndexForm {
  bool is_delta_encoded = false;  // a place may be relative to the previous one
  bool has_first_keys = false;
  bool has_two_levels = false;
};

// What RocksDB's properties say of a table.
struct Properties {
  IndexForm index;
  std::optional<std::uint32_t> column_family;  // nullopt where they do not say it
  std::string column_family_name;              // empty where they do not say it
  std::string comparator;                      // likewise
  std::string merge_operator;                  // likewise
  bool has_timestamps = true;                  // keys have the user-defined timestamps of the comparator
  bool has_user_keys_in_index = false;         // the index's keys lack the sequence number and the type
  bool filters_whole_keys = true;              // the filter contains keys, not only their prefixes
  bool has_embedded_blobs = false;             // values of its entries are between its data blocks
  bool is_external = false;                    // its entries have the sequence number that the MANIFEST gives the table
  std::optional<std::uint64_t> entries{};      // their number; nullopt where they do not say it
  std::optional<std::uint64_t> range_deletions{};  // likewise
  std::uint64_t external_sequence = 0;             // the same, from the table itself; 0: not stated
  // The database that created the table, its session, and the number of the file; empty or 0 where they do not say it.
  std::string database_id, session_id;
  std::uint64_t original_number = 0;
};

// Fails as read_block() does.
Result<Properties> read_properties(const RequestContext& context, const Source& source, const BlockPlace& place,
                                   const Dialect& dialect, const Limits& limits);

// Returns the value of a property whose bytes are a number in binary; nullopt for texts, and for unknown properties.
std::optional<std::uint64_t> number_in_property(std::string_view name, Bytes value);

struct Extents;

// Returns the first places in an index of this form: at most `most`, fewer if something else follows.
std::vector<BlockPlace> first_places(const Extents& extents, const IndexForm& form, std::size_t most);

// Returns whether all entries are those of an index of this form, and each place directly follows the previous one.
// Other values do not match by chance. The blocks themselves may have moved.
bool has_contiguous_blocks(const Extents& extents, const IndexForm& form);

struct Index {
  std::vector<Piece> pieces;      // the data blocks and those of the index, in file order, disjoint
  std::uint64_t data_blocks = 0;  // number of data blocks
  bool has_database_keys = true;  // each key looks like an internal key
  bool is_gapless = false;        // the data blocks are consecutive from offset 0
};

// Fails as read_block() does, and with kDamage if the content is not a list of blocks before `end`, or blocks
// overlap.
Result<Index> read_index(const RequestContext& context, const Source& source, const BlockPlace& place,
                         const Dialect& dialect, const IndexForm& form, Position end, const Limits& limits);

// The blocks that a block of an index lists, in its order. Each key is at or after the last key of its block, and
// before the first key of the next one.
class BlockList {
 public:
  struct Listed {
    std::uint32_t key_begin = 0;
    std::uint32_t key_size = 0;
    BlockPlace place;
  };
  std::size_t size() const { return listed_.size(); }
  Bytes key(std::size_t at) const { return as_bytes(keys_).subspan(listed_[at].key_begin, listed_[at].key_size); }
  const BlockPlace& place(std::size_t at) const { return listed_[at].place; }
  void add(Bytes key, const BlockPlace& place);
  std::size_t key_bytes() const { return keys_.size(); }
  std::size_t memory() const { return keys_.capacity() + listed_.capacity() * sizeof(Listed); }

 private:
  std::string keys_;
  std::vector<Listed> listed_;
};

// Returns what one block of an index lists: data blocks, or the parts of an index in two levels. Fails as read_block()
// does, and with kDamage if the content is not a list of blocks before `end`.
Result<BlockList> read_block_list(const RequestContext& context, const Source& source, const BlockPlace& place,
                                  const Dialect& dialect, const IndexForm& form, Position end, const Limits& limits);

// Returns the parts of a filter from their index at `place`: in file order, disjoint. Fails as read_index() does.
Result<std::vector<Piece>> read_filter_index(const RequestContext& context, const Source& source,
                                             const BlockPlace& place, const Dialect& dialect, const IndexForm& form,
                                             Position end, const Limits& limits);

// Returns whether this content looks like a meta index: known names, and places.
bool looks_like_meta_index(Bytes content);

}  // namespace recordfs::leveldb_table
