#include "core/export/database_reader.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include <fmt/format.h>

#include "core/base/counted.h"
#include "core/base/parse_number.h"
#include "core/base/utf8.h"
#include "core/database/directory.h"
#include "core/database/key_text.h"
#include "core/dataset/pipe_input.h"

namespace recordfs {

DatabaseReader::DatabaseReader(std::string path, std::string directory,
                               std::unique_ptr<const database::Database> database, Reporter& reporter,
                               TextOutput& output)
    : path_(std::move(path)),
      is_pipe_(is_pipe(path_)),
      directory_(std::move(directory)),
      database_(std::move(database)),
      reporter_(reporter),
      output_(output),
      has_families_(database_->families().size() > 1 || database_->families().front().id != 0) {}

std::vector<database::Family> DatabaseReader::families(const std::string& wanted, bool all_by_default) const {
  auto families = database_->families();
  const bool is_only = families.size() == 1 && families.front().id != 0;
  if (wanted.empty() && (all_by_default || is_only)) {
    // Tables that were given alone may be of another family than the default one.
    const database::Family& first = families.front();
    const std::string name = first.name.empty() ? fmt::format("number {}", first.id) : printable(first.name);
    if (!all_by_default) report(fmt::format("column family {}", name), Impact::kNone);
    for (const database::Family& each : families) report_order(each);
    return families;
  }
  const std::string_view name = wanted.empty() ? std::string_view("default") : wanted;
  auto found = std::ranges::find(families, name, &database::Family::name);
  const auto number = parse_number<std::uint64_t>(name);
  if (found == families.end() && number) found = std::ranges::find(families, *number, &database::Family::id);
  // One log does not contain the names.
  if (found == families.end() && name == "default") found = std::ranges::find(families, 0u, &database::Family::id);
  if (found == families.end()) {
    report(fmt::format("no column family {} (try: recordfs info)", name), Impact::kIncomplete);
    return {};
  }
  report_order(*found);
  return {*found};
}

void DatabaseReader::report_order(const database::Family& family) const {
  if (family.is_ordered) return;
  report(fmt::format("column family {}: unknown comparator {}; keys are in the order of files, and deletions of ranges "
                     "have no effect",
                     family.name, family.comparator),
         Impact::kNone);
}

void DatabaseReader::report_problems(bool only_manifest) const {
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
    reporter_.fail(impact_of(problem), fmt::format("{}: {}{}", file, reason_of(problem), note));
  }
}

Result<void> DatabaseReader::each_key(const std::vector<database::Family>& families, const database::KeyRange& range,
                                      const database::Snapshot& at, const TakeKey& take) {
  for (const database::Family& family : families) {
    const auto keys = database_->keys(family.id, range, at);
    for (;;) {
      if (!output_.good()) return {};
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
  if (!uncertain_.add_unreadable(keys.version(), why)) report_failure(keys.key(), why);
}

void DatabaseReader::finish() {
  output_.flush();
  report_problems();
  const auto report_count = [this](std::uint64_t count, const std::string& what, Impact impact) {
    report(fmt::format("{} of {} {}", count, counted(uncertain_.keys, "key"), what), impact);
  };
  if (uncertain_.stale > 0) report(uncertain_.stale_text(), Impact::kDamage);
  for (const auto& [cause, count] : uncertain_.unread) {
    const std::string where =
        cause == Code::kLimit ? "what exceeds the limits (try: --max-chunk)" : "what recordfs cannot read";
    report_count(count, "may have a newer value, or may be deleted, in " + where, Impact::kIncomplete);
  }
  for (const auto& [why, count] : uncertain_.without_value) {
    report_count(count, "without a value: " + printable(why), Impact::kIncomplete);
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
  output_.write(line_ += '\n');
}

void DatabaseReader::write_bytes(JsonWriter& json, std::string_view name, Bytes bytes, ByteForm form) {
  constexpr std::size_t kLargestInLine = 1u << 20;  // larger values are written in pieces
  const std::string instead = std::string(name) + "_base64";
  if (bytes.size() <= kLargestInLine) return json.bytes(name, instead, bytes);
  write_json_bytes(json, line_, name, instead, bytes, form, [this](std::string_view piece) { output_.write(piece); });
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

void DatabaseReader::report(const std::string& what, Impact impact) const {
  reporter_.fail(impact, fmt::format("{}: {}", path_, what));
}

void DatabaseReader::report_failure(Bytes key, const Error& error) const {
  report(fmt::format("key {}: {}", escaped_key(key), error.detail), impact_of_reading(error));
}

std::string name_of(const database::Family& family) {
  return family.name.empty() ? fmt::format("{}", family.id) : family.name;
}

bool may_have_columns(database::Operation operation) {
  return operation == database::Operation::kPutEntity || operation == database::Operation::kMerge;
}

}  // namespace recordfs
