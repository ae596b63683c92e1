// DatabaseReader: reads the keys of an open database in order, reports its problems, and writes keys as lines of JSON.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/result.h"
#include "core/database/database.h"
#include "core/database/uncertain_keys.h"
#include "core/dataset/reporter.h"
#include "core/decoding/json_writer.h"
#include "core/output/text_output.h"

namespace recordfs {

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

// For one database. Not thread-safe.
class DatabaseReader {
 public:
  // `path` names the database in reports. `directory`: of the files that its problems name; empty: it is one file. The
  // other arguments must outlive the object.
  DatabaseReader(std::string path, std::string directory, std::unique_ptr<const database::Database> database,
                 Reporter& reporter, TextOutput& output);

  const database::Database& source() const { return *database_; }
  // Returns the name in reports.
  const std::string& path() const { return path_; }
  bool has_families() const { return has_families_; }

  // Returns the family with this name, or with this number if none has it as its name; if it is empty all, or the
  // default one or the only one, which is reported. Reports each whose comparator is unknown. Returns none after
  // reporting that there is none.
  std::vector<database::Family> families(const std::string& wanted, bool all_by_default) const;

  // Handles the key of an iterator. Returns false to stop.
  using TakeKey = std::function<bool(const database::Family& family, const database::KeyIterator& keys)>;
  // Calls `take` for each key of a range that has a value, in key order, one family after the other, until it stops or
  // the output fails. Fails if the keys cannot be read any further, after reporting why.
  Result<void> each_key(const std::vector<database::Family>& families, const database::KeyRange& range,
                        const database::Snapshot& at, const TakeKey& take);
  // Reports why keys cannot be read any further.
  void report_end(const Error& why) const { report(why.detail, impact_of_reading(why)); }
  // Reports why the value of a key cannot be read; those that recordfs does not support are counted, because there may
  // be many.
  void report_unreadable(const database::KeyIterator& keys, const Error& why);
  // Counts a key for finish(), as each_key() does.
  void count(const database::Version& version) { uncertain_.add(version); }
  // Returns the value of a key of each_key(). Reports why it cannot be read, as report_unreadable().
  Result<Slice> value_of(const database::KeyIterator& keys);
  // Flushes the output, and reports the problems, and what is uncertain of the keys of each_key().
  void finish();

  // Writes the line {"key":"a","value":"1","sequence":7,"operation":"put","size":1,"file":"000005.ldb"}, with
  // "column_family" if there are several, "error" instead of the value, "columns", and "timestamp", "stale" and
  // "unread" (unsupported or limit) if these apply. A large value is written in pieces.
  void write_json(const KeyLine& line);

  // Reports the problems that lose data, and files that end inside a record, which a crash leaves.
  void report_problems() const { report_problems(false); }
  // The same, but of the problems that lose data only those of CURRENT, the MANIFEST, and the database as a whole.
  void report_manifest() const { report_problems(true); }
  // Returns the name of the file that stores a version, which is "-" if that is standard input.
  std::string file_of(const database::Version& version) const { return is_pipe_ ? path_ : version.file; }
  // Reports "DB: WHAT".
  void report(const std::string& what, Impact impact) const;
  // Reports an error about the key.
  void report_failure(Bytes key, const Error& error) const;

 private:
  void report_order(const database::Family& family) const;
  void report_problems(bool only_manifest) const;
  void write_bytes(JsonWriter& json, std::string_view name, Bytes bytes, ByteForm form);
  void write_columns(JsonWriter& json, const KeyLine& line);
  void write_version(JsonWriter& json, const database::Version& version) const;

  const std::string path_;       // as given; of a set, perhaps the manifest
  const bool is_pipe_;           // standard input, or a pipe
  const std::string directory_;  // of the files that problems name; empty: it is one file
  const std::unique_ptr<const database::Database> database_;
  Reporter& reporter_;
  TextOutput& output_;
  const bool has_families_;
  UncertainKeys uncertain_;  // keys of each_key()
  std::string line_;         // reused for each line
};

// Returns the name of a family, or its number if it has none.
std::string name_of(const database::Family& family);
// Returns whether the value of such a version may be that of a wide-column entity.
bool may_have_columns(database::Operation operation);

}  // namespace recordfs
