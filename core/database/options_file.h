// RocksDB's file OPTIONS-000007: what it says of a database that the MANIFEST and the tables may not say.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "core/base/request_context.h"
#include "core/base/result.h"
#include "core/base/source.h"

namespace recordfs::database {

// What RocksDB does with damage in its logs (wal_recovery_mode).
enum class RecoveryMode : std::uint8_t {
  kPointInTime,   // reads up to the damage; the default, also of unknown modes
  kTolerateTail,  // refuses damage, except that logs may end inside a record
  kAbsolute,      // refuses damage
  kSkipDamage,    // reads all other records
};

struct OptionsFile {
  struct OfFamily {
    std::string comparator;           // its name; empty: not stated
    bool persists_timestamps = true;  // whether tables have the user-defined timestamps of keys
    std::string merge_operator;       // as written: a name, or "{id=NAME;...}"; empty: none, or not stated
  };
  // Whether the version that wrote the file adds the delimiter of a merge operator to its name, unless it is empty.
  bool writes_delimiters = false;
  RecoveryMode recovery_mode = RecoveryMode::kPointInTime;
  // Whether opening the database may continue its MANIFEST in place of writing another; nullopt: there is no file.
  std::optional<bool> reuses_manifest{};
  std::string wal_directory;  // of the write-ahead logs, as written; empty: the database's own
  std::map<std::string, OfFamily, std::less<>> families;  // by name

  // Returns the family with this name; null if the file does not describe it.
  const OfFamily* family(std::string_view name) const;
  // Returns the name of the comparator of all families but `others`; empty if they have several, or none is stated.
  std::string only_comparator(const std::set<std::string>& others) const;
};

// Returns the number in the name of such a file; nullopt for other names. Any thread.
std::optional<std::uint64_t> options_file_number(std::string_view name);

// Parses the text of such a file. Lines that are not an option are ignored. Any thread.
OptionsFile parse_options(std::string_view text);

// Reads such a file. Fails with kLimit if it is larger than 16 MiB, and as Source.
Result<OptionsFile> read_options(const RequestContext& context, const Source& source);

}  // namespace recordfs::database
