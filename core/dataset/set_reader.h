// Reads a data set in order: opens its shards, finds its records, and reports what fails.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/dataset/data_set.h"
#include "core/dataset/reporter.h"
#include "core/dataset/set_member.h"
#include "core/store/selection.h"

namespace recordfs {

// For one data set. Each function reports what fails. Not thread-safe.
class SetReader {
 public:
  // `reporter` must outlive the object, and so must what `open` and `counts` use.
  SetReader(std::string name, ShardList list, bool allows_missing, Reporter& reporter, OpenShard open,
            KnownCounts counts);
  // Of one container that is open, which is a data set only for functions that need one.
  SetReader(std::string path, std::shared_ptr<const RecordStore> store, bool allows_missing, Reporter& reporter);

  DataSet& set();
  bool has_one_shard() const { return only_ || set_->size() == 1; }
  // Returns whether shards that are missing, or cannot be opened, are left out.
  bool allows_missing() const { return allows_missing_; }
  // Returns the name of the data set in messages.
  const std::string& name() const { return name_; }
  // Returns the paths of surplus shards.
  const std::vector<std::string>& surplus() const { return surplus_; }

  // Reports why files that are named one by one cannot be opened, whichever of them a range needs.
  void report_absent_files();

  // Opens a shard. nullopt if that fails.
  std::optional<SetMember> member(std::size_t shard, std::uint64_t first_ordinal);
  // Returns a shard that is open.
  SetMember member(std::size_t shard, std::shared_ptr<const RecordStore> store, std::uint64_t first_ordinal) const;
  // Opens a shard that is named in an address. nullopt if that fails, or if there is no such shard. The first ordinal
  // is 0, unless `is_counted`, which counts the records before it.
  std::optional<SetMember> member(const std::string& shard, bool is_counted = false);

  // Finds the record at an address, and its ordinal in the set, which counts the records before it. nullopt if that
  // fails.
  std::optional<std::pair<SetMember, Selection>> find_record(const RecordAddress& address);

  // Reads some records of a shard. Returns the number of records before the place where reading ended, or nullopt to
  // stop.
  using Take = std::function<std::optional<std::uint64_t>(const SetMember& member, const Selection& selection)>;
  // Calls `take` for each shard with records of the range, in order. Opens, one after another, only shards of the
  // range, and those that have to be counted to find it. Returns false if `take` stopped, or after a failure to open a
  // shard that may not be missing.
  bool each(const OrdinalRange& range, const Take& take);

  // Returns the shard of a record. nullopt if that fails, or if there are too few records.
  std::optional<RecordInShard> locate(const OrdinalRange& range);
  // Returns the number of records of all shards. nullopt if counting fails.
  std::optional<std::uint64_t> records();
  // Returns the number of the first shard that is not missing; the number of all if there is none.
  std::size_t first_present();
  // Report damage that counting found in headers, once: that before records with an ordinal of at least
  // `first`, or at the end; that outside of a range which decides what the range means, all that follows it if its
  // bounds count from the end, and that at the end of the data set if the range begins there. `read`: its ordinals.
  void report_damage(std::uint64_t first = 0);
  void report_damage_after(const OrdinalRange& range, const OrdinalInterval& read);
  // Reports why select() failed. If a range begins after the last record, reports damage at the end too.
  void report_unselected(const std::string& path, const Error& error);

 private:
  bool each_of_several(const OrdinalRange& range, const Take& take);
  std::optional<OrdinalInterval> resolve(const OrdinalRange& range);
  bool report_unopened(std::size_t end);
  void report_damage_before(std::size_t shard);
  void report(std::size_t shard, const Error& error);
  void ask_about(std::size_t first);
  void report_uncounted(const Error& error);

  const std::string name_;
  const bool allows_missing_;
  Reporter& reporter_;
  const std::vector<std::string> surplus_;         // paths
  const std::shared_ptr<const RecordStore> only_;  // the container; null: set_ has been made
  std::optional<DataSet> set_;
  std::set<std::size_t> reported_;            // shards
  std::size_t reported_before_ = 0;           // damage of shards before this one was reported
  std::uint64_t reported_from_ = UINT64_MAX;  // damage from this ordinal on was reported
};

}  // namespace recordfs
