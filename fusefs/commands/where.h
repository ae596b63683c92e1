// --where: commands that read only the records that a condition selects.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "core/decoding/record_decoder.h"
#include "core/search/record_condition.h"
#include "core/search/record_search.h"
#include "fusefs/commands/command_context.h"

namespace CLI {
class App;
}

namespace recordfs {

class SetReader;
struct SetMember;

// Declares --where in the present group. `condition` must outlive the parsing.
void declare_where(CLI::App& app, ConditionPointer& condition);

// Returns the condition for records of a container that `decoder` decodes. All must outlive the result.
SelectRecord selector(const RecordCondition& condition, const RecordDecoder& decoder, const SetMember& member);

// Selected records of a chunk, as runs of indices, in order.
using RecordRuns = std::vector<OrdinalInterval>;
struct SelectedRecords {
  RecordRuns runs{};
  std::vector<Error> failures{};  // of records that cannot be read, or that the condition cannot be evaluated for
};

// Returns which of some records of a decoded chunk a condition selects. `ends_at_failure`: only those before the first
// failure. Thread-safe.
SelectedRecords select_records(const RecordCondition& condition, const RecordDecoder& decoder, const SetMember& member,
                               const ChunkInfo& info, const Chunk& chunk, OrdinalInterval which, bool ends_at_failure);

// Finds the selected records of sets and containers, without writing them.
struct SelectedFinder {
  const ConditionPointer& condition;
  const UserTypes& types;
  bool skips_damage;  // otherwise ends at the first record that cannot be read
  CommandContext& context;

  // Call `take` with the ordinals in the set of each run of selected records, in order. Return false, or nullopt, if
  // reading had to stop, after printing why; otherwise the number of records before the place where reading ended.
  using TakeRun = std::function<void(OrdinalInterval ordinals)>;
  bool each(SetReader& reader, const TakeRun& take) const;
  std::optional<std::uint64_t> each(const SetMember& member, const Selection& selection, const TakeRun& take) const;
};

// The last selected records, in memory that depends on their number.
class LastSelected {
 public:
  // REQUIRES: most > 0.
  explicit LastSelected(std::uint64_t most) : most_(most) {}

  void add(OrdinalInterval ordinals);
  // Returns the ordinal of the first of the last `most`, or nullopt if there are fewer.
  std::optional<std::uint64_t> first() const;

 private:
  const std::uint64_t most_;
  std::uint64_t records_ = 0;  // in runs_
  std::deque<OrdinalInterval> runs_;
};

// Prints and notes how many records could not be decoded for an option, and what that means.
void report_undecoded(std::string_view option, const UndecodedRecords::Summary& undecoded, std::string_view outcome,
                      CommandContext& context);

// Prints and notes the doubts about the result of a condition: names that no record has, comparisons with values of
// another type, and records that cannot be decoded. `is_complete`: all records of the command were read; otherwise the
// others may have had the names. `condition` may be null.
void report_condition(const RecordCondition* condition, bool is_complete, CommandContext& context);

}  // namespace recordfs
