#include "fusefs/commands/database_options.h"

#include <utility>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "core/base/location.h"
#include "core/base/parse_number.h"
#include "core/dataset/database_files.h"
#include "core/store/open_container.h"
#include "fusefs/commands/command.h"
#include "fusefs/commands/named_sets.h"

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
    name_locations(words.files, words.manifest);
    if (keys != nullptr && keys->empty()) throw CLI::RequiredError("KEY");
  });
  view.declare(app);
}

std::unique_ptr<DatabaseReader> open_database(const RecordWords& words, CommandContext& context) {
  const database::Options& options = context.database_options();
  const auto read = [&](const std::string& path, DatabaseFiles files) -> std::unique_ptr<DatabaseReader> {
    if (auto& opened = files.database) {
      return std::make_unique<DatabaseReader>(path, std::move(files.directory), *std::move(opened), context,
                                              context.output());
    }
    const Error& why = files.database.error();
    context.fail(impact_of_opening(why), open_failure(path, why));
    return nullptr;
  };
  const bool is_one = words.manifest.empty() && words.files.size() == 1;
  const std::string& path = is_one ? words.files.front() : words.manifest;
  if (is_one && is_directory(path)) return read(path, {path, database::Database::open({}, path, options)});
  if (is_one && !names_set(path)) {
    const auto real = context.real_path(path);
    return read(path, {{}, real ? database::Database::open_file({}, *real, options) : real.error()});
  }
  const auto list = name_shards(words, context);
  return list ? read(set_name(words), open_database({}, *list, options)) : nullptr;
}

}  // namespace recordfs
