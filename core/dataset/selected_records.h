// Which records a condition selects.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <vector>

#include "core/dataset/reporter.h"
#include "core/dataset/set_member.h"
#include "core/decoding/record_decoder.h"
#include "core/search/record_condition.h"
#include "core/search/record_search.h"
#include "core/store/selection.h"

namespace recordfs {

class SetReader;

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

// Some records of a chunk. REQUIRES: the chunk has them.
struct ChunkRecords {
  ChunkInfo info;
  OrdinalInterval which;                         // indices
  std::optional<std::uint64_t> first_ordinal{};  // of the chunk; nullopt: not counted
  std::optional<RecordRuns> runs{};              // only these among `which`; nullopt: all
};

// Finds the selected records of sets and containers, without writing them.
struct SelectedFinder {
  const ConditionPointer& condition;
  const UserTypes& types;
  bool skips_damage;  // otherwise ends at the first record that cannot be read
  Reporter& reporter;

  // Call `take` with the ordinals in the set of each run of selected records, in order. Return false, or nullopt, if
  // reading had to stop, after reporting why; otherwise the number of records before the place where reading ended.
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

}  // namespace recordfs
