#include "fusefs/tree/database/database_info.h"

#include <algorithm>

namespace recordfs {
namespace {

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

}  // namespace

LiveFiles::LiveFiles(const std::vector<database::File>& files) {
  using database::FileKind;
  for (const database::File& file : files) {
    if (file.state != database::File::State::kLive) continue;
    all.add(file);
    if (file.kind == FileKind::kTable) levels[file.level].add(file);
    if (file.kind == FileKind::kLog) logs.add(file);
    if (file.kind == FileKind::kBlob) blobs.add(file);
  }
}

bool loses_data(const std::vector<database::Problem>& problems) {
  return std::ranges::any_of(problems, &database::Problem::loses_data);
}

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

}  // namespace recordfs
