// Passes the changes of a container to a KeyTable, in the order in which they take effect.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/store/key_table.h"
#include "core/store/scanner.h"

namespace recordfs {

class RecordStore;

// Holds the changes of transactions until they commit. Not thread-safe.
class TransactedChanges {
 public:
  // `most`: bytes of changes that may be held.
  TransactedChanges(KeyTable& table, std::size_t most) : table_(table), most_(most) {}

  // Takes the next change of a record, whose address is `record`. Fails with kLimit; the object is unusable then.
  Result<void> take(const KeyChange& change, std::uint64_t record);
  // Ends the record, and drops a section that it left open.
  void end_record();

 private:
  // A change with its own copy of the key.
  struct PendingChange {
    KeyChange change;
    std::string key;
    std::string end;
    std::uint64_t record = 0;
    std::size_t memory() const { return sizeof(PendingChange) + key.size() + end.size(); }
  };
  using Section = std::vector<PendingChange>;

  Result<void> hold(const KeyChange& change, std::uint64_t record);
  Result<void> prepare(const std::string& transaction);
  Section end_transaction(const std::string& transaction);
  Result<void> commit(const std::string& transaction);

  KeyTable& table_;
  const std::size_t most_;
  std::size_t held_bytes_ = 0;
  bool in_section_ = false;
  Section section_;
  std::map<std::string, Section> prepared_;
};

// Reads every record of the store, on the calling thread, and applies the changes to `table`. Unreadable records are
// logged and skipped. Fails with failures that may pass, and with kLimit.
Result<void> read_key_changes(const RecordStore& store, KeyTable& table, std::size_t prepared_bytes);

}  // namespace recordfs
