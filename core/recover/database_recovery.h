// recover_database: writes a new LevelDB database, or tables for RocksDB, with everything that can be read of a damaged
// one.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/impact.h"
#include "core/base/limits.h"
#include "core/base/result.h"
#include "core/database/database.h"
#include "core/dataset/reporter.h"
#include "core/store/record_store.h"

namespace recordfs {

// What a recovery of a database tells its caller, on the thread of the caller.
class RecoveryListener {
 public:
  virtual ~RecoveryListener() = default;
  // A loss, as a line of JSON: file, column_family and key if there are any, class, and the reason or the file with the
  // key's value.
  virtual void list(std::string_view line) = 0;
  virtual void count(const database::Version& version) = 0;
  // Why the keys that follow cannot be read, and why the value of a key cannot.
  virtual void report_end(const Error& why) = 0;
  virtual void report_unreadable(const database::KeyIterator& key, const Error& why) = 0;
  virtual void end_of_keys() = 0;
};

struct RecoveredKeys {
  std::uint64_t keys = 0;   // written
  LossCount lost{};         // keys whose value cannot be read; there may be more in what is damaged
  std::uint64_t stale = 0;  // keys written with a value that may be stale
  // A log or MANIFEST ends inside a record, so newer writes of any key may be lost; such keys are not counted,
  // and have one line of the list for each family instead of one for each key.
  bool any_may_be_stale = false;
};

// A database that is recovered. All must outlive the recovery.
struct DamagedDatabase {
  const database::Database& database;
  const std::string& path;  // of its directory
  const database::Options& options;
};

// Writes the keys of a database to the files of a new one in `directory`, whose CURRENT comes last, and reads them
// again. Of RocksDB, each column family with keys becomes a table, FAMILY.sst. Lists the keys that were lost, those
// that may be stale, and the damage, and reports the damage of files. Fails if another reason than damage keeps keys
// from being read, and with kInterrupted if the reporter ends it.
Result<RecoveredKeys> recover_database(const DamagedDatabase& source, const std::string& directory,
                                       RecoveryListener& listener, Reporter& reporter);

}  // namespace recordfs
