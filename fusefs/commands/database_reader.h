// What the commands on databases share: opening one, its column families, its problems, and keys as lines of JSON.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/result.h"
#include "core/database/database.h"
#include "core/decoding/json_writer.h"
#include "fusefs/commands/command_context.h"

namespace CLI {
class App;
}

namespace recordfs {

struct RecordWords;

// Returns whether `path` is a directory with a LevelDB or RocksDB database. False if it cannot be read.
bool is_database_directory(const std::string& path);

// The options that choose a state and a part of a database.
struct DatabaseView {
  std::string family{};  // by name or number; empty: the default one, or all of them
  database::Snapshot at{};

  // Declares the options on `app`. `without`: which families are read without --column-family, for the help. The object
  // must outlive the parsing.
  void declare(CLI::App& app, const std::string& without = "default");

  // Returns whether one of the options was given.
  bool is_given() const {
    return !family.empty() || at.sequence != database::kNewest || at.timestamp != database::kNewest;
  }
};

// The arguments that choose a database, and what of it is read.
struct DatabaseOptions {
  std::string path;      // empty: `manifest` names the files
  std::string manifest;  // empty: `path` names them
  DatabaseView view;

  // Declares the argument DB and the options on `app`. If the command has `keys`, these are the further arguments, at
  // least one. The arguments must outlive the parsing.
  void declare(CLI::App& app, std::vector<std::string>* keys = nullptr);

  // Returns the name in messages.
  const std::string& name() const { return manifest.empty() ? path : manifest; }
};

// An open database, and messages about it. Not thread-safe.
class DatabaseReader {
 public:
  // Opens a directory, one log, table or blob file, or the set of them that a pattern names. On failure prints an
  // error, notes it, and returns null. The arguments must outlive the object.
  static std::unique_ptr<DatabaseReader> open(const std::string& path, CommandContext& context);
  static std::unique_ptr<DatabaseReader> open(const DatabaseOptions& options, CommandContext& context);
  // Opens a directory or one file, or the logs and tables of a data set.
  static std::unique_ptr<DatabaseReader> open(const RecordWords& words, CommandContext& context);

  const database::Database& source() const { return *database_; }
  // Returns the name in messages.
  const std::string& path() const { return path_; }
  bool has_families() const { return has_families_; }

  // Returns the family with this name, or with this number if none has it as its name; if it is empty the default
  // family, or the only one, which a message names. Calls print_order(). Fails with kNotFound.
  Result<database::Family> family(const std::string& wanted) const;

  // Returns the family with this name, or all if it is empty. Otherwise like family().
  Result<std::vector<database::Family>> families(const std::string& name) const;

  // Prints a note if the family's comparator is unknown.
  void print_order(const database::Family& family) const;
  // Prints the problems that lose data, and notes them.
  void report_problems() const;
  // The same, but only that there is no usable MANIFEST.
  void report_lost_manifest() const;
  // Returns "DB/000005.ldb: checksum mismatch".
  std::string text_of(const database::Problem& problem) const;
  // Returns the name of the file that stores a version, which is "-" if that is standard input.
  std::string file_of(const database::Version& version) const;
  // Appends the members of a version without braces: "sequence":7,"operation":"put","size":5,"file":"000005.ldb",
  // "timestamp":20, "stale":true and "unread":"unsupported" or "limit" if these apply.
  void append_json_members(std::string& json, const database::Version& version) const;
  // Prints "DB: WHAT", and notes the status.
  void print(const std::string& what, int status) const;
  // Prints why the database cannot be read any further, and notes it.
  void print_failure(const Error& error) const;
  // Prints an error about the key, and notes it.
  void print_failure(Bytes key, const Error& error) const;

 private:
  database::Family only_family(const database::Family& family) const;
  void report(bool only_manifest) const;
  using Opened = Result<std::unique_ptr<const database::Database>>;
  static std::unique_ptr<DatabaseReader> open_set(const RecordWords& words, CommandContext& context);
  static std::unique_ptr<DatabaseReader> made(const std::string& path, std::string directory, CommandContext& context,
                                              Opened opened);
  DatabaseReader(std::string path, std::string directory, CommandContext& context,
                 std::unique_ptr<const database::Database> database);

  const std::string path_;       // as given; of a set, perhaps the manifest
  const bool is_pipe_;           // standard input, or a pipe
  const std::string directory_;  // of the files that problems name; empty: it is one file
  CommandContext& context_;
  const std::unique_ptr<const database::Database> database_;
  const bool has_families_;
};

// Returns what is wrong, with the position in the file if it has one, but without the file.
std::string reason_of(const database::Problem& problem);
// Returns the exit status for a problem.
int status_of(const database::Problem& problem);
// Returns the exit status for a failure to read an open database: kExitTryAgain if the database replaces its files
// faster than they can be read, kExitDamage for damage, otherwise as CommandContext::status_of().
int status_of_reading(const Error& error);
// Returns the exit status if opening a database, or one of its files, fails: the same, but kExitCannotOpen for kIo.
int status_of_opening(const Error& error);

// Counts keys whose value is uncertain, for messages at the end. Not thread-safe.
struct UncertainKeys {
  std::uint64_t keys = 0, stale = 0;
  std::map<Code, std::uint64_t> unread{};                             // by Version::unread
  std::map<std::string, std::uint64_t, std::less<>> without_value{};  // by the reason

  void add(const database::Version& version);
  // Counts a value that is unreadable because recordfs does not support what it needs. Returns false, and does not
  // count it, if that is not the reason.
  bool add_unreadable(const database::Version& version, const Error& error);
  // Returns how many of the keys may be stale, and what that means. REQUIRES: stale > 0.
  std::string stale_text() const;
  // Prints a line for each kind of keys that was added.
  void print(const DatabaseReader& reader) const;
};

// Returns the name of a family, or its number if it has none.
std::string name_of(const database::Family& family);
// Returns whether the value of such a version may be that of a wide-column entity.
bool may_have_columns(database::Operation operation);
// Passes a member of an object to `write`, in pieces: "columns":[{"name":"","value":"1"},...]. Names and values that
// are not UTF-8 are in `name_base64` and `value_base64`.
void write_json_columns(const std::vector<database::Column>& columns,
                        const std::function<void(std::string_view piece)>& write, ByteForm form = ByteForm::kAuto);

// Appends the begin of a line of JSON for a key: an open brace, the key, the family if it is not null.
void append_json_key_head(std::string& json, Bytes key, const database::Family* family,
                          ByteForm form = ByteForm::kAuto);

}  // namespace recordfs
