// Reads the state of a database directory.
#include <sys/resource.h>

#include <algorithm>
#include <initializer_list>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "core/base/counted.h"
#include "core/database/blob_keys.h"
#include "core/database/change_watch.h"
#include "core/database/log_replay.h"
#include "core/database/lost_edits.h"
#include "core/database/recovered_table.h"
#include "core/database/state.h"
#include "core/database/wal_directory.h"
#include "core/formats/foreign_file.h"

namespace recordfs::database {
// Makes one attempt. The directory may change meanwhile; is_still_there() tells.
class StateLoader {
 public:
  // `lost_edits`: the MANIFEST has lost its last edits, so its state is not used.
  StateLoader(const RequestContext& context, const std::string& directory, const Options& options,
              const std::vector<DirectoryEntry>& only, bool lost_edits)
      : context_(context), only_(only), lost_edits_(lost_edits), state_(new State(options)) {
    state_->open_files_ = std::make_unique<OpenFiles>(directory, options.open_files);
  }

  // Fails with kChanged or kIo if a file is gone.
  Result<void> read() {
    ASSIGN_OR_RETURN(state_->listing_, list());
    for (const DirectoryEntry& entry : state_->listing_) note_name(entry);
    TRY(read_options_file());
    TRY(list_other_logs());
    TRY(read_files());
    choose_logs();
    TRY(find_comparators());
    make_families();
    find_missing();
    TRY(pin_files());
    TRY(read_logs());
    return {};
  }

  // Returns whether the directory still has all files of the state, and no newer logs.
  Result<bool> is_still_there() const {
    ASSIGN_OR_RETURN(const auto now, list());
    std::set<std::string> names;
    std::set<std::string> logs;
    for (const DirectoryEntry& entry : now) {
      names.insert(entry.name);
      if (is_live_log(entry)) logs.insert(entry.name);
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
                            .is_log_missing = is_log_missing_,
                            .is_any_missing = !missing_.empty(),
                            .is_table_missing = !state_->missing_.empty(),
                            .first_logged = first_logged_,
                            .last_logged_family = last_logged_family_};
    return recordfs::database::has_lost_edits(context_, files(), state_->files_, found, state_->options_.limits);
  }

  // Returns whether damage in a log may only be what the database wrote while it was read: it overwrites a recycled
  // log.
  bool may_have_raced() const { return may_have_raced_; }

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
    auto listed = list_directory(files().directory());
    if (only_.empty()) return listed ? with_other_directories(*std::move(listed)) : std::move(listed);
    std::vector<DirectoryEntry> entries = only_;
    const std::vector<DirectoryEntry> others = std::move(listed).value_or(std::vector<DirectoryEntry>());
    std::ranges::copy_if(others, std::back_inserter(entries), [&](const DirectoryEntry& entry) {
      return entry.is.kind == FileKind::kBlob && std::ranges::find(only_, entry) == only_.end();
    });
    std::ranges::sort(entries, {}, &DirectoryEntry::name);
    return entries;
  }

  Result<void> add_files_of(const std::string& directory, std::initializer_list<FileKind> kinds,
                            std::vector<DirectoryEntry>& entries) const {
    ASSIGN_OR_RETURN(auto others, list_directory(files().path(directory)));
    for (DirectoryEntry& entry : others) {
      if (std::ranges::find(kinds, entry.is.kind) == kinds.end()) continue;
      entry.name = directory + "/" + entry.name;
      entries.push_back(std::move(entry));
    }
    return {};
  }

  // Adds the tables and blob files of the other directories, and the logs of theirs.
  Result<std::vector<DirectoryEntry>> with_other_directories(std::vector<DirectoryEntry> entries) const {
    for (const std::string& directory : state_->options_.table_directories) {
      TRY(add_files_of(directory, {FileKind::kTable, FileKind::kBlob}, entries));
    }
    if (!wal_directory_.empty()) TRY(add_files_of(wal_directory_, {FileKind::kLog}, entries));
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

  static std::size_t half_of_descriptors() {
    struct rlimit limit {};
    return ::getrlimit(RLIMIT_NOFILE, &limit) == 0 ? static_cast<std::size_t>(limit.rlim_cur / 2) : 0;
  }

  void note_name(const DirectoryEntry& entry) {
    if (entry.is.kind == FileKind::kTable) state_->table_names_.emplace(entry.is.number, entry.name);
    if (entry.is.kind == FileKind::kBlob) state_->blob_names_.emplace(entry.is.number, entry.name);
  }
  bool has(FileKind kind) const {
    return std::ranges::any_of(state_->listing_, [&](const auto& entry) { return entry.is.kind == kind; });
  }

  // --- the MANIFEST

  Result<void> read_files() {
    if (!only_.empty()) return recover();
    auto current = read_current(context_, files());
    if (current) return read_named_manifest(*current);
    const Code code = current.error().code;
    if (code != Code::kDamage && code != Code::kNotFound) return std::move(current).error();
    if (!has(FileKind::kManifest) && !has(FileKind::kTable) && !has(FileKind::kLog)) {
      const auto backup = recognize_backup(files().directory());
      return Error{Code::kNoContainer, 0,
                   backup.value_or("the directory has no files of a LevelDB or RocksDB database")};
    }
    report("CURRENT", std::move(current).error());
    return recover();
  }

  Result<void> read_named_manifest(const std::string& name) {
    auto source = files().open_anew(name);
    if (!source && is_gone(source.error()) && names_itself(name)) return std::move(source).error();
    if (!source && !is_gone(source.error())) return std::move(source).error();
    if (!source) {
      report(name, {.code = Code::kNotFound, .detail = "CURRENT names it, and it does not exist"});
      return recover();
    }
    auto manifest = read_manifest(context_, std::move(*source), state_->options_.limits);
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
    if (!options) report(newest->name, std::move(options).error(), false);
    if (options) state_->options_file_ = *std::move(options);
    return {};
  }

  // Returns whether the listing has the file, so that it was removed since.
  bool names_itself(const std::string& name) const {
    return std::ranges::any_of(state_->listing_, [&](const auto& entry) { return entry.name == name; });
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
    lost_log_ = named.is_rocksdb ? 0 : named.first_log();
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
                  .detail = "without the MANIFEST, all tables and logs count: old values and deleted keys may appear"});
    }
    TRY(read_families_of_any_manifest());
    FileSet& set = state_->files_;
    set.families[0].family.name = "default";
    set.is_rocksdb |= has_options_file_;
    for (const DirectoryEntry& entry : state_->listing_) {
      if (entry.is.kind == FileKind::kBlob) set.blob_files[entry.is.number] = {};
      if (entry.is.kind != FileKind::kTable || set.tables.contains(entry.is.number)) continue;
      auto unreadable = recover_table(context_, files(), entry, state_->options_.limits,
                                      only_.empty() ? TableOrigin::kDirectory : TableOrigin::kGiven, set);
      if (!unreadable) return std::move(unreadable).error();
      if (!*unreadable) continue;
      state_->losses_.push_back({.cause = cause_of((*unreadable)->code)});
      report(entry.name, **std::move(unreadable));
    }
    drop_unused_default_family(only_, set);
    return {};
  }

  // The names and comparators of families are in no other place for LevelDB's, and for empty ones.
  Result<void> read_families_of_any_manifest() {
    if (state_->files_.families.size() > 1) return {};
    for (const DirectoryEntry& entry : state_->listing_) {
      if (entry.is.kind != FileKind::kManifest) continue;
      auto source = files().open_anew(entry.name);
      if (!source) return std::move(source).error();
      auto manifest = read_manifest(context_, std::move(*source), state_->options_.limits);
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
      if (const auto* options = state_->options_file_.family(state.family.name)) comparator = options->comparator;
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
      FamilyView& view = state_->families_[id];
      view.order = KeyOrder::of(state.family.comparator);
      view.is_order_proved = !state.family.comparator.empty();
      state.family.is_ordered = view.order.is_known();
      state.family.has_timestamps = view.order.has_timestamps();
      view.state = state;
    }
    std::map<std::uint32_t, std::vector<const TableFile*>> tables;
    for (auto& [number, table] : state_->files_.tables) {
      if (table.lacks_timestamps) add_timestamps(table);
      tables[table.family].push_back(&table);
    }
    for (auto& [family, of] : tables) {
      FamilyView& view = state_->families_[family];
      view.runs = runs_of(std::move(of), view.order);
    }
  }

  // Adds the timestamp 0 to the keys of a table that was written without timestamps, if those of its family have them.
  void add_timestamps(TableFile& table) const {
    const FamilyView* family = state_->family(table.family);
    if (family == nullptr || !family->order.has_timestamps()) return;
    table.smallest.insert(table.smallest.size() - kTagSize, kTimestampSize, '\0');
    table.largest.insert(table.largest.size() - kTagSize, kTimestampSize, '\0');
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
  }

  void report_missing(const TableFile& table) {
    std::string where =
        table.path == 0 ? "" : ", unless it is in another of the database's directories (try: --db-path DIR)";
    if (const auto backup = recognize_backup(files().directory())) where = "; the directory is " + *backup;
    report(state_->name_of(table),
           {.code = Code::kNotFound,
            .detail = fmt::format("the MANIFEST names this table, and it does not exist{}", where)});
  }

  // --- logs

  // Finds the directory of the logs if they are not in the database's own.
  // Lists another directory that may have the logs, before the MANIFEST is read.
  Result<void> list_other_logs() {
    if (!only_.empty()) return {};
    other_ = {.name = state_->options_.wal_directory, .problem = {}};
    if (other_.name.empty()) other_ = find_wal_directory(files().directory(), state_->options_file_.wal_directory);
    return other_.name.empty() ? Result<void>() : add_files_of(other_.name, {FileKind::kLog}, other_logs_);
  }

  // Takes the other directory if the database's own has no live logs, or if it was given.
  void choose_logs() {
    const bool has_own =
        std::ranges::any_of(state_->listing_, [this](const DirectoryEntry& entry) { return is_live_log(entry); });
    if (has_own && state_->options_.wal_directory.empty()) return;
    wal_directory_ = other_.name;
    std::ranges::move(other_logs_, std::back_inserter(state_->listing_));
    if (!other_.problem) return;
    const bool is_lost = other_.problem->code == Code::kNotFound;
    report("", *std::move(other_.problem));
    if (is_lost) lose_logs();
  }

  void lose_logs() {
    state_->losses_.push_back({.age = Age{.level = -1}});
    is_log_missing_ = true;
  }

  bool is_live_log(const DirectoryEntry& entry) const {
    if (entry.is.kind != FileKind::kLog) return false;
    if (!wal_directory_.empty() && !entry.name.starts_with(wal_directory_ + "/")) return false;
    const FileSet& set = state_->files_;
    return state_->is_recovered_ || entry.is.number >= set.first_log() ||
           (set.previous_log != 0 && entry.is.number == set.previous_log);
  }

  LogReplay::FirstLogs first_logs() const {
    if (state_->is_recovered_) return std::nullopt;
    std::map<std::uint32_t, std::uint64_t> first;
    for (const auto& [id, family] : state_->files_.families) {
      const std::uint64_t previous = state_->files_.previous_log;
      first[id] = previous == 0 ? family.log_number : std::min(previous, family.log_number);
    }
    return first;
  }

  // Returns the number of the first log that must exist.
  std::uint64_t least_log() const {
    std::uint64_t least = UINT64_MAX;
    for (const auto& [id, family] : state_->files_.families) least = std::min(least, family.log_number);
    return std::max(least, state_->files_.least_log);
  }

  Result<void> read_logs() {
    std::vector<const DirectoryEntry*> logs;
    for (const DirectoryEntry& entry : state_->listing_) {
      if (is_live_log(entry)) logs.push_back(&entry);
    }
    std::ranges::sort(logs, {}, [](const DirectoryEntry* entry) { return entry->is.number; });
    report_missing_log(logs);
    // LevelDB gives its writes consecutive numbers. RocksDB may write without a log.
    std::optional<std::uint64_t> last_before;
    if (!state_->is_recovered_ && !state_->files_.is_rocksdb) last_before = state_->files_.last_sequence;
    std::vector<NumberedLog> numbered;
    ChangeWatch watch;
    for (const DirectoryEntry* log : logs) {
      TRY(files().pin(log->name));
      ASSIGN_OR_RETURN(auto file, files().open(log->name));
      watch.add(std::move(file));
      numbered.push_back({log->name, log->is.number});
      state_->live_logs_.insert(log->name);
    }
    LogReplay::Setup setup{.first_logs = first_logs(), .last_before = last_before, .are_files_alone = !only_.empty()};
    if (!state_->is_recovered_) setup.chain = {least_log(), state_->files_.is_rocksdb};
    ASSIGN_OR_RETURN(const auto replayed, replay_logs(context_, files(), numbered, state_->options_, std::move(setup)));
    LogReplay& replay = *replayed;
    const bool has_loss = std::ranges::any_of(replay.problems(), &Problem::loses_data);
    may_have_raced_ = has_loss && watch.has_changed(context_);
    state_->uncommitted_ = std::make_shared<const SequenceRanges>(replay.uncommitted());
    if (are_blob_files(only_)) TRY(read_blob_files(replay.writes()));
    const auto order_of = [&](std::uint32_t id) {
      const FamilyView* view = state_->family(id);
      return view == nullptr ? KeyOrder() : view->order;
    };
    replay.writes().finish(order_of, *state_->uncommitted_);
    state_->logged_ = std::make_unique<LoggedWrites>(std::move(replay.writes()));
    for (const std::uint32_t id : state_->logged_->families()) {
      Family& family = state_->families_[id].state.family;
      family.id = id;
      const RangeDeletions& deletions = state_->logged_->range_deletions(id);
      const std::size_t reversed = family.comparator.empty() ? deletions.reversed() : 0;
      state_->report_ineffective("", deletions.ineffective() + reversed);
      // Keys of an unknown comparator may have timestamps.
      const bool is_guessed = family.comparator.empty() && state_->is_recovered_ && only_.empty();
      if (is_guessed && state_->files_.is_rocksdb) state_->losses_.push_back({.family = id});
    }
    for (Problem& problem : replay.problems()) state_->report(std::move(problem));
    for (Loss& loss : replay.losses()) state_->losses_.push_back(std::move(loss));
    first_logged_ = replay.first_sequence();
    last_logged_family_ = replay.last_family();
    if (lost_log_ != 0 && (logs.empty() || logs.front()->is.number > lost_log_)) {
      const std::uint64_t first = first_logged_.value_or(UINT64_MAX);
      state_->losses_.push_back({.largest_sequence = first - std::min<std::uint64_t>(first, 1)});
    }
    state_->last_sequence_ = std::max(state_->files_.last_sequence, replay.last_sequence());
    return {};
  }

  Result<void> read_blob_files(LoggedWrites& writes) {
    state_->files_.is_rocksdb = true;
    ASSIGN_OR_RETURN(auto replay, replay_blob_files(context_, files(), only_, state_->options_.limits, writes));
    for (Problem& problem : replay.problems) state_->report(std::move(problem));
    std::ranges::move(replay.losses, std::back_inserter(state_->losses_));
    if (writes.count() > 0 && writes.of_family(0).empty()) state_->families_.erase(0);
    return {};
  }

  // LevelDB always has the log that its MANIFEST names. RocksDB may not, and may have its logs elsewhere.
  void report_missing_log(const std::vector<const DirectoryEntry*>& logs) {
    if (state_->is_recovered_) return;
    report_tracked_logs(logs);
    const std::uint64_t number = state_->files_.first_log();
    if (state_->files_.is_rocksdb && logs.empty() && !is_log_missing_) {
      const char* const what =
          "the directory has no write-ahead log; if the database has another folder for them, the newest writes are "
          "missing";
      report("", {.code = Code::kNotFound, .detail = what}, false);
    }
    if (state_->files_.is_rocksdb) return;
    if (number == 0 || (!logs.empty() && logs.front()->is.number <= number)) return;
    report(fmt::format("{:06}.log", number),
           {.code = Code::kNotFound, .detail = "the MANIFEST names this write-ahead log, and it does not exist"});
    lose_logs();
  }

  // RocksDB may state which logs must exist, and how long they are at least.
  void report_tracked_logs(const std::vector<const DirectoryEntry*>& logs) {
    for (const auto& [number, size] : state_->files_.tracked_logs) {
      if (size == 0) continue;
      const auto found = std::ranges::find(logs, number, [](const DirectoryEntry* log) { return log->is.number; });
      const bool is_missing = found == logs.end();
      if (!is_missing && (*found)->size >= size) continue;
      const std::string name = is_missing ? fmt::format("{:06}.log", number) : (*found)->name;
      const Code code = is_missing ? Code::kNotFound : Code::kDamage;
      const std::string detail =
          is_missing ? "the MANIFEST names this write-ahead log, and it does not exist"
                     : fmt::format("{}, and the MANIFEST says at least {}", counted((*found)->size, "byte"), size);
      report(name, {.code = code, .detail = detail});
      lose_logs();
    }
  }

  const RequestContext& context_;
  const std::vector<DirectoryEntry>& only_;
  const bool lost_edits_;
  std::shared_ptr<State> state_;
  std::set<std::uint64_t> missing_;
  WalDirectory other_;                      // that may have the logs
  std::vector<DirectoryEntry> other_logs_;  // of it
  std::string wal_directory_;               // with the logs; empty: the database's own
  bool has_options_file_ = false;
  bool is_log_missing_ = false;
  bool may_have_raced_ = false;
  std::uint64_t lost_log_ = 0;                   // that the MANIFEST named, if it has lost edits
  std::optional<std::uint64_t> first_logged_{};  // sequence number of the first write in the logs
  std::uint32_t last_logged_family_ = 0;         // the largest number of a family with writes in the logs
};

Result<std::shared_ptr<const State>> State::load(const RequestContext& context, const std::string& directory,
                                                 const Options& options, const std::vector<DirectoryEntry>& only) {
  constexpr int kMostReadings = 20;
  std::set<std::uint64_t> missing;
  bool lost_edits = false;
  std::optional<std::uint64_t> suspected;  // the size of a MANIFEST that seems to have lost edits
  for (int attempt = 0; attempt < kMostReadings; ++attempt) {
    StateLoader loader(context, directory, options, only, lost_edits);
    auto read = loader.read();
    if (!read && !is_gone(read.error())) return std::move(read).error();
    if (!read && attempt + 1 == kMostReadings) return std::move(read).error();
    if (!read) continue;
    // A file may have been removed or created while the MANIFEST was read. If it is missing again, it is lost.
    if (std::exchange(missing, loader.missing()) != loader.missing()) continue;
    ASSIGN_OR_RETURN(const auto is_whole, loader.is_still_there());
    if (!is_whole || (loader.may_have_raced() && attempt + 1 < kMostReadings)) continue;
    if (lost_edits) return loader.take();
    ASSIGN_OR_RETURN(const bool seems_lost, loader.has_lost_edits());
    if (!seems_lost) return loader.take();
    // A database in use may have appended the edits after its MANIFEST was read.
    lost_edits = std::exchange(suspected, loader.manifest_size()) == loader.manifest_size();
  }
  return Error{Code::kChanged, 0, "the database replaces its files faster than they can be read"};
}

}  // namespace recordfs::database
