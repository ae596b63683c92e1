#include "fusefs/commands/database_recovery.h"

#include <fcntl.h>

#include <cerrno>
#include <filesystem>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/database/new_database.h"
#include "core/decoding/json_writer.h"
#include "core/hash/xxhash.h"
#include "fusefs/commands/output_file.h"
#include "fusefs/exit_status.h"

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

// Returns a line of JSON: file, key if there is one, class, and the reason or the file with the key's value.
std::string report_line(const std::string& path, std::optional<Bytes> key, std::string_view word,
                        const std::string& member, const std::string& text) {
  std::string line;
  JsonWriter json(line, JsonLayout::kLine);
  json.begin_object();
  json.path("file", path);
  if (key) json.bytes("key", "key_base64", *key);
  json.member("class", word);
  json.member(member, text);
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

// Reads the new database, as any database is read, but with all the keys that its one log has. Fails with kInterrupted
// if `goes_on` returns false.
Result<void> check_database(const std::string& directory, database::Options options, const KeyDigest& written,
                            const std::function<bool()>& goes_on) {
  options.log_key_bytes = UINT64_MAX;
  ASSIGN_OR_RETURN(const auto found, database::Database::open({}, directory, options));
  const auto keys = found->keys(0, {});
  KeyDigest digest;
  for (;;) {
    ASSIGN_OR_RETURN(const auto has_key, keys->next({}));
    if (!has_key) break;
    if (!goes_on()) return interrupted();
    ASSIGN_OR_RETURN(const auto value, keys->value({}));
    digest.add(keys->key(), value.bytes);
  }
  const bool is_equal = digest.keys() == written.keys() && digest.value() == written.value();
  if (is_equal && found->problems().empty()) return {};
  return Error{.code = Code::kDamage, .detail = "the recovered database does not verify"};
}

// Lists the damage of a database that may have cost keys, and says so in `recovered`. Returns whether all problems are
// damage.
bool add_problems(const DatabaseReader& reader, LossReport& report, RecoveredKeys& recovered) {
  bool is_damage = true;
  for (const database::Problem& problem : reader.source().problems()) {
    if (!problem.loses_data) continue;
    recovered.lost.may_be_more = true;
    is_damage = is_damage && status_of(problem) == kExitDamage;
    const std::string path = (std::filesystem::path(reader.path()) / problem.file).string();
    report.write(report_line(path, {}, "damage", "reason", reason_of(problem)));
  }
  return is_damage;
}

}  // namespace

Result<RecoveredKeys> recover_database(DatabaseReader& reader, CommandContext& context, const std::string& directory,
                                       LossReport& report, const std::function<bool()>& goes_on) {
  ASSIGN_OR_RETURN(const auto family, database::writable_family(reader.source()));
  Descriptor opened(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!opened) return system_error(errno);
  OutputFile file(std::move(opened), std::string(database::kNewLog), {});
  TRY(file.create());
  database::NewLog log(file);
  RecoveredKeys recovered;
  KeyDigest written;
  Result<void> outcome;
  bool is_damage = true;  // the reason why keys cannot be read
  const auto read = reader.each_key({family}, {}, {}, [&](const database::Family&, const database::KeyIterator& keys) {
    if (!goes_on()) outcome = interrupted();
    if (!outcome) return false;
    if (keys.version().unread) is_damage = false;
    const auto value = reader.value_of(keys);
    if (!value) {
      const Code code = value.error().code;
      if (!is_permanent(code)) outcome = value.error();
      if (code == Code::kUnsupported || code == Code::kLimit) is_damage = false;
      ++recovered.lost.records;
      report.write(report_line(reader.path(), keys.key(), "damage", "reason", value.error().detail));
      return outcome.has_value();
    }
    if (keys.version().may_be_stale) {
      ++recovered.stale;
      report.write(report_line(reader.path(), keys.key(), "stale", "value_from", keys.version().file));
    }
    outcome = log.add(keys.key(), value->bytes);
    written.add(keys.key(), value->bytes);
    return outcome.has_value();
  });
  TRY(outcome);
  reader.finish();
  if (!add_problems(reader, report, recovered) || !is_damage || !read) {
    return Error{.code = Code::kUnsupported,
                 .detail = "keys that are not lost cannot be read, so no database is written (try: --max-chunk)"};
  }
  TRY(log.finish());
  TRY(file.publish());
  ASSIGN_OR_RETURN(const auto manifest, database::new_manifest(family));
  TRY(write_file(directory, database::kNewManifest, manifest));
  TRY(write_file(directory, "CURRENT", database::kNewCurrent));
  TRY(check_database(directory, context.database_options(), written, goes_on));
  recovered.keys = written.keys();
  recovered.digest = written.value();
  return recovered;
}

}  // namespace recordfs
