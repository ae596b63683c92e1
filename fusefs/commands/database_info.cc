#include "fusefs/commands/database_info.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/base/counted.h"
#include "core/base/utf8.h"

namespace recordfs {
namespace {

using database::FileKind;

struct FileTotals {
  std::uint64_t files = 0;
  std::uint64_t bytes = 0;

  void add(const database::File& file) {
    ++files;
    bytes += file.size;
  }
};

// The live files of a database that are present, by kind, and tables by level.
struct LiveFiles {
  std::map<std::uint32_t, FileTotals> levels{};
  FileTotals logs{}, blobs{}, all{};

  explicit LiveFiles(const std::vector<database::File>& files) {
    for (const database::File& file : files) {
      if (file.state != database::File::State::kLive) continue;
      all.add(file);
      if (file.kind == FileKind::kTable) levels[file.level].add(file);
      if (file.kind == FileKind::kLog) logs.add(file);
      if (file.kind == FileKind::kBlob) blobs.add(file);
    }
  }
};

bool loses_data(const std::vector<database::Problem>& problems) {
  return std::ranges::any_of(problems, &database::Problem::loses_data);
}

JsonObject object_of(const FileTotals& totals) {
  JsonObject object;
  object.set("files", totals.files);
  object.set("bytes", totals.bytes);
  return object;
}

JsonObject::List families_of(const database::Database& database) {
  JsonObject::List list;
  for (const database::Family& family : database.families()) {
    JsonObject& object = list.emplace_back();
    object.set("number", std::uint64_t{family.id});
    object.set("name", family.name);
    object.set("comparator", family.comparator);
    object.set("ordered", family.is_ordered);
  }
  return list;
}

JsonObject::List levels_of(const LiveFiles& live) {
  JsonObject::List list;
  for (const auto& [level, totals] : live.levels) {
    JsonObject& object = list.emplace_back();
    object.set("level", std::uint64_t{level});
    object.set("files", totals.files);
    object.set("bytes", totals.bytes);
  }
  return list;
}

JsonObject::List problems_of(const std::vector<database::Problem>& problems) {
  JsonObject::List list;
  for (const database::Problem& problem : problems) {
    JsonObject& object = list.emplace_back();
    object.set("file", problem.file);
    object.set("error", to_string(problem.error));
    object.set("loses_data", problem.loses_data);
  }
  return list;
}

std::string table_row(std::string_view name, const std::string& value) {
  return fmt::format("{:<16} {}\n", name, value);
}

std::string words_of(const FileTotals& totals) {
  return fmt::format("{}, {}", counted(totals.files, "file"), counted(totals.bytes, "byte"));
}

std::string name_of(const database::Family& family) {
  const std::string name = family.name.empty() ? fmt::format("number {}", family.id) : printable(family.name);
  const std::string comparator = family.comparator.empty() ? "unknown comparator" : printable(family.comparator);
  return fmt::format("{} ({}{})", name, comparator, family.is_ordered ? "" : ", which recordfs cannot apply");
}

}  // namespace

JsonObject database_info(const database::Database& database) {
  const database::Summary summary = database.summary();
  const LiveFiles live(database.files());
  const auto problems = database.problems();
  JsonObject info;
  info.set("format", "database");
  info.set("engine", summary.engine);
  info.set("size", live.all.bytes);
  info.set("manifest", summary.is_recovered() ? JsonObject::Content() : summary.manifest);
  info.set("recovered", summary.is_recovered());
  if (!summary.database_id.empty()) info.set("database_id", summary.database_id);
  info.set("last_sequence", summary.last_sequence);
  info.set("column_families", families_of(database));
  info.set("levels", levels_of(live));
  info.set("logs", object_of(live.logs));
  info.set("logged_writes", summary.logged_writes);
  info.set("blob_files", object_of(live.blobs));
  info.set("may_be_stale", loses_data(problems));
  info.set("problems", problems_of(problems));
  return info;
}

std::string database_table(const std::string& path, const DatabaseReader& reader) {
  const database::Database& database = reader.source();
  const database::Summary summary = database.summary();
  const LiveFiles live(database.files());
  const auto problems = database.problems();
  std::string table = table_row("directory", printable(path));
  table += table_row("format", fmt::format("{} database", summary.engine));
  table += table_row("size", words_of(live.all));
  table += table_row("manifest", summary.is_recovered() ? "none; the state comes from all tables and logs"
                                                        : printable(summary.manifest));
  if (!summary.database_id.empty()) table += table_row("database id", printable(summary.database_id));
  table += table_row("last sequence", fmt::format("{}", summary.last_sequence));
  std::string_view name = "column families";
  for (const database::Family& family : database.families())
    table += table_row(std::exchange(name, ""), name_of(family));
  for (const auto& [level, totals] : live.levels) table += table_row(fmt::format("level {}", level), words_of(totals));
  table += table_row("logs", fmt::format("{}, {}", words_of(live.logs), counted(summary.logged_writes, "write")));
  if (live.blobs.files > 0) table += table_row("blob files", words_of(live.blobs));
  if (loses_data(problems)) table += table_row("values", "may be stale, because data is lost");
  name = "problems";
  for (const database::Problem& problem : problems) {
    const std::string file = problem.file.empty() ? "" : printable(problem.file) + ": ";
    table += table_row(std::exchange(name, ""), file + printable(to_string(problem.error)));
  }
  return table;
}

}  // namespace recordfs
