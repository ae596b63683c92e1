#include "core/recover/database_recovery.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/base/percent_encoding.h"
#include "core/base/storage.h"
#include "core/database/key_text.h"
#include "core/database/new_database.h"
#include "core/database/uncertain_keys.h"
#include "core/decoding/json_writer.h"
#include "core/hash/xxhash.h"
#include "core/output/output_file.h"
#include "core/verify/database_check.h"

namespace recordfs {
namespace {

Error interrupted() { return {.code = Code::kInterrupted, .detail = "interrupted"}; }

// A hash of keys and values in their order.
class KeyDigest {
 public:
  void add(Bytes key, Bytes value) {
    const std::uint64_t hashes[] = {xxh3(key), xxh3(value)};
    hasher_.append(std::as_bytes(std::span(hashes)));
    ++keys_;
  }
  std::uint64_t keys() const { return keys_; }
  std::uint64_t value() const { return hasher_.value(); }

 private:
  XxHasher hasher_{XxHashKind::k3};
  std::uint64_t keys_ = 0;
};

// The subject of a line of the report.
struct Lost {
  std::string path;
  std::optional<Bytes> key{};
  std::string family{};  // empty: the database has only one
  // Writes with higher sequence numbers may be lost; nullopt: any may be.
  std::optional<std::uint64_t> last_sequence{};
};

// Returns a line of JSON: file, family and key if there are any, class, the reason or the file with the key's value,
// and the sequence number if there is one.
std::string report_line(const Lost& lost, std::string_view word, std::string_view member, const std::string& text) {
  std::string line;
  JsonWriter json(line, JsonLayout::kLine);
  json.begin_object();
  json.path("file", lost.path);
  if (!lost.family.empty()) json.bytes("column_family", "column_family_base64", as_bytes(lost.family));
  if (lost.key) json.bytes("key", "key_base64", *lost.key);
  json.member("class", word);
  json.member(std::string(member), text);
  if (lost.last_sequence) json.member("last_sequence", *lost.last_sequence);
  json.end_object();
  return line += '\n';
}

Result<void> write_file(const std::string& directory, std::string_view name, std::string_view content) {
  Descriptor opened(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!opened) return system_error(errno);
  OutputFile file(std::move(opened), std::string(name), {});
  TRY(file.create());
  TRY(file.write(as_bytes(content)));
  return file.publish();
}

// Reads the keys of a new database or table, as of any. Returns their number and hash. Fails with kInterrupted if
// the reporter ends it.
Result<std::pair<std::uint64_t, std::uint64_t>> keys_of(const database::Database& found, Reporter& reporter) {
  const auto keys = found.keys(found.families().front().id, {});
  KeyDigest digest;
  for (;;) {
    ASSIGN_OR_RETURN(const auto has_key, keys->next({}));
    if (!has_key) return std::pair(digest.keys(), digest.value());
    if (!reporter.goes_on()) return interrupted();
    ASSIGN_OR_RETURN(const auto value, keys->value({}));
    digest.add(keys->key(), value.bytes);
  }
}

// Lists the damage of a database that may have cost keys, and the logs and the MANIFEST that end inside a record, and
// says so in `recovered`. Returns whether all problems are damage.
bool add_problems(const DamagedDatabase& source, RecoveryListener& listener, RecoveredKeys& recovered,
                  std::vector<std::string>& torn_files) {
  bool is_damage = true;
  for (const database::Problem& problem : source.database.problems()) {
    // The database opens with a torn end, but it may have cost writes.
    const bool is_unfinished = problem.error.code == Code::kUnfinished;
    if (!problem.loses_data && !is_unfinished) continue;
    recovered.lost.may_be_more = true;
    if (is_unfinished) torn_files.push_back(problem.file);
    is_damage = is_damage && (is_unfinished || impact_of(problem) == Impact::kDamage);
    const std::string path = (std::filesystem::path(source.path) / problem.file).string();
    listener.list(report_line({.path = path}, is_unfinished ? "unfinished" : "damage", "reason", reason_of(problem)));
  }
  return is_damage;
}

// Returns whether the only torn ends are that of the newest log.
bool is_only_newest_log_torn(const database::Database& database, const std::vector<std::string>& torn_files) {
  std::string newest;
  std::uint64_t number = 0;
  for (const database::File& file : database.files()) {
    if (file.kind != database::FileKind::kLog || file.state != database::File::State::kLive) continue;
    if (file.number >= number) newest = file.name;
    number = std::max(number, file.number);
  }
  return std::ranges::all_of(torn_files, [&](const std::string& name) { return name == newest; });
}

// Writes the keys of a database to files of a directory.
class DatabaseRecovery {
 public:
  DatabaseRecovery(const DamagedDatabase& source, const std::string& directory, RecoveryListener& listener,
                   Reporter& reporter)
      : source_(source), directory_(directory), listener_(listener), reporter_(reporter) {}

  Result<RecoveredKeys> run() {
    ASSIGN_OR_RETURN(const auto families, database::writable_families(source_.database));
    has_families_ = families.size() > 1;
    needs_tables_ = database::needs_tables(source_.database);
    for (const database::Family& family : families) TRY(write(family));
    listener_.end_of_keys();
    TRY(compare_checksums());
    for (const database::Problem& problem : source_.database.problems()) {
      if (problem.loses_data && problem.error.code == Code::kLimit) exceeds_limit_ = true;
    }
    const bool has_all = add_problems(source_, listener_, recovered_, torn_files_) && is_damage_;
    list_torn_ends(families);
    if (!has_all) {
      return Error{.code = Code::kUnsupported,
                   .detail = fmt::format("keys that are not lost cannot be read, so no database is written{}",
                                         exceeds_limit_ ? " (try: --max-chunk)" : "")};
    }
    if (needs_tables_ && written_.empty()) {
      return Error{.code = Code::kUnsupported,
                   .detail = "no key can be read, and RocksDB ingests no table without keys, so none is written"};
    }
    if (!needs_tables_) {
      ASSIGN_OR_RETURN(const auto manifest, database::new_manifest(families.front()));
      TRY(write_file(directory_, database::kNewManifest, manifest));
      TRY(write_file(directory_, "CURRENT", database::kNewCurrent));
    }
    TRY(check());
    return recovered_;
  }

 private:
  struct Written {
    std::string name;
    std::uint64_t keys = 0;
    std::uint64_t hash = 0;  // KeyDigest::value()
  };

  std::string name_of(const database::Family& family) const {
    constexpr std::size_t kMostOfName = 200;  // bytes
    if (!needs_tables_) return std::string(database::kNewLog);
    constexpr std::string_view kExtension = ".sst";
    std::string name = percent_encoded(family.name, "/");
    const bool is_usable = !name.empty() && !name.starts_with('.') && name.size() <= kMostOfName;
    if (!is_usable) name = fmt::format("family-{}", family.id);
    name += kExtension;
    while (std::ranges::find(written_, name, &Written::name) != written_.end()) {
      name.insert(name.size() - kExtension.size(), fmt::format("-{}", family.id));
    }
    return name;
  }

  // Writes the keys of a family. A family without keys has no table, because RocksDB ingests none without keys.
  Result<void> write(const database::Family& family) {
    Descriptor opened(::open(directory_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!opened) return system_error(errno);
    const std::string name = name_of(family);
    KeyDigest digest;
    OutputFile file(std::move(opened), name, {});
    TRY(file.create());
    std::unique_ptr<database::KeyWriter> keys = std::make_unique<database::NewLog>(file);
    if (needs_tables_) {
      ASSIGN_OR_RETURN(keys, database::open_new_table(file, family));
    }
    TRY(copy_keys(family, *keys, digest));
    TRY(keys->finish());
    if (needs_tables_ && digest.keys() == 0) return {};
    TRY(file.publish());
    recovered_.keys += digest.keys();
    written_.push_back({.name = name, .keys = digest.keys(), .hash = digest.value()});
    return {};
  }

  // Fails for other reasons than that the keys that follow cannot be read.
  Result<void> copy_keys(const database::Family& family, database::KeyWriter& writer, KeyDigest& digest) {
    const auto keys = source_.database.keys(family.id, {});
    for (;;) {
      const auto has_key = keys->next({});
      if (!has_key) {
        is_damage_ = false;
        listener_.report_end(has_key.error());
        return {};
      }
      if (!*has_key) return {};
      listener_.count(keys->version());
      if (!reporter_.goes_on()) return interrupted();
      TRY(add(family, *keys, writer, digest));
    }
  }

  Result<void> add(const database::Family& family, const database::KeyIterator& keys, database::KeyWriter& writer,
                   KeyDigest& digest) {
    const Lost lost{.path = source_.path, .key = keys.key(), .family = has_families_ ? family.name : std::string()};
    if (keys.version().unread) is_damage_ = false;
    if (keys.version().unread == Code::kLimit) exceeds_limit_ = true;
    const auto value = keys.value({});
    if (!value) {
      listener_.report_unreadable(keys, value.error());
      const Code code = value.error().code;
      if (!is_permanent(code)) return value.error();
      if (code == Code::kUnsupported || code == Code::kLimit) is_damage_ = false;
      if (code == Code::kLimit) exceeds_limit_ = true;
      ++recovered_.lost.records;
      listener_.list(report_line(lost, "damage", "reason", value.error().detail));
      return {};
    }
    using database::Operation;
    if (keys.version().operation == Operation::kPutEntity || keys.version().operation == Operation::kMerge) {
      ASSIGN_OR_RETURN(const auto columns, keys.columns({}));
      // The default column alone is the value.
      if (std::ranges::any_of(columns, [](const database::Column& column) { return !column.name.empty(); })) {
        return Error{.code = Code::kUnsupported,
                     .detail = fmt::format("key {}: recover does not write values with several columns",
                                           escaped_key(keys.key()))};
      }
    }
    if (keys.version().may_be_stale) {
      ++recovered_.stale;
      listener_.list(report_line(lost, "stale", "value_from", keys.version().file));
    }
    TRY(writer.add(keys.key(), value->bytes));
    digest.add(keys.key(), value->bytes);
    return {};
  }

  // Compares files with their checksums in the MANIFEST, which may be the only ones that they have.
  Result<void> compare_checksums() {
    std::vector<std::string> directories = source_.options.table_directories;
    directories.insert(directories.begin(), source_.path);
    for (const database::File& file : source_.database.files()) {
      if (file.state != database::File::State::kLive || !is_known(file.checksum)) continue;
      const auto has_file = [&](const std::string& path) {
        std::error_code failed;
        return std::filesystem::exists(std::filesystem::path(path) / file.name, failed);
      };
      const auto directory = std::ranges::find_if(directories, has_file);
      if (directory == directories.end()) continue;  // a problem, or removed by the database meanwhile
      const std::string path = (std::filesystem::path(*directory) / file.name).string();
      ASSIGN_OR_RETURN(const auto source, open_source({}, path));
      const auto finding = compare_checksum(*source, file.checksum, [this] { return reporter_.goes_on(); });
      if (!reporter_.goes_on()) return interrupted();
      if (!finding) continue;
      recovered_.lost.may_be_more = true;
      listener_.list(report_line({.path = path}, "damage", "reason", finding->reason));
      reporter_.fail(Impact::kDamage, fmt::format("{}: {}", path, finding->reason));
    }
    return {};
  }

  // The writes that torn ends may have cost are of unknown keys.
  void list_torn_ends(const std::vector<database::Family>& families) {
    if (torn_files_.empty()) return;
    recovered_.any_may_be_stale = true;
    Lost lost{.path = source_.path};
    if (is_only_newest_log_torn(source_.database, torn_files_)) {
      lost.last_sequence = source_.database.summary().last_sequence;
    }
    for (const database::Family& family : families) {
      if (has_families_) lost.family = family.name;
      listener_.list(report_line(lost, "stale", "reason", "newer writes of any key may be lost in a torn end"));
    }
  }

  Result<void> check() const {
    database::Options options = source_.options;
    options.log_key_bytes = UINT64_MAX;  // all keys of a new database are in its log
    options.wal_directory.clear();
    options.table_directories.clear();
    for (const Written& written : written_) {
      ASSIGN_OR_RETURN(const auto found, needs_tables_
                                             ? database::Database::open_files({}, directory_, {written.name}, options)
                                             : database::Database::open({}, directory_, options));
      ASSIGN_OR_RETURN(const auto digest, keys_of(*found, reporter_));
      const bool is_equal = digest.first == written.keys && digest.second == written.hash;
      if (is_equal && found->families().size() == 1 && found->problems().empty()) continue;
      return Error{.code = Code::kDamage, .detail = "the recovered database does not verify"};
    }
    return {};
  }

  const DamagedDatabase& source_;
  const std::string& directory_;
  RecoveryListener& listener_;
  Reporter& reporter_;
  bool needs_tables_ = false;
  bool has_families_ = false;  // several
  bool is_damage_ = true;      // the reason why keys cannot be read
  bool exceeds_limit_ = false;
  RecoveredKeys recovered_;
  std::vector<std::string> torn_files_;  // logs and the MANIFEST that end inside a record
  std::vector<Written> written_;
};

}  // namespace

Result<RecoveredKeys> recover_database(const DamagedDatabase& source, const std::string& directory,
                                       RecoveryListener& listener, Reporter& reporter) {
  return DatabaseRecovery(source, directory, listener, reporter).run();
}

}  // namespace recordfs
