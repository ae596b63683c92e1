#include "fusefs/commands/database_reader.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "core/base/counted.h"
#include "core/base/location.h"
#include "core/base/parse_number.h"
#include "core/base/utf8.h"
#include "core/database/directory.h"
#include "core/database/key_text.h"
#include "core/dataset/database_files.h"
#include "core/store/open_container.h"
#include "fusefs/commands/command.h"
#include "fusefs/commands/named_sets.h"
#include "fusefs/commands/record_words.h"

namespace recordfs {
namespace {

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

void DatabaseView::declare(CLI::App& app, const std::string& without) {
  declare_value(app, "--column-family", "F", family,
                fmt::format("name or number of the column family (default: {})", without));
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
  app.add_option_function<std::string>(
         "DB", [this](const std::string& path) { words.files = {path}; },
         "the directory of a database, a log, table or blob file of one, or a pattern of several\n"
         "Of several files, a key's newest write counts, as if they were a database.")
      ->type_name("");
  if (keys != nullptr) app.add_option("KEY", *keys, "the keys; with --manifest, all words are keys")->type_name("");
  begin_group(app, "Data sets");
  declare_manifest(app, words.manifest);
  begin_group(app, "Options");
  app.final_callback([this, keys] {
    const bool has_manifest = !words.manifest.empty();
    if (has_manifest && !words.files.empty()) {
      if (keys == nullptr) throw CLI::ValidationError("--manifest", "excludes DB: " + words.files.front());
      keys->insert(keys->begin(), std::move(words.files.front()));
      words.files.clear();
    }
    if (!has_manifest && words.files.empty()) throw CLI::RequiredError("DB");
    for (std::string& word : words.files) word = Location(word).text();
    if (has_manifest) words.manifest = Location(words.manifest).text();
    if (keys != nullptr && keys->empty()) throw CLI::RequiredError("KEY");
  });
  view.declare(app);
}

std::unique_ptr<DatabaseReader> DatabaseReader::open(const RecordWords& words, CommandContext& context) {
  const database::Options& options = context.database_options();
  const bool is_one = words.manifest.empty() && words.files.size() == 1;
  const std::string& path = is_one ? words.files.front() : words.manifest;
  if (is_one && is_directory(path)) return made(path, path, context, database::Database::open({}, path, options));
  if (is_one && !names_set(path)) {
    const auto real = context.real_path(path);
    return made(path, {}, context, real ? database::Database::open_file({}, *real, options) : real.error());
  }
  const auto list = name_shards(words, context);
  if (!list) return nullptr;
  auto files = open_database({}, *list, options);
  return made(set_name(words), std::move(files.directory), context, std::move(files.database));
}

std::unique_ptr<DatabaseReader> DatabaseReader::made(const std::string& path, std::string directory,
                                                     CommandContext& context, Opened opened) {
  if (!opened) {
    context.fail(impact_of_opening(opened.error()), open_failure(path, opened.error()));
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

std::vector<database::Family> DatabaseReader::families(const std::string& wanted, bool all_by_default) const {
  auto families = database_->families();
  const bool is_only = families.size() == 1 && families.front().id != 0;
  if (wanted.empty() && (all_by_default || is_only)) {
    // Tables that were given alone may be of another family than the default one.
    const database::Family& first = families.front();
    const std::string name = first.name.empty() ? fmt::format("number {}", first.id) : printable(first.name);
    if (!all_by_default) print(fmt::format("column family {}", name), Impact::kNone);
    for (const database::Family& each : families) print_order(each);
    return families;
  }
  const std::string_view name = wanted.empty() ? std::string_view("default") : wanted;
  auto found = std::ranges::find(families, name, &database::Family::name);
  const auto number = parse_number<std::uint64_t>(name);
  if (found == families.end() && number) found = std::ranges::find(families, *number, &database::Family::id);
  // One log does not contain the names.
  if (found == families.end() && name == "default") found = std::ranges::find(families, 0u, &database::Family::id);
  if (found == families.end()) {
    print(fmt::format("no column family {} (try: recordfs info)", name), Impact::kIncomplete);
    return {};
  }
  print_order(*found);
  return {*found};
}

void DatabaseReader::print_order(const database::Family& family) const {
  if (family.is_ordered) return;
  print(fmt::format("column family {}: unknown comparator {}; keys are in the order of files, and deletions of ranges "
                    "have no effect",
                    family.name, family.comparator),
        Impact::kNone);
}

void DatabaseReader::report(bool only_manifest) const {
  for (const database::Problem& problem : database_->problems()) {
    const auto kind = database::parse_file_name(problem.file).kind;
    const bool is_of_manifest =
        problem.file.empty() || kind == database::FileKind::kCurrent || kind == database::FileKind::kManifest;
    const bool is_torn_end = !problem.loses_data && problem.error.code == Code::kUnfinished;
    if (!is_torn_end && (!problem.loses_data || (only_manifest && !is_of_manifest))) continue;
    const bool is_below = !directory_.empty() && !problem.file.empty();
    const std::string file = is_below ? (std::filesystem::path(directory_) / problem.file).string() : path_;
    const std::string_view note =
        is_torn_end ? ", as after a crash, and the database opens without it (try: recordfs verify)" : "";
    context_.fail(impact_of(problem), fmt::format("{}: {}{}", file, reason_of(problem), note));
  }
}

Result<void> DatabaseReader::each_key(const std::vector<database::Family>& families, const database::KeyRange& range,
                                      const database::Snapshot& at, const TakeKey& take) {
  for (const database::Family& family : families) {
    const auto keys = database_->keys(family.id, range, at);
    for (;;) {
      if (!context_.output().good()) return {};
      const auto has_key = keys->next({});
      if (!has_key) {
        report_end(has_key.error());
        return has_key.error();
      }
      if (!*has_key) break;
      count(keys->version());
      if (!take(family, *keys)) return {};
    }
  }
  return {};
}

Result<Slice> DatabaseReader::value_of(const database::KeyIterator& keys) {
  auto value = keys.value({});
  if (!value) report_unreadable(keys, value.error());
  return value;
}

void DatabaseReader::report_unreadable(const database::KeyIterator& keys, const Error& why) {
  if (!uncertain_.add_unreadable(keys.version(), why)) print_failure(keys.key(), why);
}

void DatabaseReader::finish() {
  context_.output().flush();
  report_problems();
  const auto print_count = [this](std::uint64_t count, const std::string& what, Impact impact) {
    print(fmt::format("{} of {} {}", count, counted(uncertain_.keys, "key"), what), impact);
  };
  if (uncertain_.stale > 0) print(uncertain_.stale_text(), Impact::kDamage);
  for (const auto& [cause, count] : uncertain_.unread) {
    const std::string where =
        cause == Code::kLimit ? "what exceeds the limits (try: --max-chunk)" : "what recordfs cannot read";
    print_count(count, "may have a newer value, or may be deleted, in " + where, Impact::kIncomplete);
  }
  for (const auto& [why, count] : uncertain_.without_value) {
    print_count(count, "without a value: " + printable(why), Impact::kIncomplete);
  }
}

void DatabaseReader::write_json(const KeyLine& line) {
  line_.clear();
  JsonWriter json(line_, JsonLayout::kLine, JsonWriter::kNoLimit, line.form);
  json.begin_object();
  if (!line.database.empty()) json.path("database", line.database);
  json.bytes("key", "key_base64", line.key);
  if (has_families_) json.member("column_family", printable(name_of(line.family)));
  if (line.write_after_key) line.write_after_key(json);
  if (line.value) write_bytes(json, "value", *line.value, line.form);
  if (line.failure != nullptr) json.member("error", printable(line.failure->detail));
  if (!line.ends_with_columns) write_columns(json, line);
  write_version(json, line.version);
  if (line.ends_with_columns) write_columns(json, line);
  json.end_object();
  context_.output().write(line_ += '\n');
}

void DatabaseReader::write_bytes(JsonWriter& json, std::string_view name, Bytes bytes, ByteForm form) {
  constexpr std::size_t kLargestInLine = 1u << 20;  // larger values are written in pieces
  const std::string instead = std::string(name) + "_base64";
  if (bytes.size() <= kLargestInLine) return json.bytes(name, instead, bytes);
  write_json_bytes(json, line_, name, instead, bytes, form,
                   [this](std::string_view piece) { context_.output().write(piece); });
}

void DatabaseReader::write_columns(JsonWriter& json, const KeyLine& line) {
  if (line.columns == nullptr || line.columns->empty()) return;
  json.name("columns");
  json.begin_list();
  for (const database::Column& column : *line.columns) {
    json.begin_object();
    write_bytes(json, "name", as_bytes(column.name), line.form);
    write_bytes(json, "value", column.value.bytes, line.form);
    json.end_object();
  }
  json.end_list();
}

void DatabaseReader::write_version(JsonWriter& json, const database::Version& version) const {
  json.member("sequence", version.sequence);
  json.member("operation", to_string(version.operation));
  json.member("size", version.size);
  json.path("file", file_of(version));
  if (version.timestamp) json.member("timestamp", *version.timestamp);
  if (version.may_be_stale) json.member("stale", true);
  if (version.unread) json.member("unread", *version.unread == Code::kLimit ? "limit" : "unsupported");
}

void DatabaseReader::print(const std::string& what, Impact impact) const {
  context_.fail(impact, fmt::format("{}: {}", path_, what));
}

void DatabaseReader::print_failure(Bytes key, const Error& error) const {
  print(fmt::format("key {}: {}", escaped_key(key), error.detail), impact_of_reading(error));
}

std::string name_of(const database::Family& family) {
  return family.name.empty() ? fmt::format("{}", family.id) : family.name;
}

bool may_have_columns(database::Operation operation) {
  return operation == database::Operation::kPutEntity || operation == database::Operation::kMerge;
}

}  // namespace recordfs
