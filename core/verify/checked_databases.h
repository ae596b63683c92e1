// What `verify` knows of databases when it verifies their files one by one.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/base/source.h"
#include "core/database/database.h"
#include "core/verify/verification.h"

namespace recordfs {

using FindingsByPath = std::map<std::string, std::vector<Finding>>;

// Not thread-safe, but const functions may run concurrently with each other.
class CheckedDatabases {
 public:
  // `threads`: how many tables are opened at a time.
  CheckedDatabases(database::Options options, unsigned threads) : options_(std::move(options)), threads_(threads) {}

  // Checks the database in a directory as a whole: finds files that are missing, surplus, or of another size than the
  // MANIFEST says, damage of CURRENT, MANIFEST and logs, tables that cannot be opened, and values that cannot be read
  // from blob files. Reads no blocks of tables unless there are blob files. Returns the paths of its files that can be
  // verified one by one. Fails like Database::open() and KeyIterator::next().
  Result<std::vector<std::string>> check(const std::string& directory);

  // Returns a file of the state of a database; null for others.
  const database::File* live_file(const std::string& path) const;
  bool is_live_table(const std::string& path) const;

  // Adds to the verdict of a file that was read that its checksum is not that of the MANIFEST. If it is, all records
  // have a checksum. Stops if `goes_on` returns false.
  void check_file(const std::string& path, const Source& source, const std::function<bool()>& goes_on,
                  Verdict& verdict) const;
  // Adds to the outcome of a file what the check of its database found. Damage of the file is damage of the database.
  void complete(Outcome& outcome);
  // Forgets what was found about a file that was removed since.
  void forget(const std::string& path) { findings_.erase(path); }
  // Passes on the findings about missing files, files that are no containers, and databases as a whole. Stops if
  // `goes_on` returns false.
  void each_left(const std::function<void(const Outcome& outcome)>& take, const std::function<bool()>& goes_on);

 private:
  void add_findings(Outcome& outcome);
  void drop_end_of_log(Outcome& outcome) const;

  const database::Options options_;
  const unsigned threads_;
  std::map<std::string, database::File> live_;  // by path
  // By path: where records of an older log, or parts of them, may follow the last record.
  std::map<std::string, Position> ends_of_logs_;
  FindingsByPath findings_;                 // those of a database as a whole have the path of its directory
  std::map<std::string, bool> is_damaged_;  // by the directory of a database
};

}  // namespace recordfs
