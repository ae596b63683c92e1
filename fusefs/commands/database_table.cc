#include "fusefs/commands/database_table.h"

#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "core/base/counted.h"
#include "core/base/utf8.h"
#include "fusefs/tree/database/database_info.h"

namespace recordfs {
namespace {

std::string table_row(std::string_view name, const std::string& value) {
  return fmt::format("{:<16} {}\n", name, value);
}

std::string words_of(const FileTotals& totals) {
  return fmt::format("{}, {}", counted(totals.files, "file"), counted(totals.bytes, "byte"));
}

std::string family_row(const database::Family& family) {
  const std::string name = family.name.empty() ? fmt::format("number {}", family.id) : printable(family.name);
  const std::string comparator = family.comparator.empty() ? "unknown comparator" : printable(family.comparator);
  return fmt::format("{} ({}{})", name, comparator, family.is_ordered ? "" : ", which recordfs cannot apply");
}

}  // namespace

std::string database_table(const std::string& path, const DatabaseReader& reader) {
  const database::Database& database = reader.source();
  const database::Summary summary = database.summary();
  const LiveFiles live(database.files());
  const auto problems = database.problems();
  std::string table = table_row("directory", printable(path));
  table += table_row("format", "database");
  table += table_row("engine", summary.engine);
  table += table_row("size", words_of(live.all));
  table += table_row("manifest", summary.is_recovered() ? "none; the state comes from all tables and logs"
                                                        : printable(summary.manifest));
  if (!summary.database_id.empty()) table += table_row("database id", printable(summary.database_id));
  table += table_row("last sequence", fmt::format("{}", summary.last_sequence));
  std::string_view name = "column families";
  for (const database::Family& family : database.families())
    table += table_row(std::exchange(name, ""), family_row(family));
  for (const auto& [level, totals] : live.levels) table += table_row(fmt::format("level {}", level), words_of(totals));
  table += table_row("logs", fmt::format("{}, {}", words_of(live.logs), counted(summary.logged_writes, "write")));
  if (live.blobs.files > 0) table += table_row("blob files", words_of(live.blobs));
  if (loses_data(problems)) table += table_row("values", "may be stale, because data is lost");
  name = "problems";
  for (const database::Problem& problem : problems) {
    const std::string file = problem.file.empty() ? "" : printable(problem.file) + ": ";
    table += table_row(std::exchange(name, ""), file + printable(reason_of(problem)));
  }
  table += table_row("not checked", "the blocks of tables and the values in blob files (try: recordfs verify)");
  return table;
}

}  // namespace recordfs
