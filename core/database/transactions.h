// The transactions of logs that have been prepared and have not ended.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/database/logged_writes.h"
#include "core/database/sequence_ranges.h"

namespace recordfs::database {

// One thread. Functions that keep something fail with kLimit if transactions need too much memory.
class Transactions {
 public:
  using Section = std::vector<LoggedWrites::Pending>;

  // Begins a section of a transaction, and drops one that has not ended. `sequence`: the number of its first write;
  // nullopt: its writes are numbered when the transaction commits.
  void begin_section(std::optional<std::uint64_t> sequence);
  // Drops a section that has not ended.
  void drop_section();
  bool in_section() const { return in_section_; }
  // Keeps a write of the section, which is numbered when the transaction commits. REQUIRES: in_section().
  Result<void> keep(LoggedWrites::Pending write);
  // Ends the section. `last_sequence`: the number of its last write, or nullopt as in begin_section().
  Result<void> prepare(const std::string& name, std::optional<std::uint64_t> last_sequence);

  // Returns whether a transaction has a section, and has not ended.
  bool has(const std::string& name) const { return prepared_.contains(name); }
  // Returns whether a transaction has not ended.
  bool has_any() const { return !prepared_.empty(); }
  // Ends a transaction. Returns the writes that were kept for it.
  Section end(const std::string& name);
  // Returns the numbers of the writes of the transactions that have not ended.
  SequenceRanges uncommitted() const;

 private:
  struct Transaction {
    Section writes;
    std::vector<SequenceRanges::Range> ranges;  // of writes that are numbered already
  };
  Result<void> account(std::uint64_t bytes);
  void release(std::uint64_t bytes);

  bool in_section_ = false;
  Section section_;
  std::uint64_t section_begin_ = 0;  // number of its first write
  std::map<std::string, Transaction> prepared_;
  std::uint64_t bytes_ = 0;
};

}  // namespace recordfs::database
