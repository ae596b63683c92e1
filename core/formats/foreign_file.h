// Recognizes files and directories of databases that recordfs does not read.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/base/source.h"

namespace recordfs {

struct ForeignFile {
  std::string_view what;  // "plain table of RocksDB", ...
  std::string_view hint;  // the command that reads it; "FILE" stands for the file's name

  // Returns "plain table of RocksDB, which recordfs does not read (try: ...)".
  std::string text() const;
};

// Returns nullopt if the first and the last bytes are not those of such a file. Fails as Source does. Any thread.
Result<std::optional<ForeignFile>> recognize_foreign_file(const RequestContext& context, const Source& source);

// Returns "backup directory of RocksDB's BackupEngine (try: ...)", or that the directory is a part of one; nullopt for
// another directory, and if it cannot be read. Any thread.
std::optional<std::string> recognize_backup(const std::string& directory);

}  // namespace recordfs
