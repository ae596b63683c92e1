#include "fusefs/commands/database_recovery.h"

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

#include "core/database/new_database.h"
#include "core/decoding/json_writer.h"
#include "core/hash/xxhash.h"
#include "core/output/output_file.h"
#include "core/verify/database_check.h"
#include "fusefs/exit_status.h"
#include "fusefs/tree/names.h"

namespace recordfs {
namespace {

constexpr std::uint64_t kManifestMemory = 16u << 20;  // bytes of decoded chunks

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
};

// Returns a line of JSON: file, family and key if there are any, class, and the reason or the file with the key's
// value.
std::string report_line(const Lost& lost, std::string_view word, std::string_view member, const std::string& text) {
  std::string line;
  JsonWriter json(line, JsonLayout::kLine);
  json.begin_object();
  json.path("file", lost.path);
  if (!lost.family.empty()) json.bytes("column_family", "column_family_base64", as_bytes(lost.family));
  if (lost.key) json.bytes("key", "key_base64", *lost.key);
  json.member("class", word);
  json.member(std::string(member), text);
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
// `goes_on` returns false.
Result<std::pair<std::uint64_t, std::uint64_t>> keys_of(const database::Database& found,
                                                        const std::function<bool()>& goes_on) {
  const auto keys = found.keys(found.families().front().id, {});
  KeyDigest digest;
  for (;;) {
    ASSIGN_OR_RETURN(const auto has_key, keys->next({}));
    if (!has_key) return std::pair(digest.keys(), digest.value());
    if (!goes_on()) return interrupted();
    ASSIGN_OR_RETURN(const auto value, keys->value({}));
    digest.add(keys->key(), value.bytes);
  }
}

// Lists the damage of a database that may have cost keys, and says so in `recovered`. Returns whether all problems are
// damage.
bool add_problems(const DatabaseReader& reader, LossReport& report, RecoveredKeys& recovered) {
  bool is_damage = true;
  for (const database::Problem& problem : reader.source().problems()) {
    // The database opens with a torn end, but it may have cost writes.
    const bool is_unfinished = problem.error.code == Code::kUnfinished;
    if (!problem.loses_data && !is_unfinished) continue;
    recovered.lost.may_be_more = true;
    recovered.any_may_be_stale = recovered.any_may_be_stale || is_unfinished;
    is_damage = is_damage && (is_unfinished || impact_of(problem) == Impact::kDamage);
    const std::string path = (std::filesystem::path(reader.path()) / problem.file).string();
    report.write(report_line({.path = path}, is_unfinished ? "unfinished" : "damage", "reason", reason_of(problem)));
  }
  return is_damage;
}

// Writes the keys of a database to files of a directory.
class DatabaseRecovery {
 public:
  DatabaseRecovery(DatabaseReader& reader, CommandContext& context, const std::string& directory, LossReport& report,
                   const std::function<bool()>& goes_on)
      : reader_(reader), context_(context), directory_(directory), report_(report), goes_on_(goes_on) {}

  Result<RecoveredKeys> run() {
    ASSIGN_OR_RETURN(const auto families, database::writable_families(reader_.source()));
    has_families_ = families.size() > 1;
    needs_tables_ = database::needs_tables(reader_.source());
    for (const database::Family& family : families) TRY(write(family));
    reader_.finish();
    TRY(compare_checksums());
    find_torn_manifest();
    for (const database::Problem& problem : reader_.source().problems()) {
      if (problem.loses_data && problem.error.code == Code::kLimit) exceeds_limit_ = true;
    }
    const bool has_all = add_problems(reader_, report_, recovered_) && is_damage_;
    if (!has_all) {
      return Error{.code = Code::kUnsupported,
                   .detail = fmt::format("keys that are not lost cannot be read, so no database is written{}",
                                         exceeds_limit_ ? " (try: --max-chunk)" : "")};
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
    Result<void> outcome;
    const auto read =
        reader_.each_key({family}, {}, {}, [&](const database::Family&, const database::KeyIterator& found) {
          outcome = goes_on_() ? add(family, found, *keys, digest) : interrupted();
          return outcome.has_value();
        });
    TRY(outcome);
    is_damage_ = is_damage_ && read.has_value();
    TRY(keys->finish());
    if (needs_tables_ && digest.keys() == 0) return {};
    TRY(file.publish());
    recovered_.keys += digest.keys();
    written_.push_back({.name = name, .keys = digest.keys(), .hash = digest.value()});
    return {};
  }

  Result<void> add(const database::Family& family, const database::KeyIterator& keys, database::KeyWriter& writer,
                   KeyDigest& digest) {
    const Lost lost{.path = reader_.path(), .key = keys.key(), .family = has_families_ ? family.name : std::string()};
    if (keys.version().unread) is_damage_ = false;
    if (keys.version().unread == Code::kLimit) exceeds_limit_ = true;
    const auto value = reader_.value_of(keys);
    if (!value) {
      const Code code = value.error().code;
      if (!is_permanent(code)) return value.error();
      if (code == Code::kUnsupported || code == Code::kLimit) is_damage_ = false;
      if (code == Code::kLimit) exceeds_limit_ = true;
      ++recovered_.lost.records;
      report_.write(report_line(lost, "damage", "reason", value.error().detail));
      return {};
    }
    using database::Operation;
    if (keys.version().operation == Operation::kPutEntity || keys.version().operation == Operation::kMerge) {
      ASSIGN_OR_RETURN(const auto columns, keys.columns({}));
      if (!columns.empty()) {
        return Error{.code = Code::kUnsupported, .detail = "recover does not write values with several columns"};
      }
    }
    if (keys.version().may_be_stale) {
      ++recovered_.stale;
      report_.write(report_line(lost, "stale", "value_from", keys.version().file));
    }
    TRY(writer.add(keys.key(), value->bytes));
    digest.add(keys.key(), value->bytes);
    return {};
  }

  // Compares files with their checksums in the MANIFEST, which may be the only ones that they have.
  Result<void> compare_checksums() {
    std::vector<std::string> directories = context_.database_options().table_directories;
    directories.insert(directories.begin(), reader_.path());
    for (const database::File& file : reader_.source().files()) {
      if (file.state != database::File::State::kLive || !is_known(file.checksum)) continue;
      const auto has_file = [&](const std::string& path) {
        std::error_code failed;
        return std::filesystem::exists(std::filesystem::path(path) / file.name, failed);
      };
      const auto directory = std::ranges::find_if(directories, has_file);
      if (directory == directories.end()) continue;  // a problem, or removed by the database meanwhile
      const std::string path = (std::filesystem::path(*directory) / file.name).string();
      ASSIGN_OR_RETURN(const auto source, open_source({}, path));
      const auto finding = compare_checksum(*source, file.checksum, goes_on_);
      if (!goes_on_()) return interrupted();
      if (!finding) continue;
      recovered_.lost.may_be_more = true;
      report_.write(report_line({.path = path}, "damage", "reason", finding->reason));
      context_.fail(kExitDamage, fmt::format("{}: {}", path, finding->reason));
    }
    return {};
  }

  // A database whose MANIFEST has a torn end opens without its last edits, and so without the tables that they added.
  void find_torn_manifest() {
    const std::string manifest = reader_.source().summary().manifest;
    if (manifest.empty()) return;
    const std::string path = (std::filesystem::path(reader_.path()) / manifest).string();
    const auto opened = context_.open_quietly({}, path);
    if (!opened) return;  // it was read, so it is only replaced
    const auto verdict = verify(*opened->store, 1, kManifestMemory, [this](std::uint64_t) { return goes_on_(); });
    for (const Finding& finding : verdict.findings) {
      if (finding.word != "unfinished") continue;
      recovered_.lost.may_be_more = true;
      recovered_.any_may_be_stale = true;
      report_.write(report_line({.path = path}, finding.word, "reason", finding.reason));
      context_.fail(kExitDamage, fmt::format("{}: {}", path, to_string(finding)));
    }
  }

  Result<void> check() const {
    database::Options options = context_.database_options();
    options.log_key_bytes = UINT64_MAX;  // all keys of a new database are in its log
    options.wal_directory.clear();
    options.table_directories.clear();
    for (const Written& written : written_) {
      ASSIGN_OR_RETURN(const auto found, needs_tables_
                                             ? database::Database::open_files({}, directory_, {written.name}, options)
                                             : database::Database::open({}, directory_, options));
      ASSIGN_OR_RETURN(const auto digest, keys_of(*found, goes_on_));
      const bool is_equal = digest.first == written.keys && digest.second == written.hash;
      if (is_equal && found->families().size() == 1 && found->problems().empty()) continue;
      return Error{.code = Code::kDamage, .detail = "the recovered database does not verify"};
    }
    return {};
  }

  DatabaseReader& reader_;
  CommandContext& context_;
  const std::string& directory_;
  LossReport& report_;
  const std::function<bool()>& goes_on_;
  bool needs_tables_ = false;
  bool has_families_ = false;  // several
  bool is_damage_ = true;      // the reason why keys cannot be read
  bool exceeds_limit_ = false;
  RecoveredKeys recovered_;
  std::vector<Written> written_;
};

}  // namespace

Result<RecoveredKeys> recover_database(DatabaseReader& reader, CommandContext& context, const std::string& directory,
                                       LossReport& report, const std::function<bool()>& goes_on) {
  return DatabaseRecovery(reader, context, directory, report, goes_on).run();
}

}  // namespace recordfs
