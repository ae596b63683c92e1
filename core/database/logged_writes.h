// The writes of a database's live logs, sorted by key: what the database itself would have in memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/database/directory.h"
#include "core/database/log_records.h"
#include "core/database/loss.h"
#include "core/database/range_deletions.h"
#include "core/database/sequence_ranges.h"

namespace recordfs::database {

// A write in a log.
struct LoggedWrite {
  std::uint64_t tag = 0;  // sequence << 8 | type, as in tables
  std::uint64_t key_begin = 0;
  std::uint64_t value = 0;  // where the value is; see LoggedWrites::value()
  std::uint64_t value_size = 0;
  std::uint32_t key_size = 0;
  std::uint32_t log = 0;  // index of its log
  bool is_value_in_memory = true;
};

// Immutable after finish(), then readable from any thread.
class LoggedWrites {
 public:
  struct Bounds {
    std::uint64_t value_bytes = 0;  // of values in memory
    std::uint64_t key_bytes = 0;    // of keys, and of both ends of deleted ranges
  };
  explicit LoggedWrites(Bounds bounds) : bounds_(bounds) {}

  // Adds a log, in whose records the next writes are. Returns its index.
  std::uint32_t add_log(std::string name);
  // A write with its own copy of the key. Its value is in memory, or will be read again from `place`.
  struct Pending {
    std::uint32_t family = 0;
    std::uint8_t type = 0;
    std::uint32_t log = 0;
    bool is_wanted = true;  // if not, only its number counts
    std::string key{};
    std::string value{};  // if it is in memory
    bool is_value_in_memory = true;
    RecordPlace place{};
    std::uint64_t value_begin = 0;  // in the record
    std::uint64_t value_size = 0;
  };
  // Fails with kLimit.
  Result<void> add(std::uint64_t sequence, const Pending& write);
  // Counts writes that are not wanted.
  void add_unwanted(std::uint32_t family, std::uint64_t count) {
    families_[family];
    count_ += count;
  }
  // Returns whether a value of this size may be kept in memory.
  bool has_room_for(std::uint64_t value_size) const { return value_size <= bounds_.value_bytes - values_.size(); }
  // Sorts the writes, and drops those with the numbers of `hidden`. `order_of(family)` is a family's order.
  template <class OrderOf>
  void finish(const OrderOf& order_of, const SequenceRanges& hidden) {
    for (auto& [family, of] : families_) sort(of, order_of(family), hidden);
  }

  std::uint64_t count() const { return count_; }
  std::vector<std::uint32_t> families() const;
  // Returns the writes of a family by key, newest first for each.
  std::span<const LoggedWrite> of_family(std::uint32_t family) const;
  const RangeDeletions& range_deletions(std::uint32_t family) const;
  // Returns the index of the first write that is not before a key and a tag.
  std::size_t find(std::uint32_t family, const KeyOrder& order, Bytes wanted, std::uint64_t tag) const;

  Bytes key(const LoggedWrite& write) const { return as_bytes(keys_).subspan(write.key_begin, write.key_size); }
  // Returns the value if it is in memory, and otherwise no bytes. Valid as long as this.
  Bytes value_in_memory(const LoggedWrite& write) const {
    return write.is_value_in_memory ? as_bytes(values_).subspan(write.value, write.value_size) : Bytes();
  }
  // Returns the value. Without an owner if it is in memory: valid as long as this. Fails with kChanged if the log is
  // not what it was, and as read_record().
  Result<Slice> value(const RequestContext& context, OpenFiles& files, const LoggedWrite& write,
                      const Limits& limits) const;
  const std::string& log_name(const LoggedWrite& write) const { return logs_[write.log]; }

 private:
  struct ValuePlace {
    RecordPlace record;
    std::uint64_t begin = 0;
  };
  struct OfFamily {
    std::vector<LoggedWrite> writes;
    RangeDeletions range_deletions;
  };
  void sort(OfFamily& of, const KeyOrder& order, const SequenceRanges& hidden) const;

  const Bounds bounds_;
  std::vector<std::string> logs_;
  std::string keys_, values_;
  std::vector<ValuePlace> places_;
  std::map<std::uint32_t, OfFamily> families_;
  std::uint64_t count_ = 0;
  std::uint64_t used_ = 0;  // of bounds_.key_bytes
};

}  // namespace recordfs::database
