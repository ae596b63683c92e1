// Reads the state of a database directory.
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "core/base/counted.h"
#include "core/database/log_loader.h"
#include "core/database/lost_edits.h"
#include "core/database/recovered_table.h"
#include "core/database/state.h"
#include "core/formats/foreign_file.h"

namespace recordfs::database {
namespace {

std::size_t half_of_descriptors() {
  struct rlimit limit {};
  return ::getrlimit(RLIMIT_NOFILE, &limit) == 0 ? static_cast<std::size_t>(limit.rlim_cur / 2) : 0;
}

bool is_table(const DirectoryEntry& entry) { return entry.is.kind == FileKind::kTable; }

bool has(const std::vector<DirectoryEntry>& listing, FileKind kind) {
  return std::ranges::any_of(listing, [&](const auto& entry) { return entry.is.kind == kind; });
}

bool has(const std::vector<DirectoryEntry>& listing, const std::string& name) {
  return std::ranges::find(listing, name, &DirectoryEntry::name) != listing.end();
}

// Returns the MANIFEST that was begun last; null: there is none.
const DirectoryEntry* newest_manifest(const std::vector<DirectoryEntry>& listing) {
  const DirectoryEntry* newest = nullptr;
  for (const DirectoryEntry& entry : listing) {
    if (entry.is.kind != FileKind::kManifest) continue;
    if (newest == nullptr || newest->is.number < entry.is.number) newest = &entry;
  }
  return newest;
}

// Adds the timestamp 0 to the keys of a table that was written without timestamps. The end of a deletion of a range is
// before all its versions.
void add_timestamps(TableFile& table, const KeyOrder& order) {
  const Bytes last = user_key_of(as_bytes(table.largest));
  const char of_largest = ends_short_of(table, order.of_user_keys(), last) ? '\xff' : '\0';
  table.smallest.insert(table.smallest.size() - kTagSize, kTimestampSize, '\0');
  table.largest.insert(table.largest.size() - kTagSize, kTimestampSize, of_largest);
}

}  // namespace

// Makes one attempt. The directory may change meanwhile; is_still_there() tells.
class StateLoader {
 public:
  // `lost_edits`: the MANIFEST has lost its last edits, so its state is not used.
  StateLoader(const RequestContext& context, const std::string& directory, const Options& options,
              const std::vector<DirectoryEntry>& only, bool lost_edits)
      : context_(context),
        only_(only),
        lost_edits_(lost_edits),
        lists_directory_(only.empty() || !std::ranges::all_of(only, is_table)),
        state_(new State(options)),
        logs_(context, *state_, only) {
    state_->open_files_ = std::make_unique<OpenFiles>(
        directory, options.open_files, OpenFiles::Rules{.follows_links = !only.empty(), .admits = options.admits});
    for (const DirectoryEntry& file : only) {
      if (file.source != nullptr) state_->open_files_->give(file.name, file.source);
    }
  }

  // Fails with kChanged or kIo if a file is gone.
  Result<void> read() {
    ASSIGN_OR_RETURN(state_->listing_, list());
    for (const DirectoryEntry& entry : state_->listing_) {
      if (entry.is.kind == FileKind::kTable) state_->table_names_.emplace(entry.is.number, entry.name);
      if (entry.is.kind == FileKind::kBlob) state_->blob_names_.emplace(entry.is.number, entry.name);
    }
    TRY(read_options_file());
    TRY(logs_.list_other_directory());
    TRY(read_files());
    logs_.choose_directory();
    TRY(find_comparators());
    make_families();
    find_missing();
    TRY(pin_files());
    TRY(logs_.read());
    return {};
  }

  // Returns whether the directory still has all files of the state, and no newer logs. No MANIFEST says what belongs to
  // files that were given.
  Result<bool> is_still_there() const {
    if (!only_.empty()) return true;
    ASSIGN_OR_RETURN(const auto now, list());
    std::set<std::string> names;
    std::set<std::string> logs;
    for (const DirectoryEntry& entry : now) {
      names.insert(entry.name);
      if (logs_.is_live(entry)) logs.insert(entry.name);
    }
    const auto has_table = [&](const auto& table) {
      return state_->is_missing(table.second) || names.contains(state_->name_of(table.second));
    };
    const auto has_blob_file = [&](const auto& file) {
      const auto name = state_->blob_name(file.first);
      return !name || names.contains(*name);
    };
    return logs == state_->live_logs_ && std::ranges::all_of(state_->files_.tables, has_table) &&
           std::ranges::all_of(state_->files_.blob_files, has_blob_file);
  }

  // Returns whether the MANIFEST seems to have lost its last edits. Fails like Table::open().
  Result<bool> has_lost_edits() const {
    if (!only_.empty() || state_->is_recovered_) return false;
    const FilesOnDisk found{.listing = state_->listing_,
                            .is_log_missing = logs_.is_any_missing(),
                            .is_any_missing = !missing_.empty(),
                            .is_table_missing = !state_->missing_.empty(),
                            .first_logged = logs_.first_sequence(),
                            .last_sequence = state_->last_sequence_,
                            .last_logged_family = logs_.last_family()};
    return recordfs::database::has_lost_edits(context_, files(), state_->files_, found, state_->options_.limits);
  }

  // Returns whether damage in a log may only be what the database wrote while it was read.
  bool may_have_raced() const { return logs_.may_have_raced(); }

  // Returns the size of the MANIFEST before it was read; 0 if there is none.
  std::uint64_t manifest_size() const {
    const auto found = std::ranges::find(state_->listing_, state_->manifest_name_, &DirectoryEntry::name);
    return found == state_->listing_.end() ? 0 : found->size;
  }

  // The numbers of the tables and blob files that the MANIFEST names and the directory does not have.
  const std::set<std::uint64_t>& missing() const { return missing_; }
  std::shared_ptr<const State> take() { return std::move(state_); }

 private:
  OpenFiles& files() const { return *state_->open_files_; }
  void report(std::string file, Error error, bool loses_data = true) {
    state_->report({.file = std::move(file), .error = std::move(error), .loses_data = loses_data});
  }

  Result<std::vector<DirectoryEntry>> list() const {
    if (!lists_directory_) return sorted(only_);
    auto listed = list_directory(files().directory());
    if (only_.empty()) return listed ? with_other_directories(*std::move(listed)) : std::move(listed);
    std::vector<DirectoryEntry> entries = only_;
    const std::vector<DirectoryEntry> others = std::move(listed).value_or(std::vector<DirectoryEntry>());
    std::ranges::copy_if(others, std::back_inserter(entries), [&](const DirectoryEntry& entry) {
      return entry.is.kind == FileKind::kBlob && std::ranges::find(only_, entry) == only_.end();
    });
    return sorted(std::move(entries));
  }

  static std::vector<DirectoryEntry> sorted(std::vector<DirectoryEntry> entries) {
    std::ranges::sort(entries, {}, &DirectoryEntry::name);
    return entries;
  }

  // Lists the blob files beside tables that were given: RocksDB's may refer to them. The directory of one file of
  // LevelDB may have a million others.
  Result<void> list_blob_files() {
    if (std::exchange(lists_directory_, true)) return {};
    ASSIGN_OR_RETURN(state_->listing_, list());
    for (const DirectoryEntry& entry : state_->listing_) {
      if (entry.is.kind == FileKind::kBlob) state_->blob_names_.emplace(entry.is.number, entry.name);
    }
    return {};
  }

  // Adds the tables and blob files of the other directories, and the logs of theirs.
  Result<std::vector<DirectoryEntry>> with_other_directories(std::vector<DirectoryEntry> entries) const {
    for (const std::string& directory : state_->options_.table_directories) {
      TRY(add_files_of(files(), directory, {FileKind::kTable, FileKind::kBlob}, entries));
    }
    if (!logs_.directory().empty()) TRY(add_files_of(files(), logs_.directory(), {FileKind::kLog}, entries));
    return entries;
  }

  // Opens the tables and blob files of the state, so that a compaction cannot change it.
  Result<void> pin_files() {
    const FileSet& set = state_->files_;
    const std::size_t most = state_->options_.pinned_files.value_or(half_of_descriptors());
    if (set.tables.size() + set.blob_files.size() > most) return {};
    for (const auto& [number, table] : set.tables) {
      if (!state_->is_missing(table)) TRY(files().pin(state_->name_of(table)));
    }
    for (const auto& [number, file] : set.blob_files) {
      if (const auto name = state_->blob_name(number)) TRY(files().pin(*name));
    }
    return {};
  }

  // --- the MANIFEST

  Result<void> read_files() {
    if (!only_.empty()) return recover();
    auto current = read_current(context_, files());
    if (current) return read_named_manifest(*current);
    const Code code = current.error().code;
    if (code != Code::kDamage && code != Code::kNotFound) return std::move(current).error();
    const auto& listing = state_->listing_;
    if (!has(listing, FileKind::kManifest) && !has(listing, FileKind::kTable) && !has(listing, FileKind::kLog)) {
      const auto backup = recognize_backup(files().directory());
      return Error{Code::kNoContainer, 0,
                   backup.value_or("the directory has no files of a LevelDB or RocksDB database")};
    }
    return read_newest_manifest(std::move(current).error());
  }

  // CURRENT only says which MANIFEST counts: the last one that was begun. `current`: why it is not known.
  Result<void> read_newest_manifest(Error current) {
    const DirectoryEntry* const newest = newest_manifest(state_->listing_);
    if (newest != nullptr) current.detail += fmt::format("; {} is the newest MANIFEST", newest->name);
    report("CURRENT", std::move(current));
    return newest == nullptr ? recover() : read_named_manifest(std::string(newest->name));
  }

  Result<void> read_named_manifest(const std::string& name) {
    auto source = files().open_anew(name);
    // A file of the listing was removed since.
    if (!source && (!is_gone(source.error()) || has(state_->listing_, name))) return std::move(source).error();
    if (!source) {
      report(name, {.code = Code::kNotFound, .detail = "CURRENT names it, and it does not exist"});
      return recover();
    }
    auto manifest = read_manifest(context_, *source, state_->options_.limits);
    if (!manifest) {
      if (!is_permanent(manifest.error().code)) return std::move(manifest).error();
      report(name, std::move(manifest).error());
      return recover();
    }
    if (!manifest->damage.empty()) {
      for (const Error& error : manifest->damage) report(name, error);
      keep_families(manifest->files);
      return recover();
    }
    if (lost_edits_) {
      report(name, {.code = Code::kDamage, .detail = "the MANIFEST has lost its last edits"});
      note_losses_of(manifest->files);
      keep_families(manifest->files);
      return recover();
    }
    state_->files_ = std::move(manifest->files);
    // The MANIFEST of a RocksDB without tables may have nothing that LevelDB's has not.
    state_->files_.is_rocksdb |= has_options_file_;
    state_->manifest_name_ = name;
    if (state_->files_.torn_at) {
      report(name, {.code = Code::kUnfinished, .position = *state_->files_.torn_at, .detail = "ends inside an edit"},
             false);
    }
    return {};
  }

  // Reads the newest OPTIONS file. Only RocksDB has one.
  Result<void> read_options_file() {
    if (!only_.empty()) return {};
    const auto number = [](const DirectoryEntry& entry) { return options_file_number(entry.name); };
    const auto newest = std::ranges::max_element(state_->listing_, {}, number);
    has_options_file_ = newest != state_->listing_.end() && number(*newest);
    if (!has_options_file_) return {};
    ASSIGN_OR_RETURN(const auto source, files().open_anew(newest->name));
    auto options = read_options(context_, *source);
    if (!options && !is_permanent(options.error().code)) return std::move(options).error();
    if (options) {
      state_->options_file_ = *std::move(options);
    } else {
      report(newest->name, std::move(options).error(), false);
    }
    return {};
  }

  // Files that the MANIFEST names and that are gone may have been replaced by an edit that is lost, or be lost too.
  void note_losses_of(const FileSet& named) {
    state_->is_recovered_ = true;  // so that losses have no age
    for (const auto& [number, table] : named.tables) {
      if (state_->table_names_.contains(number)) continue;
      report_missing(table);
      Loss& loss = state_->losses_.emplace_back(state_->loss_of(table));
      loss.largest_sequence = std::min(loss.largest_sequence, named.last_sequence);
    }
    if (!named.is_rocksdb) logs_.note_lost_edits(named.first_log());
  }

  void keep_families(FileSet& from) {
    state_->files_.families = std::move(from.families);
    state_->files_.is_rocksdb = from.is_rocksdb;
    state_->files_.database_id = std::move(from.database_id);
    state_->files_.last_sequence = from.last_sequence;
    for (auto& [id, family] : state_->files_.families) family.log_number = 0;
  }

  // --- without a MANIFEST

  // Makes the state of all tables and logs.
  Result<void> recover() {
    state_->is_recovered_ = true;
    if (only_.empty()) {
      report({}, {.code = Code::kDamage,
                  .detail = "without the MANIFEST, all tables and logs count: old values and deleted keys may appear, "
                            "and keys may be missing"});
      state_->losses_.push_back({});  // obsolete files may be there, and files of the state may not
    }
    TRY(read_families_of_any_manifest());
    FileSet& set = state_->files_;
    set.families[0].family.name = "default";
    set.is_rocksdb |= has_options_file_;
    RecoveredTables tables{.set = set, .losses = state_->losses_};
    for (const DirectoryEntry& entry : state_->listing_) {
      if (!is_table(entry) || set.tables.contains(entry.is.number)) continue;
      auto unreadable = recover_table(context_, files(), entry, state_->options_.limits, tables);
      if (!unreadable) return std::move(unreadable).error();
      if (!*unreadable) continue;
      state_->losses_.push_back({.cause = cause_of((*unreadable)->code)});
      report(entry.name, **std::move(unreadable));
    }
    if (!only_.empty()) report_overreaching(std::move(tables));
    if (set.is_rocksdb) TRY(list_blob_files());
    for (const DirectoryEntry& entry : state_->listing_) {
      if (entry.is.kind == FileKind::kBlob) set.blob_files[entry.is.number] = {};
    }
    drop_unused_default_family(only_, set);
    return {};
  }

  void report_overreaching(RecoveredTables tables) {
    for (auto& deletions : overreaching_deletions(std::move(tables))) {
      state_->losses_.push_back(std::move(deletions.loss));
      report(deletions.file,
             {.code = Code::kUnsupported,
              .detail = "without the MANIFEST, its deletions of key ranges may hide newer keys of other "
                        "tables"});
    }
  }

  // The names and comparators of families are in no other place for LevelDB's, and for empty ones.
  Result<void> read_families_of_any_manifest() {
    if (state_->files_.families.size() > 1) return {};
    for (const DirectoryEntry& entry : state_->listing_) {
      if (entry.is.kind != FileKind::kManifest) continue;
      auto source = files().open_anew(entry.name);
      if (!source) return std::move(source).error();
      auto manifest = read_manifest(context_, *source, state_->options_.limits);
      if (!manifest && !is_permanent(manifest.error().code)) return std::move(manifest).error();
      if (manifest) keep_families(manifest->files);
    }
    return {};
  }

  // --- families and their tables

  // A MANIFEST need not name the comparators. Then the OPTIONS file does, or a table.
  Result<void> find_comparators() {
    std::map<std::uint32_t, const TableFile*> first_tables;
    for (const auto& [number, table] : state_->files_.tables) {
      if (state_->table_names_.contains(number)) first_tables.try_emplace(table.family, &table);
    }
    for (auto& [id, state] : state_->files_.families) {
      std::string& comparator = state.family.comparator;
      if (!comparator.empty()) continue;
      if (const auto* options = state_->options_file_.family(state.family.name)) {
        comparator = options->comparator;
        state.persists_timestamps = options->persists_timestamps;
      }
      const auto table = first_tables.find(id);
      if (!comparator.empty() || table == first_tables.end()) continue;
      ASSIGN_OR_RETURN(const auto source, files().open(state_->name_of(*table->second)));
      const auto opened = Table::open(context_, source, {}, state_->options_.limits);
      if (opened) comparator = (*opened)->properties().comparator;
      if (!opened && !is_permanent(opened.error().code)) return opened.error();
      // The comparator of a sound LevelDB database is in its MANIFEST.
      if (comparator.empty() && !state_->is_recovered_) comparator = kUnprovedOrder;
    }
    return {};
  }

  void make_families() {
    for (auto& [id, state] : state_->files_.families) {
      state.family.id = id;
      state_->families_[id] = FamilyView(state);
    }
    std::map<std::uint32_t, std::vector<const TableFile*>> tables;
    for (auto& [number, table] : state_->files_.tables) {
      const FamilyView* const family = state_->family(table.family);
      if (table.lacks_timestamps && family != nullptr && family->order.has_timestamps())
        add_timestamps(table, family->order);
      tables[table.family].push_back(&table);
    }
    for (auto& [family, of] : tables) {
      FamilyView& view = state_->families_[family];
      view.runs = runs_of(std::move(of), view.order);
    }
  }

  void find_missing() {
    for (const auto& [number, table] : state_->files_.tables) {
      if (state_->table_names_.contains(number)) continue;
      state_->missing_.insert(number);
      missing_.insert(number);
      state_->losses_.push_back(state_->loss_of(table));
      report_missing(table);
    }
    for (const auto& [number, file] : state_->files_.blob_files) {
      if (state_->blob_names_.contains(number)) continue;
      missing_.insert(number);
      report(fmt::format("{:06}.blob", number),
             {.code = Code::kNotFound, .detail = "the MANIFEST names this blob file, and it does not exist"});
    }
    for (const DirectoryEntry& entry : state_->listing_) check_blob_size(entry);
  }

  // Nothing else tells that an empty or cut file has lost values.
  void check_blob_size(const DirectoryEntry& entry) {
    const auto found = state_->files_.blob_files.find(entry.is.number);
    const bool is_named = entry.is.kind == FileKind::kBlob && found != state_->files_.blob_files.end();
    if (!is_named || entry.size >= found->second.bytes) return;
    report(entry.name, {.code = Code::kDamage,
                        .detail = fmt::format("{}, and the MANIFEST says that its values have {}",
                                              counted(entry.size, "byte"), found->second.bytes)});
  }

  void report_missing(const TableFile& table) {
    std::string where =
        table.path == 0 ? "" : ", unless it is in another of the database's directories (try: --db-path DIR)";
    if (const auto backup = recognize_backup(files().directory())) where = "; the directory is " + *backup;
    report(state_->name_of(table),
           {.code = Code::kNotFound,
            .detail = fmt::format("the MANIFEST names this table, and it does not exist{}", where)});
  }

  const RequestContext& context_;
  const std::vector<DirectoryEntry>& only_;
  const bool lost_edits_;
  bool lists_directory_;
  std::shared_ptr<State> state_;
  std::set<std::uint64_t> missing_;
  LogLoader logs_;
  bool has_options_file_ = false;
};

Result<std::shared_ptr<const State>> State::load(const RequestContext& context, const std::string& directory,
                                                 const Options& options, const std::vector<DirectoryEntry>& only) {
  constexpr int kMostReadings = 30;
  constexpr int kMostPauses = 19;
  constexpr std::chrono::milliseconds kPause(50);
  std::set<std::uint64_t> missing;
  bool lost_edits = false;
  std::optional<std::uint64_t> suspected;  // the size of a MANIFEST that seems to have lost edits
  for (int attempt = 0, pauses = 0; attempt < kMostReadings; ++attempt) {
    StateLoader loader(context, directory, options, only, lost_edits);
    auto read = loader.read();
    if (!read && !is_gone(read.error())) return std::move(read).error();
    if (!read && attempt + 1 == kMostReadings) return std::move(read).error();
    if (!read) continue;
    // A file may have been removed or created while the MANIFEST was read. If it is missing again, it is lost.
    if (std::exchange(missing, loader.missing()) != loader.missing()) continue;
    ASSIGN_OR_RETURN(const auto is_whole, loader.is_still_there());
    if (!is_whole) continue;
    if (loader.may_have_raced() && pauses++ < kMostPauses) {
      TRY(context.permit_slow_work());
      std::this_thread::sleep_for(kPause);  // the writer needs time to go on; nothing tells when it has
      continue;
    }
    if (lost_edits) return loader.take();
    ASSIGN_OR_RETURN(const bool seems_lost, loader.has_lost_edits());
    if (!seems_lost) return loader.take();
    // A database in use may have appended the edits after its MANIFEST was read.
    lost_edits = std::exchange(suspected, loader.manifest_size()) == loader.manifest_size();
  }
  return Error{Code::kChanged, 0, "the database replaces its files faster than they can be read"};
}

}  // namespace recordfs::database
