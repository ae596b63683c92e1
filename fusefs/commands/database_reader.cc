#include "fusefs/commands/database_reader.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "core/base/counted.h"
#include "core/base/parse_number.h"
#include "core/base/utf8.h"
#include "core/database/directory.h"
#include "core/dataset/database_files.h"
#include "core/store/open_container.h"
#include "fusefs/commands/command.h"
#include "fusefs/commands/key_text.h"
#include "fusefs/commands/record_words.h"
#include "fusefs/commands/set_reader.h"
#include "fusefs/exit_status.h"
#include "fusefs/messages.h"

namespace recordfs {
namespace {

bool names_directory(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::is_directory(path, ignored);
}

// Declares an option whose value is a `what`.
CLI::Option* declare_number(CLI::App& app, const std::string& name, std::uint64_t& number, const std::string& what,
                            const std::string& help) {
  const auto parse = [name, &number, what](const std::string& text) {
    const auto parsed = parse_number<std::uint64_t>(text);
    if (!parsed) throw CLI::ValidationError(name, "not a " + what + ": " + text);
    number = *parsed;
  };
  return app.add_option_function<std::string>(name, parse, help);
}

}  // namespace

bool is_database_directory(const std::string& path) {
  return names_directory(path) && database::is_database(path).value_or(false);
}

void DatabaseView::declare(CLI::App& app, const std::string& without) {
  app.add_option("--column-family", family, fmt::format("name or number of the column family (default: {})", without))
      ->type_name("F");
  declare_number(app, "--at", at.sequence, "sequence number",
                 "as of this sequence number, as far as older versions are still stored\n"
                 "A compaction deletes versions that no snapshot needs. Keys can then be missing that existed at "
                 "SEQUENCE.")
      ->type_name("SEQUENCE");
  declare_number(
      app, "--at-timestamp", at.timestamp, "timestamp",
      "as of this user-defined timestamp, as far as older versions are still stored\n"
      "For column families whose comparator has such timestamps (u64ts). Without it, a key has the value with "
      "the largest one.")
      ->type_name("T");
}

void DatabaseOptions::declare(CLI::App& app, std::vector<std::string>* keys) {
  auto* const database =
      app.add_option("DB", path,
                     "the directory of a database, a log, table or blob file of one, or a pattern of several\n"
                     "Of several files, a key's newest write counts, as if they were a database.")
          ->type_name("");
  if (keys != nullptr) app.add_option("KEY", *keys, "the keys; with --manifest, all words are keys")->type_name("");
  begin_group(app, "Data sets");
  declare_manifest(app, manifest);
  begin_group(app, "Options");
  app.final_callback([this, database, keys] {
    const bool has_manifest = !manifest.empty();
    const bool has_database = database->count() > 0;
    if (has_manifest && has_database && keys == nullptr) {
      throw CLI::ValidationError("--manifest", "excludes DB: " + path);
    }
    if (has_manifest && has_database) keys->insert(keys->begin(), std::exchange(path, {}));
    if (!has_manifest && !has_database) throw CLI::RequiredError("DB");
    if (keys != nullptr && keys->empty()) throw CLI::RequiredError("KEY");
  });
  view.declare(app);
}

std::unique_ptr<DatabaseReader> DatabaseReader::open(const std::string& path, CommandContext& context) {
  const database::Options& options = context.database_options();
  if (names_directory(path)) return made(path, path, context, database::Database::open({}, path, options));
  if (names_set(path)) return open_set({.files = {path}}, context);
  const auto real = context.real_path(path);
  if (!real) return made(path, {}, context, real.error());
  return made(path, {}, context, database::Database::open_file({}, *real, options));
}

std::unique_ptr<DatabaseReader> DatabaseReader::open(const DatabaseOptions& options, CommandContext& context) {
  return options.manifest.empty() ? open(options.path, context) : open_set({.manifest = options.manifest}, context);
}

std::unique_ptr<DatabaseReader> DatabaseReader::open(const RecordWords& words, CommandContext& context) {
  const bool is_one = words.manifest.empty() && words.files.size() == 1;
  return is_one ? open(words.files.front(), context) : open_set(words, context);
}

std::unique_ptr<DatabaseReader> DatabaseReader::open_set(const RecordWords& words, CommandContext& context) {
  const auto list = name_shards(words, context);
  if (!list) return nullptr;
  auto files = open_database({}, *list, context.database_options());
  return made(set_name(words), std::move(files.directory), context, std::move(files.database));
}

std::unique_ptr<DatabaseReader> DatabaseReader::made(const std::string& path, std::string directory,
                                                     CommandContext& context, Opened opened) {
  if (!opened) {
    print_message(open_failure(path, opened.error()));
    context.note(status_of_opening(opened.error()));
    return nullptr;
  }
  return std::unique_ptr<DatabaseReader>(new DatabaseReader(path, std::move(directory), context, std::move(*opened)));
}

DatabaseReader::DatabaseReader(std::string path, std::string directory, CommandContext& context,
                               std::unique_ptr<const database::Database> database)
    : path_(std::move(path)),
      is_pipe_(is_pipe(path_)),
      directory_(std::move(directory)),
      context_(context),
      database_(std::move(database)),
      has_families_(database_->families().size() > 1 || database_->families().front().id != 0) {}

Result<database::Family> DatabaseReader::family(const std::string& wanted) const {
  const auto families = database_->families();
  if (wanted.empty() && families.size() == 1 && families.front().id != 0) return only_family(families.front());
  const std::string_view name = wanted.empty() ? std::string_view("default") : wanted;
  auto found = std::ranges::find(families, name, &database::Family::name);
  const auto number = parse_number<std::uint64_t>(name);
  if (found == families.end() && number) found = std::ranges::find(families, *number, &database::Family::id);
  // One log does not contain the names.
  if (found == families.end() && name == "default") found = std::ranges::find(families, 0u, &database::Family::id);
  if (found == families.end()) {
    return Error{.code = Code::kNotFound, .detail = fmt::format("no column family {} (try: recordfs info)", name)};
  }
  print_order(*found);
  return *found;
}

Result<std::vector<database::Family>> DatabaseReader::families(const std::string& name) const {
  std::vector<database::Family> chosen;
  if (name.empty()) {
    chosen = database_->families();
    for (const database::Family& each : chosen) print_order(each);
  } else {
    ASSIGN_OR_RETURN(auto only, family(name));
    chosen.push_back(std::move(only));
  }
  return chosen;
}

// Tables that were given alone may be of another family than the default one.
database::Family DatabaseReader::only_family(const database::Family& family) const {
  const std::string name = family.name.empty() ? fmt::format("number {}", family.id) : printable(family.name);
  print(fmt::format("column family {}", name), kExitGood);
  print_order(family);
  return family;
}

void DatabaseReader::print_order(const database::Family& family) const {
  if (family.is_ordered) return;
  print(fmt::format("column family {}: unknown comparator {}; keys are in the order of files, and deletions of ranges "
                    "have no effect",
                    family.name, family.comparator),
        kExitGood);
}

void DatabaseReader::report(bool only_manifest) const {
  for (const database::Problem& problem : database_->problems()) {
    const auto kind = database::parse_file_name(problem.file).kind;
    const bool is_of_manifest =
        problem.file.empty() || kind == database::FileKind::kCurrent || kind == database::FileKind::kManifest;
    if (!problem.loses_data || (only_manifest && !is_of_manifest)) continue;
    context_.print_once(text_of(problem));
    context_.note(status_of(problem));
  }
}

void DatabaseReader::report_problems() const { report(false); }
void DatabaseReader::report_lost_manifest() const {
  if (database_->summary().is_recovered()) report(true);
}

std::string DatabaseReader::text_of(const database::Problem& problem) const {
  const bool is_below = !directory_.empty() && !problem.file.empty();
  const std::string file = is_below ? (std::filesystem::path(directory_) / problem.file).string() : path_;
  return fmt::format("{}: {}", file, reason_of(problem));
}

std::string DatabaseReader::file_of(const database::Version& version) const { return is_pipe_ ? path_ : version.file; }

void DatabaseReader::append_json_members(std::string& json, const database::Version& version) const {
  const auto append_number = [&json](std::uint64_t number) {
    const fmt::format_int digits(number);
    json.append(digits.data(), digits.size());
  };
  json += "\"sequence\":";
  append_number(version.sequence);
  json += ",\"operation\":\"";
  json += to_string(version.operation);
  json += "\",\"size\":";
  if (version.size) {
    append_number(*version.size);
  } else {
    json += "null";
  }
  json += ',';
  append_json_path(json, "file", file_of(version));
  if (version.timestamp) {
    json += ",\"timestamp\":";
    append_number(*version.timestamp);
  }
  if (version.may_be_stale) json += ",\"stale\":true";
  if (version.unread) json += *version.unread == Code::kLimit ? ",\"unread\":\"limit\"" : ",\"unread\":\"unsupported\"";
}

void DatabaseReader::print(const std::string& what, int status) const {
  context_.print_once(fmt::format("{}: {}", path_, what));
  context_.note(status);
}

void DatabaseReader::print_failure(const Error& error) const { print(error.detail, status_of_reading(error)); }

void DatabaseReader::print_failure(Bytes key, const Error& error) const {
  print(fmt::format("key {}: {}", escaped_key(key), error.detail), status_of_reading(error));
}

std::string reason_of(const database::Problem& problem) {
  const bool has_position = !problem.file.empty() && problem.error.code != Code::kNotFound;
  return has_position ? to_string(problem.error) : problem.error.detail;
}

int status_of(const database::Problem& problem) {
  return problem.loses_data ? status_of_reading(problem.error) : kExitGood;
}

int status_of_reading(const Error& error) {
  if (database::is_gone(error)) return kExitTryAgain;
  // A file of the state is missing.
  return error.code == Code::kNotFound ? kExitDamage : CommandContext::status_of(error);
}

int status_of_opening(const Error& error) {
  return error.code == Code::kIo || error.code == Code::kNotFound ? kExitCannotOpen : status_of_reading(error);
}

void UncertainKeys::add(const database::Version& version) {
  ++keys;
  if (version.may_be_stale) ++stale;
  if (version.unread) ++unread[*version.unread];
}

bool UncertainKeys::add_unreadable(const database::Version& version, const Error& error) {
  if (version.unread) return true;
  const bool is_counted = error.code == Code::kUnsupported && (version.operation == database::Operation::kMerge ||
                                                               version.operation == database::Operation::kUnknown);
  if (is_counted) ++without_value[error.detail];
  return is_counted;
}

std::string UncertainKeys::stale_text() const {
  return fmt::format("{} of {} may have a newer value, or may be deleted, in what is damaged", stale,
                     counted(keys, "key"));
}

void UncertainKeys::print(const DatabaseReader& reader) const {
  if (stale > 0) reader.print(stale_text(), kExitDamage);
  for (const auto& [cause, count] : unread) {
    const std::string_view where =
        cause == Code::kLimit ? "what exceeds the limits (try: --max-chunk)" : "what recordfs cannot read";
    reader.print(
        fmt::format("{} of {} may have a newer value, or may be deleted, in {}", count, counted(keys, "key"), where),
        kExitPartlyDone);
  }
  for (const auto& [why, count] : without_value) {
    reader.print(fmt::format("{} of {} without a value: {}", count, counted(keys, "key"), printable(why)),
                 kExitPartlyDone);
  }
}

std::string name_of(const database::Family& family) {
  return family.name.empty() ? fmt::format("{}", family.id) : family.name;
}

bool may_have_columns(database::Operation operation) {
  return operation == database::Operation::kPutEntity || operation == database::Operation::kMerge;
}

void write_json_columns(const std::vector<database::Column>& columns,
                        const std::function<void(std::string_view piece)>& write, ByteForm form) {
  write("\"columns\":[");
  std::string_view before = "{";
  for (const database::Column& column : columns) {
    std::string name(std::exchange(before, ",{"));
    append_json_bytes(name, "name", "name_base64", as_bytes(column.name), form);
    write(name += ',');
    write_json_bytes("value", "value_base64", column.value.bytes, write, form);
    write("}");
  }
  write("]");
}

void append_json_key_head(std::string& json, Bytes key, const database::Family* family, ByteForm form) {
  json += '{';
  append_json_bytes(json, "key", "key_base64", key, form);
  if (family == nullptr) return;
  json += ",\"column_family\":";
  append_json_string(json, printable(name_of(*family)));
}

}  // namespace recordfs
