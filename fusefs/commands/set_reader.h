// Reads a data set for a command: names and opens its shards, finds its records, and prints what fails.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/dataset/data_set.h"
#include "core/dataset/missing_shards.h"
#include "fusefs/commands/command_context.h"
#include "fusefs/commands/range.h"
#include "fusefs/commands/record_copier.h"
#include "fusefs/commands/record_words.h"

namespace recordfs {

// Names the shards of a data set. Prints what is missing or surplus, and notes it unless that is allowed. Returns
// nullopt if the command has to end: after printing why there is no shard, or if shards are missing or surplus that
// must not be.
std::optional<ShardList> name_shards(const RecordWords& words, CommandContext& context);

// Hints that a file is opened next, and that the first range is read: see expect_open(). Does nothing for several
// files.
void expect_first_range(const RecordWords& words, CommandContext& context);

// Returns the name of the data set in messages.
std::string set_name(const RecordWords& words);

// A shard of a data set, for a command that handles files one by one, or several missing ones.
struct NamedFile {
  std::string path;
  std::optional<MissingShards> missing{};
  bool is_surplus = false;       // exists, but the data set has fewer shards
  std::size_t bytes_in_set = 0;  // of the path: Shard::path_in_set()
};

// Returns the shards that a manifest names, unless that is empty, and then those that the words name, one data set a
// word, each with its surplus ones after it. Prints what is missing or surplus, and notes it.
std::vector<NamedFile> named_files(const std::string& manifest, const std::vector<std::string>& words,
                                   CommandContext& context);

// Finds the ordinal of the record at an address, which takes a scan. Fails as find() and ChunkIndex::place_of().
Result<Selection> select_at(const RecordAddress& address, const RecordStore& store);

// For one data set. Each function prints and notes what fails. Not thread-safe.
class SetReader {
 public:
  // Names the shards as above, and opens the only one, but no other. Returns null if the command has to end. `context`
  // must outlive the result.
  static std::unique_ptr<SetReader> open(const RecordWords& words, CommandContext& context);

  SetReader(std::string name, ShardList list, bool allows_missing, CommandContext& context);

  DataSet& set() { return set_; }
  bool has_one_shard() const { return set_.size() == 1; }
  // Returns the name of the data set in messages.
  const std::string& name() const { return name_; }

  // Opens a shard. nullopt if that fails.
  std::optional<SetMember> member(std::size_t shard, std::uint64_t first_ordinal);
  // Returns a shard that is open.
  SetMember member(std::size_t shard, std::shared_ptr<const RecordStore> store, std::uint64_t first_ordinal) const;
  // Opens a shard that is named in an address. nullopt if that fails, or if there is no such shard. The first ordinal
  // is 0, unless `is_counted`, which counts the records before it.
  std::optional<SetMember> member(const std::string& shard, bool is_counted = false);

  // Reads some records of a shard. Returns the number of records before the place where reading ended, or nullopt to
  // stop.
  using Take = std::function<std::optional<std::uint64_t>(const SetMember& member, const Selection& selection)>;
  // Calls `take` for each shard with records of the range, in order. Opens, one after another, only shards of the
  // range, and those that have to be counted to find it. Returns false if `take` stopped, or after a failure to open a
  // shard that may not be missing.
  bool each(const OrdinalRange& range, const Take& take);

  // Calls `take` with each range that was given, and then with those that standard input has, if they are read from
  // there, until it returns false. If none is given or read, calls it with that of all records.
  void each_range(const RecordWords& words, const std::function<bool(const Range& range)>& take);

  // Returns the shard of a record. nullopt if that fails, or if there are too few records.
  std::optional<RecordInShard> locate(const OrdinalRange& range);
  // Returns the number of records of all shards. nullopt if counting fails.
  std::optional<std::uint64_t> records();
  // Returns the number of the first shard that is not missing; the number of all if there is none.
  std::size_t first_present() const;
  // Lists the missing and the surplus shards, if there is a list of what is skipped.
  void list_left_out();
  // Print and note damage that counting found in headers, once: that before records with an ordinal of at least
  // `first`, or at the end; that outside of a range which decides what the range means, all that follows it if its
  // bounds count from the end, and that at the end of the data set if the range begins there. `read`: its ordinals.
  void report_damage(std::uint64_t first = 0);
  void report_damage_after(const OrdinalRange& range, const OrdinalInterval& read);
  // Prints and notes why select() failed. If a range begins after the last record, reports damage at the end too.
  void report_unselected(const std::string& path, const Error& error);

 private:
  bool each_of_several(const OrdinalRange& range, const Take& take);
  std::optional<OrdinalInterval> resolve(const OrdinalRange& range);
  bool report_unopened(std::size_t end);
  void print(std::size_t shard, const Error& error);
  void print_absent_files();
  void ask_about(std::size_t first);
  void print_uncounted(const Error& error);

  const std::string name_;
  const bool allows_missing_;
  CommandContext& context_;
  const std::vector<std::string> surplus_;  // paths
  DataSet set_;
  std::set<std::size_t> printed_;             // shards
  std::uint64_t reported_from_ = UINT64_MAX;  // damage from this ordinal on was reported
};

}  // namespace recordfs
