// What the commands on databases share: opening one, its column families and keys, its problems, and lines of JSON.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/result.h"
#include "core/database/database.h"
#include "core/database/uncertain_keys.h"
#include "core/decoding/json_writer.h"
#include "fusefs/commands/command_context.h"
#include "fusefs/commands/record_words.h"

namespace CLI {
class App;
}

namespace recordfs {

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
  RecordWords words;  // one file or a manifest
  DatabaseView view;

  // Declares the argument DB and the options on `app`. If the command has `keys`, these are the further arguments, at
  // least one. The arguments must outlive the parsing.
  void declare(CLI::App& app, std::vector<std::string>* keys = nullptr);
};

// A version of a key, as a line of JSON shows it.
struct KeyLine {
  Bytes key;
  const database::Family& family;
  const database::Version& version;
  std::optional<Bytes> value{};
  const Error* failure = nullptr;                          // why there is no value; null: it is not wanted
  const std::vector<database::Column>* columns = nullptr;  // null or empty: none
  bool ends_with_columns = false;                          // they follow the members of the version
  ByteForm form = ByteForm::kAuto;
  std::string_view database{};                         // path; empty: omitted
  std::function<void(JsonWriter&)> write_after_key{};  // members; may be empty
};

// An open database, and messages about it. Not thread-safe.
class DatabaseReader {
 public:
  // Opens a directory, one log, table or blob file, or the logs and tables of a data set. On failure prints an error,
  // notes it, and returns null. `context` must outlive the object.
  static std::unique_ptr<DatabaseReader> open(const RecordWords& words, CommandContext& context);

  const database::Database& source() const { return *database_; }
  // Returns the name in messages.
  const std::string& path() const { return path_; }
  bool has_families() const { return has_families_; }

  // Returns the family with this name, or with this number if none has it as its name; if it is empty all, or the
  // default one or the only one, which a message names. Prints a note for each whose comparator is unknown. Returns
  // none after printing that there is none, and noting it.
  std::vector<database::Family> families(const std::string& wanted, bool all_by_default) const;

  // Handles the key of an iterator. Returns false to stop.
  using TakeKey = std::function<bool(const database::Family& family, const database::KeyIterator& keys)>;
  // Calls `take` for each key of a range that has a value, in key order, one family after the other, until it stops or
  // the output fails. Fails if the keys cannot be read any further, after printing and noting why.
  Result<void> each_key(const std::vector<database::Family>& families, const database::KeyRange& range,
                        const database::Snapshot& at, const TakeKey& take);
  // Prints and notes why keys cannot be read any further.
  void report_end(const Error& why) const { print(why.detail, impact_of_reading(why)); }
  // Prints and notes why the value of a key cannot be read; those that recordfs does not support are counted, because
  // there may be many.
  void report_unreadable(const database::KeyIterator& keys, const Error& why);
  // Counts a key for finish(), as each_key() does.
  void count(const database::Version& version) { uncertain_.add(version); }
  // Returns the value of a key of each_key(). Reports why it cannot be read, as report_unreadable().
  Result<Slice> value_of(const database::KeyIterator& keys);
  // Flushes the output, and prints and notes the problems, and what is uncertain of the keys of each_key().
  void finish();

  // Writes the line {"key":"a","value":"1","sequence":7,"operation":"put","size":1,"file":"000005.ldb"}, with
  // "column_family" if there are several, "error" instead of the value, "columns", and "timestamp", "stale" and
  // "unread" (unsupported or limit) if these apply. A large value is written in pieces.
  void write_json(const KeyLine& line);

  // Prints the problems that lose data, and notes them. Prints files that end inside a record, which a crash leaves.
  void report_problems() const { report(false); }
  // The same, but of the problems that lose data only those of CURRENT, the MANIFEST, and the database as a whole.
  void report_manifest() const { report(true); }
  // Returns the name of the file that stores a version, which is "-" if that is standard input.
  std::string file_of(const database::Version& version) const { return is_pipe_ ? path_ : version.file; }
  // Prints "DB: WHAT", and notes the impact.
  void print(const std::string& what, Impact impact) const;
  // Prints an error about the key, and notes it.
  void print_failure(Bytes key, const Error& error) const;

 private:
  using Opened = Result<std::unique_ptr<const database::Database>>;
  static std::unique_ptr<DatabaseReader> made(const std::string& path, std::string directory, CommandContext& context,
                                              Opened opened);
  DatabaseReader(std::string path, std::string directory, CommandContext& context,
                 std::unique_ptr<const database::Database> database);

  void print_order(const database::Family& family) const;
  void report(bool only_manifest) const;
  void write_bytes(JsonWriter& json, std::string_view name, Bytes bytes, ByteForm form);
  void write_columns(JsonWriter& json, const KeyLine& line);
  void write_version(JsonWriter& json, const database::Version& version) const;

  const std::string path_;       // as given; of a set, perhaps the manifest
  const bool is_pipe_;           // standard input, or a pipe
  const std::string directory_;  // of the files that problems name; empty: it is one file
  CommandContext& context_;
  const std::unique_ptr<const database::Database> database_;
  const bool has_families_;
  UncertainKeys uncertain_;  // keys of each_key()
  std::string line_;         // reused for each line
};

// Returns the name of a family, or its number if it has none.
std::string name_of(const database::Family& family);
// Returns whether the value of such a version may be that of a wide-column entity.
bool may_have_columns(database::Operation operation);

}  // namespace recordfs
