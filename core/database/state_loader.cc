// Reads the state of a database directory.
#include <algorithm>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "core/base/counted.h"
#include "core/database/log_replay.h"
#include "core/database/state.h"

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
    TRY(read_files());
    make_families();
    find_missing();
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

  // Returns whether the MANIFEST seems to have lost its last edits: the logs have writes of a family that it has not
  // added yet; or it does not name all tables, and files that it names are gone, or the logs do not follow its last
  // write. (A database that was killed also has tables without a name, but then the files from which they were made are
  // still there.)
  Result<bool> has_lost_edits() const {
    if (!only_.empty() || state_->is_recovered_) return false;
    const FileSet& set = state_->files_;
    if (last_logged_family_ > set.last_family) return true;
    for (const DirectoryEntry& entry : state_->listing_) {
      if (entry.is.kind != FileKind::kTable || set.tables.contains(entry.is.number)) continue;
      if (!state_->missing_.empty() || is_log_missing_) return true;
      if (first_logged_) return *first_logged_ > set.last_sequence + 1;
      if (entry.is.number < set.last_number) continue;  // an old one
      ASSIGN_OR_RETURN(const bool is_newer, has_write_after(set.last_sequence, entry));
      if (is_newer) return true;
    }
    return false;
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
    if (only_.empty()) return listed;
    std::vector<DirectoryEntry> entries = only_;
    const std::vector<DirectoryEntry> others = std::move(listed).value_or(std::vector<DirectoryEntry>());
    std::ranges::copy_if(others, std::back_inserter(entries),
                         [](const DirectoryEntry& entry) { return entry.is.kind == FileKind::kBlob; });
    std::ranges::sort(entries, {}, &DirectoryEntry::name);
    return entries;
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
      return Error{Code::kNoContainer, 0, "the directory has no files of a LevelDB or RocksDB database"};
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
    state_->files_.is_rocksdb |= has_options_file();
    state_->manifest_name_ = name;
    return {};
  }

  // Only RocksDB has one.
  bool has_options_file() const {
    return std::ranges::any_of(state_->listing_,
                               [](const DirectoryEntry& entry) { return entry.name.starts_with("OPTIONS-"); });
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

  // Returns whether a complete table has a write with a higher sequence number.
  Result<bool> has_write_after(std::uint64_t sequence, const DirectoryEntry& entry) const {
    ASSIGN_OR_RETURN(const auto source, files().open(entry.name));
    const auto opened = Table::open(context_, source, {}, state_->options_.limits);
    if (!opened && is_permanent(opened.error().code)) return false;
    if (!opened) return opened.error();
    TableIterator entries(
        *opened, [&] { return Result<std::shared_ptr<const Source>>(source); }, [](const Loss&, const Error&) {});
    TRY(entries.to_first(context_));
    while (entries.is_valid()) {
      if (entries.entry().sequence() > sequence) return true;
      TRY(entries.next(context_));
    }
    return false;
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
    set.is_rocksdb |= has_options_file();
    for (const DirectoryEntry& entry : state_->listing_) {
      if (entry.is.kind == FileKind::kBlob) set.blob_files[entry.is.number] = {};
      if (entry.is.kind == FileKind::kTable) TRY(recover_table(entry));
    }
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

  Result<void> recover_table(const DirectoryEntry& entry) {
    TableFile file{.number = entry.is.number, .size = entry.size};
    if (state_->files_.tables.contains(file.number)) return {};
    ASSIGN_OR_RETURN(const auto source, files().open(entry.name));
    auto opened = Table::open(context_, source, {}, state_->options_.limits);
    if (!opened) {
      if (!is_permanent(opened.error().code)) return std::move(opened).error();
      report(entry.name, std::move(opened).error());
      state_->losses_.emplace_back();
      return {};
    }
    state_->files_.is_rocksdb |= (*opened)->dialect().is_rocksdb;
    note_family((*opened)->properties(), file);
    TRY(find_range(*opened, source, file));
    if (!is_bytewise(**opened)) note_unknown_order(file.family);
    if (!file.smallest.empty()) state_->files_.tables.emplace(file.number, std::move(file));
    return {};
  }

  static bool is_bytewise(const Table& table) {
    const auto& blocks = table.blocks();
    for (std::size_t i = 1; i < blocks.size(); ++i) {
      const Bytes last = table.user_key_in_index(blocks.key(i - 1));
      if (KeyOrder().is_before(table.user_key_in_index(blocks.key(i)), last)) return false;
    }
    return true;
  }

  // LevelDB's tables do not name their comparator.
  void note_unknown_order(std::uint32_t family) {
    std::string& comparator = state_->files_.families[family].family.comparator;
    if (comparator.empty()) comparator = "unknown";
  }

  void note_family(const leveldb_table::Properties& properties, TableFile& file) {
    file.family = properties.column_family.value_or(0);
    Family& family = state_->files_.families[file.family].family;
    family.id = file.family;
    if (family.name.empty()) family.name = properties.column_family_name;
    if (family.comparator.empty()) family.comparator = properties.comparator;
  }

  // Sets the smallest and the largest key of a table.
  Result<void> find_range(const std::shared_ptr<const Table>& table, const std::shared_ptr<const Source>& source,
                          TableFile& file) {
    TableIterator entries(
        table, [&] { return Result<std::shared_ptr<const Source>>(source); }, [](const Loss&, const Error&) {});
    TRY(entries.to_first(context_));
    if (entries.is_valid()) {
      const auto& blocks = table->blocks();
      file.smallest = internal(entries.entry().user_key);
      file.largest = internal(table->user_key_in_index(blocks.key(blocks.size() - 1)), true);
    }
    if (!table->range_deletions().empty()) extend_range(table->range_deletions().bounds(), file);
    return {};
  }

  void extend_range(const std::pair<std::string, std::string>& bounds, TableFile& file) const {
    const KeyOrder order = KeyOrder::of(state_->files_.families[file.family].family.comparator);
    const std::string first = internal(as_bytes(bounds.first));
    const std::string last = internal(as_bytes(bounds.second), true);
    const auto is_before = [&](const std::string& a, const std::string& b) {
      return compare_internal(order, as_bytes(a), as_bytes(b)) < 0;
    };
    if (file.smallest.empty() || is_before(first, file.smallest)) file.smallest = first;
    if (file.largest.empty() || is_before(file.largest, last)) file.largest = last;
  }

  // Returns the first or last internal key with a user's key.
  static std::string internal(Bytes user_key, bool is_last = false) {
    std::string key(as_text(user_key));
    key.append(kTagSize, is_last ? '\0' : '\xff');
    return key;
  }

  // --- families and their tables

  void make_families() {
    for (auto& [id, state] : state_->files_.families) {
      state.family.id = id;
      FamilyView& view = state_->families_[id];
      view.order = KeyOrder::of(state.family.comparator);
      state.family.is_ordered = view.order.is_known();
      view.state = state;
    }
    std::map<std::uint32_t, std::vector<const TableFile*>> tables;
    for (const auto& [number, table] : state_->files_.tables) tables[table.family].push_back(&table);
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
  }

  void report_missing(const TableFile& table) {
    const std::string_view where = table.path == 0 ? "" : ", unless it is in another of the database's directories";
    report(state_->name_of(table),
           {.code = Code::kNotFound,
            .detail = fmt::format("the MANIFEST names this table, and it does not exist{}", where)});
  }

  // --- logs

  bool is_live_log(const DirectoryEntry& entry) const {
    if (entry.is.kind != FileKind::kLog) return false;
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
    LogReplay replay(state_->options_, {first_logs(), last_before, !only_.empty()});
    for (const DirectoryEntry* log : logs) {
      TRY(replay.read(context_, files(), log->name, log->is.number));
      state_->live_logs_.insert(log->name);
    }
    replay.writes().finish([&](std::uint32_t id) {
      const FamilyView* view = state_->family(id);
      return view == nullptr ? KeyOrder() : view->order;
    });
    state_->logged_ = std::make_unique<LoggedWrites>(std::move(replay.writes()));
    for (const std::uint32_t id : state_->logged_->families()) state_->families_[id].state.family.id = id;
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

  // LevelDB always has the log that its MANIFEST names. RocksDB may not, and may have its logs elsewhere.
  void report_missing_log(const std::vector<const DirectoryEntry*>& logs) {
    if (state_->is_recovered_) return;
    const std::uint64_t number = state_->files_.first_log();
    if (state_->files_.is_rocksdb && logs.empty()) {
      const char* const what =
          "the directory has no write-ahead log; if the database has another folder for them, the newest writes are "
          "missing";
      report("", {.code = Code::kNotFound, .detail = what}, false);
    }
    if (state_->files_.is_rocksdb) return;
    if (number == 0 || (!logs.empty() && logs.front()->is.number <= number)) return;
    report(fmt::format("{:06}.log", number),
           {.code = Code::kNotFound, .detail = "the MANIFEST names this write-ahead log, and it does not exist"});
    state_->losses_.push_back({.age = Age{.level = -1}});
    is_log_missing_ = true;
  }

  const RequestContext& context_;
  const std::vector<DirectoryEntry>& only_;
  const bool lost_edits_;
  std::shared_ptr<State> state_;
  std::set<std::uint64_t> missing_;
  bool is_log_missing_ = false;
  std::uint64_t lost_log_ = 0;                   // that the MANIFEST named, if it has lost edits
  std::optional<std::uint64_t> first_logged_{};  // sequence number of the first write in the logs
  std::uint32_t last_logged_family_ = 0;         // the largest number of a family with writes in the logs
};

Result<std::shared_ptr<const State>> State::load(const RequestContext& context, const std::string& directory,
                                                 const Options& options, const std::vector<DirectoryEntry>& only) {
  constexpr int kMostReadings = 20;
  std::set<std::uint64_t> missing;
  bool lost_edits = false;
  for (int attempt = 0; attempt < kMostReadings; ++attempt) {
    StateLoader loader(context, directory, options, only, lost_edits);
    auto read = loader.read();
    if (!read && !is_gone(read.error())) return std::move(read).error();
    if (!read && attempt + 1 == kMostReadings) return std::move(read).error();
    if (!read) continue;
    // A file may have been removed or created while the MANIFEST was read. If it is missing again, it is lost.
    if (std::exchange(missing, loader.missing()) != loader.missing()) continue;
    ASSIGN_OR_RETURN(const auto is_whole, loader.is_still_there());
    if (!is_whole) continue;
    if (lost_edits) return loader.take();
    ASSIGN_OR_RETURN(lost_edits, loader.has_lost_edits());
    if (!lost_edits) return loader.take();
  }
  return Error{Code::kChanged, 0, "the database replaces its files faster than they can be read"};
}

}  // namespace recordfs::database
