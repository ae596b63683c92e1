// What `recover` does with the directory of a database.
#pragma once

#include <string>
#include <vector>

#include "core/base/result.h"
#include "fusefs/commands/command_context.h"

namespace recordfs {

struct RecoverOptions {
  ReadingOptions reading;
  std::vector<std::string> files;
  std::string manifest;
  std::string output;  // a file, or a directory
  std::string report;  // a file; empty: none
  bool replaces = false;
  bool links = false;              // files that lost nothing
  bool skips_unsupported = false;  // takes for lost what cannot be decoded here
};

// Returns what is printed if an output cannot be written.
std::string failure_text(const std::string& path, const Error& error);

// Recovers the directory of a database to a new directory. Returns the exit status.
int recover_database_directory(const RecoverOptions& options);

}  // namespace recordfs
