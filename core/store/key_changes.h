// Hands all changes of a container to a table of keys, each at the place where it counts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/store/key_table.h"
#include "core/store/scanner.h"

namespace recordfs {

class RecordStore;

// Holds back what transactions prepare until they commit. One object, one thread.
class TransactedChanges {
 public:
  // `most`: bytes of what is held back.
  TransactedChanges(KeyTable& table, std::size_t most) : table_(table), most_(most) {}

  // Takes the next change of a record. Fails with kLimit; nothing is to be taken after that.
  Result<void> take(const KeyChange& change, std::uint64_t record);
  // The record has ended: a section does not go on in the next.
  void end_record();

 private:
  // A change that does not need its record.
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

// Reads every record of the store and has `table` take what they change, until `is_over`. What can't be read is said in
// the log, and changes nothing. Fails with passing failures, kLimit, and kInterrupted.
Result<void> read_key_changes(const RecordStore& store, KeyTable& table, std::size_t prepared_bytes,
                              const std::function<bool()>& is_over);

}  // namespace recordfs
