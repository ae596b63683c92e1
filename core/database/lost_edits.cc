#include "core/database/lost_edits.h"

#include <algorithm>
#include <memory>

#include "core/database/table.h"

namespace recordfs::database {
namespace {

// Returns whether the last edit of a LevelDB names the newest log, and nothing is missing: LevelDB writes a table only
// after it has begun a new log. (goleveldb also writes the tables of a large batch before their edit.)
bool has_current_log(const FileSet& set, const FilesOnDisk& found) {
  if (set.is_rocksdb || set.is_torn || found.is_any_missing || found.is_log_missing) return false;
  return std::ranges::none_of(found.listing, [&](const DirectoryEntry& entry) {
    return entry.is.kind == FileKind::kLog && entry.is.number > set.first_log();
  });
}

bool is_unnamed_table(const DirectoryEntry& entry, const FileSet& set) {
  return entry.is.kind == FileKind::kTable && !set.tables.contains(entry.is.number) &&
         !set.removed_tables.contains(entry.is.number);
}

// Returns whether a table is newer than all that the MANIFEST has named.
bool is_after_all_named(const DirectoryEntry& entry, const FileSet& set) {
  const std::uint64_t named = set.tables.empty() ? 0 : set.tables.rbegin()->first;
  const std::uint64_t removed = set.removed_tables.empty() ? 0 : *set.removed_tables.rbegin();
  return entry.is.number > std::max(named, removed);
}

// Returns the number of the first log that counts; UINT64_MAX: there is none.
std::uint64_t first_log_on_disk(const FileSet& set, const FilesOnDisk& found) {
  std::uint64_t first = UINT64_MAX;
  for (const DirectoryEntry& entry : found.listing) {
    if (entry.is.kind == FileKind::kLog && entry.is.number >= set.first_log()) first = std::min(first, entry.is.number);
  }
  return first;
}

// Returns whether a RocksDB table is the result of a compaction, whose tables the MANIFEST must have named: only a
// compaction sets sequence numbers to 0. `set` names no table of its family.
bool is_compacted(const Table& table, std::uint64_t sequence, const DirectoryEntry& entry, const FileSet& set) {
  const auto& properties = table.properties();
  const std::uint32_t family = properties.column_family.value_or(0);
  const auto is_of_family = [&](const auto& named) { return named.second.family == family; };
  return set.is_rocksdb && sequence == 0 && !properties.is_external && entry.is.number >= set.last_number &&
         std::ranges::none_of(set.tables, is_of_family);
}

// Which sequence numbers a table without a name does not have: those after `last` and before `end`.
struct Unexpected {
  std::uint64_t last = 0;
  std::uint64_t end = 0;

  bool has(std::uint64_t sequence) const { return sequence > last && sequence < end; }
};

// Returns whether the MANIFEST should name a complete table. If the MANIFEST of a RocksDB ends inside an edit, the edit
// adds a table that is newer than the others: a process that ends writes whole edits.
Result<bool> lacks_its_edit(const RequestContext& context, OpenFiles& files, const DirectoryEntry& entry,
                            const FileSet& set, const Unexpected& sequences, const Limits& limits) {
  ASSIGN_OR_RETURN(const auto source, files.open(entry.name));
  const auto opened = Table::open(context, source, {}, limits);
  if (!opened && is_permanent(opened.error().code)) return false;
  if (!opened) return opened.error();
  if (set.is_torn && set.is_rocksdb && is_after_all_named(entry, set)) return true;
  TableIterator entries(
      *opened, [&] { return Result<std::shared_ptr<const Source>>(source); }, [](const Loss&, const Error&) {});
  TRY(entries.to_first(context));
  while (entries.is_valid()) {
    const std::uint64_t sequence = entries.entry().sequence();
    if (sequences.has(sequence)) return true;
    if (is_compacted(**opened, sequence, entry, set)) return true;
    TRY(entries.next(context));
  }
  return false;
}

}  // namespace

Result<bool> has_lost_edits(const RequestContext& context, OpenFiles& files, const FileSet& set,
                            const FilesOnDisk& found, const Limits& limits) {
  if (found.last_logged_family > set.last_family) return true;
  if (has_current_log(set, found)) return false;
  const std::uint64_t first_log = first_log_on_disk(set, found);
  // A LevelDB that reuses logs names none until its first table, so the logs of any number count.
  const bool names_log = set.first_log() > 0;
  const bool is_log_missing = found.is_log_missing || (!set.is_rocksdb && names_log && first_log > set.first_log());
  const bool has_counting_logs = set.is_rocksdb ? first_log != UINT64_MAX : found.first_logged.has_value();
  const std::uint64_t first_logged = found.first_logged.value_or(UINT64_MAX);
  Unexpected sequences{.last = set.last_sequence, .end = first_logged};
  if (first_logged <= set.last_sequence + 1) {
    sequences = {.last = set.is_rocksdb ? found.last_sequence : UINT64_MAX, .end = UINT64_MAX};
  }
  // RocksDB deletes the oldest log first. What is in no log may have been written without one.
  if (set.is_rocksdb && first_log == set.first_log()) sequences.last = UINT64_MAX;
  for (const DirectoryEntry& entry : found.listing) {
    if (!is_unnamed_table(entry, set)) continue;
    if (found.is_table_missing || is_log_missing) return true;
    if (!has_counting_logs && entry.is.number < set.last_number) continue;  // an old one
    ASSIGN_OR_RETURN(const bool is_lost, lacks_its_edit(context, files, entry, set, sequences, limits));
    if (is_lost) return true;
  }
  return false;
}

}  // namespace recordfs::database
