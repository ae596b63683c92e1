#include "core/database/database.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <utility>
#include <vector>

#include "core/database/directory.h"
#include "core/database/key_iterators.h"
#include "core/database/key_value.h"
#include "core/database/log_records.h"
#include "core/database/lookup.h"
#include "core/database/options_file.h"
#include "core/database/present_state.h"
#include "core/database/state.h"
#include "core/formats/foreign_file.h"
#include "core/formats/leveldb_log/content.h"
#include "core/formats/leveldb_log/format.h"
#include "core/formats/leveldb_table/format.h"
#include "core/formats/rocksdb_blob/format.h"

namespace recordfs::database {
namespace {

constexpr int kMostAttempts = 20;

// Returns why there is no value. `newest`: the deletion of the key; null: it has no write.
Error not_found(const StoredWrites& found, const StoredWrite* newest) {
  const Staleness staleness = found.staleness_of(newest);
  if (staleness.unread) return unread_error(*staleness.unread);
  if (staleness.by_damage) return {.code = Code::kDamage, .detail = "no such key, but damage may have cost its value"};
  return {.code = Code::kNotFound, .detail = newest == nullptr ? "no such key" : "the key is deleted"};
}

// Returns whether the first record of a log is a version edit. False if it cannot be read.
bool has_edits(const RequestContext& context, const std::shared_ptr<const Source>& source, const Limits& limits) {
  const auto log = open_log(context, source, limits);
  if (!log) return false;
  const Container& container = *log->container;
  const auto step = container.scan(context, container.traits().first);
  if (!step || !step->chunk) return false;
  const auto record = read_record(context, container, {step->chunk->key, 0});
  return record && leveldb_log::content_of(record->bytes) == leveldb_log::kManifest;
}

// Returns whether a file is a log, a table or a blob file. Fails with kNoContainer if it is none of them, with
// kUnsupported for other files of databases, and as Source.
Result<FileKind> kind_of_file(const RequestContext& context, const std::shared_ptr<const Source>& source,
                              const std::string& name, const Limits& limits) {
  const Error manifest{Code::kNoContainer, 0,
                       "a MANIFEST, which has no keys of the database (try: recordfs keys DIRECTORY)"};
  const FileKind named = parse_file_name(name).kind;
  if (named == FileKind::kManifest) return manifest;
  ASSIGN_OR_RETURN(const auto foreign, recognize_foreign_file(context, *source));
  if (foreign) return Error{.code = Code::kUnsupported, .detail = foreign->text()};
  int table = 0;
  int log = 0;
  int blob = 0;
  // A search of a large table for parts of a log would take long.
  for (const ProbeDepth depth : {ProbeDepth::kHead, ProbeDepth::kSearch}) {
    if (table != 0 || log != 0 || blob != 0) break;
    ASSIGN_OR_RETURN(table, leveldb_table::kFormat.probe(context, *source, name, depth));
    ASSIGN_OR_RETURN(log, leveldb_log::kFormat.probe(context, *source, name, depth));
    ASSIGN_OR_RETURN(blob, rocksdb_blob::kFormat.probe(context, *source, name, depth));
  }
  if (table == 0 && log == 0 && blob == 0) {
    return Error{Code::kNoContainer, 0, "not a log, table or blob file of a LevelDB or RocksDB database"};
  }
  if (blob > table && blob > log) return FileKind::kBlob;
  if (log >= table && named != FileKind::kLog && has_edits(context, source, limits)) return manifest;
  return table > log ? FileKind::kTable : FileKind::kLog;
}

// Returns the entry of a log, table or blob file; its number is 0 if its name has none.
Result<DirectoryEntry> entry_of(const RequestContext& context, const std::shared_ptr<const Source>& source,
                                const std::string& name, const Limits& limits) {
  ASSIGN_OR_RETURN(const FileKind kind, kind_of_file(context, source, name, limits));
  const FileName named = parse_file_name(name);
  return DirectoryEntry{.name = name, .is = {kind, named.kind == kind ? named.number : 0}, .size = source->size()};
}

Result<DirectoryEntry> entry_of(const RequestContext& context, const std::string& directory, const std::string& name,
                                const Limits& limits) {
  const Location location = OpenFiles(directory, 0, {}).location(name);
  ASSIGN_OR_RETURN(const auto source, open_source(context, location));
  ASSIGN_OR_RETURN(auto entry, entry_of(context, source, std::string(source->name()), limits));
  entry.name = name;
  if (!location.is_local()) entry.source = source;  // opening it again would ask the server
  return entry;
}

Error named(const std::string& name, Error error) {
  error.detail = name + ": " + error.detail;
  return error;
}

// Tables are identified by their numbers, so each file gets another one if the names do not tell.
void give_numbers(std::vector<DirectoryEntry>& files) {
  std::set<std::uint64_t> numbers{0};
  const auto is_new = [&](const DirectoryEntry& file) { return numbers.insert(file.is.number).second; };
  if (std::ranges::all_of(files, is_new)) return;
  for (std::size_t i = 0; i < files.size(); ++i) files[i].is.number = i + 1;
}

class OpenDatabase final : public Database {
 public:
  explicit OpenDatabase(std::shared_ptr<PresentState> present) : present_(std::move(present)) {}

  Summary summary() const override { return present_->get()->summary(); }
  std::vector<Family> families() const override {
    std::vector<Family> families;
    const auto state = present_->get();
    for (const auto& [id, view] : state->families()) families.push_back(view.state.family);
    return families;
  }
  std::vector<File> files() const override { return present_->get()->list_files(); }
  std::vector<Problem> problems() const override { return present_->get()->problems(); }

  Result<VersionedValue> get(const RequestContext& context, std::uint32_t family, Bytes key,
                             const Snapshot& at) const override {
    return with_state<VersionedValue>(context, [&](const auto& state) -> Result<VersionedValue> {
      ASSIGN_OR_RETURN(const auto found, find_writes(context, *state, family, key, at, Wanted::kFirst));
      if (found.writes.empty()) return not_found(found, nullptr);
      const StoredWrite& newest = found.writes.front();
      if (deletes(operation_of(newest.type))) return not_found(found, &newest);
      const ValueWrites writes = value_writes_of(found.writes);
      const Staleness staleness = found.staleness_of(oldest_needed(writes));
      if (staleness.unread) return unread_error(*staleness.unread);
      ASSIGN_OR_RETURN(auto value, key_value_of(context, state, *state->family(family), writes, key));
      Version version = version_of(newest, staleness);
      version.size = value.bytes.size();
      return VersionedValue{version, std::move(value)};
    });
  }

  Result<std::vector<Column>> value_columns(const RequestContext& context, std::uint32_t family, Bytes key,
                                            const Snapshot& at) const override {
    return with_state<std::vector<Column>>(context, [&](const auto& state) -> Result<std::vector<Column>> {
      ASSIGN_OR_RETURN(const auto found, find_writes(context, *state, family, key, at, Wanted::kFirst));
      const ValueWrites writes = value_writes_of(found.writes);
      if (writes.empty()) return not_found(found, found.writes.empty() ? nullptr : &found.writes.front());
      return key_columns_of(context, state, *state->family(family), writes, key);
    });
  }

  Result<std::vector<VersionedValue>> operands(const RequestContext& context, std::uint32_t family, Bytes key,
                                               const Snapshot& at) const override {
    using Values = std::vector<VersionedValue>;
    return with_state<Values>(context, [&](const auto& state) -> Result<Values> {
      ASSIGN_OR_RETURN(const auto found, find_writes(context, *state, family, key, at, Wanted::kFirst));
      const ValueWrites writes = value_writes_of(found.writes);
      if (writes.empty()) return not_found(found, found.writes.empty() ? nullptr : &found.writes.front());
      const Staleness staleness = found.staleness_of(oldest_needed(writes));
      if (staleness.unread) return unread_error(*staleness.unread);
      Values values;
      for (std::size_t i = writes.size(); i-- > 0;) {
        ASSIGN_OR_RETURN(auto value, value_of(context, state, writes[i], key));
        values.push_back({version_of(writes[i], staleness), std::move(value)});
      }
      return values;
    });
  }

  Result<std::vector<Version>> history(const RequestContext& context, std::uint32_t family, Bytes key) const override {
    return with_state<std::vector<Version>>(context, [&](const auto& state) -> Result<std::vector<Version>> {
      ASSIGN_OR_RETURN(const auto found, find_writes(context, *state, family, key, {}, Wanted::kAll));
      if (found.writes.empty()) return not_found(found, nullptr);
      std::vector<Version> versions;
      for (const StoredWrite& write : found.writes) {
        versions.push_back(version_of(write, found.staleness_of(&write)));
        versions.back().may_lack_others = !found.losses.empty();
      }
      return versions;
    });
  }

  Result<VersionedValue> version(const RequestContext& context, std::uint32_t family, Bytes key,
                                 std::uint64_t sequence) const override {
    return with_state<VersionedValue>(context, [&](const auto& state) -> Result<VersionedValue> {
      ASSIGN_OR_RETURN(const auto found, find_version(context, *state, family, key, sequence));
      const StoredWrite& write = found.writes.front();
      ASSIGN_OR_RETURN(auto value, value_of(context, state, write, key));
      return VersionedValue{version_of(write, found.staleness_of(&write)), std::move(value)};
    });
  }

  Result<std::vector<Column>> columns(const RequestContext& context, std::uint32_t family, Bytes key,
                                      std::uint64_t sequence) const override {
    return with_state<std::vector<Column>>(context, [&](const auto& state) -> Result<std::vector<Column>> {
      ASSIGN_OR_RETURN(const auto found, find_version(context, *state, family, key, sequence));
      return columns_of(context, state, found.writes.front(), key);
    });
  }

  std::unique_ptr<KeyIterator> keys(std::uint32_t family, KeyRange range, const Snapshot& at) const override {
    return iterate_keys(present_, family, std::move(range), at);
  }

  Result<void> open_tables(const RequestContext& context, const ForEach& for_each) const override {
    return with_state<void>(context, [&](const auto& state) -> Result<void> {
      std::vector<const TableFile*> tables;
      tables.reserve(state->files().tables.size());
      for (const auto& [number, file] : state->files().tables) tables.push_back(&file);
      std::vector<Result<void>> opened(tables.size(), out_of_memory("out of memory"));
      const auto open = [&](std::size_t i) {
        const auto table = state->table(context, *tables[i]);
        opened[i] = table ? Result<void>() : table.error();
      };
      if (for_each) for_each(tables.size(), open);
      for (std::size_t i = 0; i < tables.size() && !for_each; ++i) open(i);
      Result<void> all;
      for (Result<void>& each : opened) {
        if (!each && (is_gone(each.error()) || each.error().code == Code::kInterrupted)) return std::move(each);
        if (!each && all) all = std::move(each);
      }
      return all;
    });
  }

  Result<void> refresh(const RequestContext& context) const override {
    TRY(present_->newer_than(context, present_->get().get()));
    return {};
  }

 private:
  // Returns the writes of a key, of which the first has the number.
  static Result<StoredWrites> find_version(const RequestContext& context, const State& state, std::uint32_t family,
                                           Bytes key, std::uint64_t sequence) {
    ASSIGN_OR_RETURN(auto found, find_writes(context, state, family, key, sequence, Wanted::kFirst));
    if (found.writes.empty() || found.writes.front().sequence != sequence) return not_found(found, nullptr);
    return found;
  }

  // Calls `read` with the present state, and again with a newer one if a file of the state is gone.
  template <class T, class Read>
  Result<T> with_state(const RequestContext& context, const Read& read) const {
    auto state = present_->get();
    for (int attempt = 1;; ++attempt) {
      auto result = read(state);
      if (result || !is_gone(result.error())) present_->note_answer();
      if (result || !is_gone(result.error()) || attempt == kMostAttempts) return result;
      auto newer = present_->in_place_of(context, state.get());
      if (!newer) return std::move(newer).error();
      state = *std::move(newer);
    }
  }

  const std::shared_ptr<PresentState> present_;
};

Result<std::unique_ptr<const Database>> opened(const RequestContext& context, std::shared_ptr<PresentState> present) {
  TRY(present->newer_than(context, nullptr));
  return std::unique_ptr<const Database>(std::make_unique<OpenDatabase>(std::move(present)));
}

}  // namespace

std::string_view to_string(Operation operation) {
  switch (operation) {
    case Operation::kPut: return "put";
    case Operation::kPutEntity: return "put_entity";
    case Operation::kMerge: return "merge";
    case Operation::kDelete: return "delete";
    case Operation::kSingleDelete: return "single_delete";
    case Operation::kDeleteRange: return "delete_range";
    case Operation::kUnknown: return "unknown";
  }
  return "unknown";
}

std::string_view to_string(FileKind kind) {
  switch (kind) {
    case FileKind::kCurrent: return "current";
    case FileKind::kManifest: return "manifest";
    case FileKind::kTable: return "table";
    case FileKind::kLog: return "log";
    case FileKind::kBlob: return "blob";
    case FileKind::kOther: return "other";
  }
  return "other";
}

Result<std::unique_ptr<const Database>> Database::open(const RequestContext& context, const std::string& directory,
                                                       const Options& options) {
  return opened(context, std::make_shared<PresentState>(directory, options));
}

Result<std::unique_ptr<const Database>> Database::open_files(const RequestContext& context,
                                                             const std::string& directory,
                                                             const std::vector<std::string>& names,
                                                             const Options& options) {
  std::vector<DirectoryEntry> files;
  for (const std::string& name : names) {
    auto file = entry_of(context, directory, name, options.limits);
    if (!file) return names.size() == 1 ? std::move(file).error() : named(name, std::move(file).error());
    files.push_back(*std::move(file));
  }
  give_numbers(files);
  return opened(context, std::make_shared<PresentState>(directory, options, std::move(files)));
}

Result<std::unique_ptr<const Database>> Database::open_source(const RequestContext& context,
                                                              std::shared_ptr<const Source> source,
                                                              const std::string& name, const Options& options) {
  ASSIGN_OR_RETURN(auto file, entry_of(context, source, name, options.limits));
  file.source = std::move(source);
  std::vector<DirectoryEntry> files{std::move(file)};
  give_numbers(files);
  return opened(context, std::make_shared<PresentState>(std::string(), options, std::move(files)));
}

Result<std::unique_ptr<const Database>> Database::open_file(const RequestContext& context, const std::string& path,
                                                            const Options& options) {
  const std::filesystem::path place(path);
  const std::string directory = place.has_parent_path() ? place.parent_path().string() : ".";
  return open_files(context, directory, {place.filename().string()}, options);
}

namespace {

// Returns whether a directory of a server has more entries than a page, and no CURRENT.
Result<bool> is_large_and_no_database(const Location& directory) {
  const auto ignore = [](const ListedEntry&) -> Result<void> { return {}; };
  ASSIGN_OR_RETURN(const auto next, directory.storage().list_page({}, directory, {}, ignore));
  if (next.empty()) return false;
  const auto current = status_of({}, directory.child("CURRENT"));
  if (!current && !is_not_there(current.error())) return current.error();
  return !current;
}

}  // namespace

Result<bool> is_database(const Location& directory) {
  if (!is_directory(directory)) return false;
  if (!directory.is_local()) {
    ASSIGN_OR_RETURN(const auto is_none, is_large_and_no_database(directory));
    if (is_none) return false;
  }
  ASSIGN_OR_RETURN(const auto entries, list_directory(directory));
  const auto has = [&](FileKind kind) {
    return std::ranges::any_of(entries, [kind](const auto& entry) { return entry.is.kind == kind; });
  };
  const bool has_options =
      std::ranges::any_of(entries, [](const auto& entry) { return options_file_number(entry.name).has_value(); });
  const bool has_keys = has(FileKind::kTable) || has(FileKind::kLog);
  const bool has_current = has(FileKind::kCurrent);
  return has(FileKind::kManifest) || (has_keys ? has_current || has_options : has_current && has_options);
}

}  // namespace recordfs::database
