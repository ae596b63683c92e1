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

// Returns whether there are logs, but not the first one of the state: RocksDB deletes it after an edit that names a
// later one. (After a recovery there need not be one either: the edit then names the number after the last log.)
bool lacks_first_log(const FileSet& set, const FilesOnDisk& found) {
  std::uint64_t first = UINT64_MAX;
  for (const DirectoryEntry& entry : found.listing) {
    if (entry.is.kind == FileKind::kLog) first = std::min(first, entry.is.number);
  }
  return first != UINT64_MAX && first > set.first_log();
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

// Returns whether a complete table has a write that the MANIFEST should name, or one with a sequence number after
// `last` and before `end`.
Result<bool> has_unnamed_write(const RequestContext& context, OpenFiles& files, const DirectoryEntry& entry,
                               const FileSet& set, std::uint64_t last, std::uint64_t end, const Limits& limits) {
  ASSIGN_OR_RETURN(const auto source, files.open(entry.name));
  const auto opened = Table::open(context, source, {}, limits);
  if (!opened && is_permanent(opened.error().code)) return false;
  if (!opened) return opened.error();
  TableIterator entries(
      *opened, [&] { return Result<std::shared_ptr<const Source>>(source); }, [](const Loss&, const Error&) {});
  TRY(entries.to_first(context));
  while (entries.is_valid()) {
    const std::uint64_t sequence = entries.entry().sequence();
    if (sequence > last && sequence < end) return true;
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
  const bool may_be_unlogged = !found.first_logged && !(set.is_rocksdb && lacks_first_log(set, found));
  for (const DirectoryEntry& entry : found.listing) {
    if (entry.is.kind != FileKind::kTable || set.tables.contains(entry.is.number)) continue;
    if (set.removed_tables.contains(entry.is.number)) continue;
    if (found.is_table_missing || found.is_log_missing) return true;
    const std::uint64_t first_logged = found.first_logged.value_or(UINT64_MAX);
    const bool do_logs_follow = first_logged <= set.last_sequence + 1;
    if (do_logs_follow && !set.is_rocksdb) continue;
    if (may_be_unlogged && entry.is.number < set.last_number) continue;
    const std::uint64_t last = do_logs_follow ? found.last_sequence : set.last_sequence;
    const std::uint64_t end = do_logs_follow ? UINT64_MAX : first_logged;
    ASSIGN_OR_RETURN(const bool is_lost, has_unnamed_write(context, files, entry, set, last, end, limits));
    if (is_lost) return true;
  }
  return false;
}

}  // namespace recordfs::database
