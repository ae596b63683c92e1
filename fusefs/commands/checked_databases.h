// What `verify` knows of databases when it verifies their files one by one.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/base/source.h"
#include "core/database/database.h"
#include "fusefs/commands/database_check.h"
#include "fusefs/commands/verification.h"

namespace recordfs {

// Not thread-safe, but const functions may run concurrently with each other.
class CheckedDatabases {
 public:
  explicit CheckedDatabases(database::Options options) : options_(std::move(options)) {}

  // Checks the database in a directory as a whole. Returns the paths of its files. Fails like Database::open().
  Result<std::vector<std::string>> check(const std::string& directory);

  // Returns a file of the state of a database; null for others.
  const database::File* live_file(const std::string& path) const;
  bool is_live_table(const std::string& path) const;

  // Adds to the outcome of a file what the check of its database found. Damage of the file is damage of the database.
  void complete(Outcome& outcome);
  // Forgets what was found about a file that was removed since.
  void forget(const std::string& path) { findings_.erase(path); }
  // Passes on the findings about missing files, files that are no containers, and databases as a whole. Stops after a
  // signal (Interruption).
  void each_left(const std::function<void(const Outcome& outcome)>& take);

 private:
  void add_findings(Outcome& outcome);
  void drop_end_of_log(Outcome& outcome) const;

  const database::Options options_;
  std::deque<DatabaseCheck> checks_;
  std::map<std::string, const database::File*> live_;  // by path; in checks_
  std::map<std::string, Position> ends_of_logs_;       // by path
  DatabaseFindings findings_;                          // by path
  std::map<std::string, bool> is_damaged_;             // by the directory of a database
};

}  // namespace recordfs
