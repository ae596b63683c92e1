// The entries of a block: keys that share their beginning with the previous key, and values. FORMAT.md, "Layout".
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/buffer.h"
#include "core/base/bytes.h"
#include "core/base/limits.h"
#include "core/base/result.h"
#include "core/formats/chunk.h"
#include "core/formats/leveldb_table/wire.h"
#include "core/formats/value.h"

namespace recordfs::leveldb_table {

struct Entry {
  std::uint64_t shared = 0;  // bytes shared with the previous key; at most that key's size
  Bytes suffix;              // the rest of the key
  Bytes value;               // empty if the entry does not contain its length

  std::uint64_t key_size() const { return shared + suffix.size(); }
};

// The parts of a block's content.
struct Extents {
  Bytes entries;
  Bytes restarts;  // 4 bytes each: the offset of an entry whose key shares nothing
  // The values of a block that stores them apart from the keys; nullopt: each value follows its key.
  std::optional<Bytes> values{};
};

// Returns nullopt if the content is not a block. `may_have_flags`: the highest bits of RocksDB's number of restarts
// may be flags: for a hash table after the restarts, for values apart from the keys, and for evenly distributed keys.
std::optional<Extents> split_content(Bytes content, bool may_have_flags);

// Reads entries forwards. One thread. The content must outlive it.
class EntryReader {
 public:
  // `has_values`: whether each entry's head has the value's length. If not, the caller determines the length and uses
  // rest() and skip().
  explicit EntryReader(const Extents& extents, bool has_values = true) : extents_(extents), has_values_(has_values) {}

  bool at_end() const { return next_ >= extents_.entries.size(); }
  // Returns nullopt for bytes that are not an entry; the reader stays there. REQUIRES: !at_end().
  std::optional<Entry> next();
  // Continues at the first restart point after the place where next() failed. Returns false if there is none.
  bool go_to_restart();
  // Continues at a restart point, at the end if it is after the entries. REQUIRES: index < restarts().
  void go_to(std::size_t index);
  std::size_t restarts() const;

  Bytes rest() const { return extents_.entries.subspan(next_); }
  // REQUIRES: size <= rest().size().
  void skip(std::size_t size) { next_ += size; }

 private:
  std::size_t restart(std::size_t index) const;
  std::optional<Entry> next_apart();
  bool is_at_restart();

  Extents extents_;
  bool has_values_;
  std::size_t next_ = 0;
  std::size_t next_restart_ = 0;  // index of the first restart point not yet passed
  std::uint64_t key_size_ = 0;    // of the previous key
  std::size_t next_value_ = 0;    // offset in the values, if they are apart from the keys
};

// Reconstructs the keys of a block in order.
class KeyBuilder {
 public:
  Bytes key(const Entry& entry);

 private:
  std::string key_;
};

// Calls `take` with the key and the value of each entry while it returns true. Returns false if it did not, or if
// there is an invalid entry.
template <class Take>
bool for_each_entry(Bytes content, const Dialect& dialect, const Take& take) {
  const auto extents = split_content(content, dialect.is_rocksdb);
  if (!extents) return false;
  EntryReader reader(*extents);
  KeyBuilder keys;
  while (!reader.at_end()) {
    const auto entry = reader.next();
    if (!entry || !take(keys.key(*entry), entry->value)) return false;
  }
  return true;
}

inline constexpr std::uint8_t kDelete = 0;  // operation types
inline constexpr std::uint8_t kPut = 1;

// A key of a database: the user's key, followed by a sequence number and an operation type. FORMAT.md, "Keys".
struct InternalKey {
  Bytes user_key;
  std::uint64_t sequence = 0;
  std::uint8_t type = 0;  // as stored
};

// Returns nullopt if the key is too short.
std::optional<InternalKey> parse_internal(Bytes key);

// Returns the name of a type: "put", "delete", ... Empty if unknown. Static storage.
std::string_view type_name(std::uint8_t type);

// Returns whether an entry looks like one with an internal key, rather than one of a table written without a
// database.
bool is_entry_of_database(Bytes key, Bytes value);
// The same for a key of the index, which belongs to no entry.
bool is_index_key_of_database(Bytes key);

// Returns the layout of the records of a block with this content. Bytes that are not an entry are one failed record
// of one byte, up to the next restart point. `begin` is the block's position, for errors. Fails with kDamage if the
// content is not a block of entries, and with kLimit.
Result<Layout> layout_records(const RequestContext& context, Bytes content, Position begin, const Dialect& dialect,
                              const Limits& limits);

// Returns the records. Uses the memory of a large `content` for them, or frees it while they are written. Fails as
// layout_records() does, and with kOutOfMemory.
Result<std::shared_ptr<const Chunk>> decode_records(const RequestContext& context, Buffer content, Position begin,
                                                    const Dialect& dialect, const Limits& limits);

// The records of a block in which every entry is readable.
struct RecordsOfBlock {
  std::uint64_t count = 0;
  std::uint64_t size = 0;  // of all records, in bytes
};

// Returns nullopt if layout_records() would fail, or report an unreadable entry.
std::optional<RecordsOfBlock> measure_records(Bytes content, const Dialect& dialect, const Limits& limits);
// Writes the records to `out` and appends each to `records`. REQUIRES: out.size() is the size that measure_records()
// returned for the content.
void write_records(Bytes content, const Dialect& dialect, MutableBytes out, std::vector<Bytes>& records);

// The fields of a record.
struct Record {
  Bytes key;
  Bytes value;
};

// Returns nullopt for bytes that are not a record.
std::optional<Record> parse_record(Bytes record);

// Returns the size of a record whose key and value have these sizes.
std::uint64_t record_size(std::uint64_t key_size, std::uint64_t value_size);
// Returns what precedes the value in a record.
std::string record_front(Bytes key, std::uint64_t value_size);

// `has_database_keys`: whether keys are internal keys of a database; other keys are shown unchanged. Both fail with
// kDamage if the bytes are not a record. Any thread.
Result<Value> value_of(Bytes record, bool has_database_keys);
Result<KeyChangeKind> change_kind_of(Bytes record, bool has_database_keys);

}  // namespace recordfs::leveldb_table
