// recover_database: writes a new LevelDB database, or tables for RocksDB, with everything that can be read of a damaged
// one.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "core/base/result.h"
#include "core/formats/record_writer.h"
#include "fusefs/commands/command_context.h"
#include "fusefs/commands/database_reader.h"
#include "fusefs/commands/loss_report.h"

namespace recordfs {

struct RecoveredKeys {
  std::uint64_t keys = 0;   // written
  LossCount lost{};         // keys whose value cannot be read; there may be more in what is damaged
  std::uint64_t stale = 0;  // keys written with a value that may be stale
  // A log or MANIFEST ends inside a record, so newer writes of any key may be lost; such keys are not counted.
  bool any_may_be_stale = false;
};

// Writes the keys of `reader` to the files of a new database in `directory`, whose CURRENT comes last, and reads them
// again. Of RocksDB, each column family with keys becomes a table, FAMILY.sst. Lists in `report` the keys that were
// lost, those that may be stale, and the damage. Prints and notes why keys cannot be read. Fails if another reason than
// damage keeps keys from being read, and with kInterrupted if `goes_on` returns false.
Result<RecoveredKeys> recover_database(DatabaseReader& reader, CommandContext& context, const std::string& directory,
                                       LossReport& report, const std::function<bool()>& goes_on);

}  // namespace recordfs
