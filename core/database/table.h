// One table of a database: finds its entries by key through its index, and iterates over them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "core/base/buffer.h"
#include "core/base/limits.h"
#include "core/base/result.h"
#include "core/base/source.h"
#include "core/database/expected_table.h"
#include "core/database/key_order.h"
#include "core/database/loss.h"
#include "core/database/memory_budget.h"
#include "core/database/range_deletions.h"
#include "core/database/sequence_ranges.h"
#include "core/formats/leveldb_table/filter.h"
#include "core/formats/leveldb_table/index.h"
#include "core/formats/leveldb_table/seek.h"
#include "core/formats/leveldb_table/tail.h"
#include "core/formats/leveldb_table/wire.h"

namespace recordfs::database {

// What the state knows of a table that is opened.
struct TableContext {
  KeyOrder order{};
  std::optional<std::uint64_t> largest_sequence{};  // according to the MANIFEST
  bool lacks_timestamps = false;                    // likewise, if the table does not say it
  // Whether a library may have written the table without a database, with keys that have no sequence number.
  bool may_have_user_keys = false;
  std::shared_ptr<const SequenceRanges> hidden{};  // entries with these numbers do not count; null: there are none
  ExpectedTable expected{};                        // according to the MANIFEST
};

// The index and other properties of a table. Immutable and thread-safe, except for the cached filter, which is
// thread-safe too. Does not keep the file open: functions that read take it.
class Table {
 public:
  // Reads the footer and the index, or the first level of it, and the deletions of ranges. If the index is lost, reads
  // all blocks that can be found by their checksums, and makes an index of them; damage() says so then. Fails with
  // kDamage if there are none, and if the table is another one than `about` expects, with kUnsupported for other kinds
  // of tables, with kLimit if the index or other metadata exceed their limits, and as Source.
  static Result<std::shared_ptr<const Table>> open(const RequestContext& context,
                                                   const std::shared_ptr<const Source>& source,
                                                   const TableContext& about, const Limits& limits);

  // Returns the order of the keys in the file. They have no timestamps if the table lacks them.
  const KeyOrder& order() const { return order_; }
  // Returns whether the table was written without the user-defined timestamps that the keys of its database have.
  // Its iterators return the keys with the timestamp 0.
  bool lacks_timestamps() const { return !tail_.properties.has_timestamps; }
  const RangeDeletions& range_deletions() const { return range_deletions_; }
  const leveldb_table::Properties& properties() const { return tail_.properties; }
  // Returns whether keys have a sequence number and a type. If not, each entry is a put with the sequence number 0.
  bool has_internal_keys() const { return has_internal_keys_; }
  // Returns what is wrong with the table as a whole: its entries may be incomplete. nullopt: nothing.
  const std::optional<Error>& damage() const { return damage_; }
  // Returns the memory of the table in bytes, including that of a filter that was not read yet.
  std::size_t memory() const;
  // Returns how much of it a table of this size usually has at most.
  std::uint64_t usual_memory() const { return kUsualMemoryRatio * file_size_; }

  // The blocks of the first level of the index: data blocks, or parts of the index.
  const leveldb_table::BlockList& blocks() const { return blocks_; }
  bool has_two_levels() const { return tail_.properties.index.has_two_levels; }
  // Reads a part of the index. Fails like read_block_list().
  Result<leveldb_table::BlockList> read_part(const RequestContext& context, const Source& source,
                                             std::size_t part) const;
  // Returns the blocks of a part that read_part() cannot read: those between the blocks of the readable parts next to
  // it, found by their checksums, as far as they are intact. Fails with failures that may pass.
  Result<leveldb_table::BlockList> recover_part(const RequestContext& context, const Source& source,
                                                std::size_t part) const;
  // Reads a data block. Fails like read_block().
  Result<Buffer> read_data(const RequestContext& context, const Source& source,
                           const leveldb_table::BlockPlace& place) const;
  const leveldb_table::Dialect& dialect() const { return tail_.dialect; }
  const Limits& limits() const { return limits_; }

  // Compares the key of an index, which is at or after the last key of a block, with an internal key.
  bool is_index_key_before(Bytes index_key, Bytes user_key, std::uint64_t tag) const;
  // Returns the user's key in a key of the index.
  Bytes user_key_in_index(Bytes index_key) const;
  // Returns the number that the table gives all its entries; nullopt if they have their own.
  std::optional<std::uint64_t> sequence_of_all() const { return sequence_of_all_; }

  // Returns whether an entry does not count: it was never committed.
  bool hides(std::uint64_t sequence) const { return hidden_ && hidden_->contains(sequence); }

  // Returns whether a block may contain a key, according to the filter. Reads the filter only at the second call: once,
  // it costs more than the block. True if there is no filter that recordfs knows, or if it cannot be read.
  bool may_contain(const RequestContext& context, const Source& source, Bytes user_key, Position block) const;

 private:
  friend class TableOpener;
  // Consecutive parts of the index that cannot be read, and the blocks that they listed.
  struct LostParts {
    std::size_t first = 0;
    std::size_t last = 0;
    leveldb_table::BlockList blocks{};
  };
  std::shared_ptr<const leveldb_table::Filter> filter(const RequestContext& context, const Source& source) const;
  bool has_tag_in_index(Bytes index_key) const;
  Result<std::shared_ptr<const LostParts>> find_lost_parts(const RequestContext& context, const Source& source,
                                                           std::size_t part) const;
  Table() = default;

  static constexpr std::uint64_t kUsualMemoryRatio = 4;  // to the size of the file

  KeyOrder order_;
  bool has_internal_keys_ = true;
  Limits limits_;
  std::uint64_t file_size_ = 0;
  leveldb_table::Tail tail_;  // with the place of the filter only if lookups can use it
  leveldb_table::BlockList blocks_;
  RangeDeletions range_deletions_;
  std::optional<std::uint64_t> sequence_of_all_;
  std::shared_ptr<const SequenceRanges> hidden_;  // null: no entry is hidden
  std::optional<Error> damage_;
  Position end_ = 0;  // of the blocks

  mutable std::mutex mutex_;  // guards the following
  mutable bool was_asked_ = false;
  mutable bool is_filter_read_ = false;
  mutable std::shared_ptr<const leveldb_table::Filter> filter_;
  mutable std::shared_ptr<const LostParts> lost_parts_;  // those that were found last; null: none yet
};

// An entry of a table. Bytes are valid until the iterator moves.
struct TableEntry {
  Bytes user_key;         // with its timestamp, if the database has timestamps
  std::uint64_t tag = 0;  // sequence << 8 | type
  Bytes value;

  std::uint64_t sequence() const { return tag >> 8; }
  std::uint8_t type() const { return static_cast<std::uint8_t>(tag & 0xff); }
};

// Returns the table's file, opened if need be. Fails as OpenFiles::open().
using OpenTable = std::function<Result<std::shared_ptr<const Source>>()>;
// Returns whether the block that begins at a position may have the wanted key. An error ends the search.
using MayContain = std::function<Result<bool>(const Table& table, Position block)>;
// Receives a lost part of a table, of which `family` and `age` are not set.
using TakeLoss = std::function<void(Loss loss, const Error& why)>;

// Iterates over a table's entries, and keeps one block in memory. A block that cannot be read, or for which `memory`
// has no room, is passed over and reported. One thread.
class TableIterator {
 public:
  // `memory` may be null: no limit.
  TableIterator(std::shared_ptr<const Table> table, OpenTable open, TakeLoss take_loss,
                std::shared_ptr<MemoryBudget> memory = nullptr)
      : table_(std::move(table)),
        open_(std::move(open)),
        take_loss_(std::move(take_loss)),
        budget_(std::move(memory)) {}

  // Move to the first entry that is not before a key and a tag; to the first one; to the next one. Fail with failures
  // that may pass, and with kChanged if the file is gone; then the iterator is at the end.
  Result<void> seek(const RequestContext& context, Bytes user_key, std::uint64_t tag);
  // The same for the key alone: is at the end if `may_contain` returns false for the block that would have it.
  Result<void> seek_key(const RequestContext& context, Bytes user_key, std::uint64_t tag,
                        const MayContain& may_contain);
  Result<void> to_first(const RequestContext& context);
  Result<void> next(const RequestContext& context);
  // For a table in an unproved order, which keeps the entries of a key together. Moves to the first entry with a key if
  // it is in the block that would have it in bytewise order. Returns false if it is not, or if something there cannot
  // be read, which is not reported; then the position is not defined. Fails as seek().
  Result<bool> find_together(const RequestContext& context, Bytes user_key);

  bool is_valid() const { return entries_ && entries_->is_valid(); }
  // Returns false if the timestamps of keys are not stored.
  bool has_timestamps() const { return !table_->lacks_timestamps(); }
  // REQUIRES: is_valid().
  TableEntry entry() const;
  // Returns the block of the entry, which the entry's bytes are in, for callers that keep them.
  const std::shared_ptr<const Buffer>& memory() const { return content_; }

 private:
  Result<void> seek_block(const RequestContext& context, Bytes user_key, std::uint64_t tag);
  Result<void> seek_entry(const RequestContext& context, Bytes user_key, std::uint64_t tag);
  Result<void> seek_part(const RequestContext& context, std::size_t part);
  Result<bool> ends_with_other_key(const RequestContext& context, Bytes user_key) const;
  Result<void> load(const RequestContext& context);
  Result<std::shared_ptr<const Buffer>> read(const RequestContext& context,
                                             const leveldb_table::BlockPlace& place) const;
  Result<void> settle(const RequestContext& context);
  Position block() const { return leaf().place(block_).begin; }  // where the current block begins
  const leveldb_table::BlockList& leaf() const { return table_->has_two_levels() ? part_blocks_ : table_->blocks(); }
  void lose(const leveldb_table::BlockList& list, std::size_t at, const Error& why);
  void skip_hidden();
  bool has_too_long_keys();
  bool are_in_order(leveldb_table::BlockIterator entries) const;

  const std::shared_ptr<const Table> table_;
  const OpenTable open_;
  const TakeLoss take_loss_;
  const std::shared_ptr<MemoryBudget> budget_;
  std::size_t part_ = 0;
  leveldb_table::BlockList part_blocks_;
  std::size_t block_ = 0;
  std::shared_ptr<const Buffer> content_;
  std::optional<leveldb_table::BlockIterator> entries_;
  bool has_reported_ = false;  // damage inside the current block
  // Bytes of the keys of the current block so far. Keys that share their beginning are larger than their block, and
  // comparing them takes time.
  std::uint64_t key_bytes_ = 0;
  mutable std::string timed_key_{};  // of the current entry, if the table lacks timestamps
};

}  // namespace recordfs::database
