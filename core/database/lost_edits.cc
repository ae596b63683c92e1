#include "core/database/lost_edits.h"

#include <algorithm>
#include <memory>

#include "core/database/table.h"

namespace recordfs::database {
namespace {

// Returns whether the last edit of a LevelDB names the newest log, and nothing is missing: LevelDB writes a table only
// after it has begun a new log. (goleveldb also writes the tables of a large batch before their edit.)
bool has_current_log(const FileSet& set, const FilesOnDisk& found) {
  if (set.is_rocksdb || set.torn_at || found.is_any_missing || found.is_log_missing) return false;
  return std::ranges::none_of(found.listing, [&](const DirectoryEntry& entry) {
    return entry.is.kind == FileKind::kLog && entry.is.number > set.first_log();
  });
}

bool is_unnamed_table(const DirectoryEntry& entry, const FileSet& set) {
  return entry.is.kind == FileKind::kTable && !set.tables.contains(entry.is.number) &&
         !set.removed_files.contains(entry.is.number);
}

// Returns whether an edit that the MANIFEST does not have may have added a file: a table without a name, or a blob file
// that is newer than all files of the MANIFEST.
bool may_be_of_torn_edit(const DirectoryEntry& entry, const FileSet& set) {
  const bool is_new_blob_file = entry.is.kind == FileKind::kBlob && entry.is.number >= set.last_number;
  return is_unnamed_table(entry, set) || (is_new_blob_file && !set.blob_files.contains(entry.is.number));
}

// Returns the number of the first log that counts; UINT64_MAX: there is none.
std::uint64_t first_log_on_disk(const FileSet& set, const FilesOnDisk& found) {
  std::uint64_t first = UINT64_MAX;
  for (const DirectoryEntry& entry : found.listing) {
    if (entry.is.kind == FileKind::kLog && entry.is.number >= set.first_log()) first = std::min(first, entry.is.number);
  }
  return first;
}

// Which sequence numbers a table without a name does not have: those after `last` and before `end`.
struct Unexpected {
  std::uint64_t last = 0;
  std::uint64_t end = 0;

  bool has(std::uint64_t sequence) const { return sequence > last && sequence < end; }
};

// Looks for tables that the MANIFEST should name.
class UnnamedTables {
 public:
  UnnamedTables(const RequestContext& context, OpenFiles& files, const FileSet& set, const FilesOnDisk& found,
                const Limits& limits)
      : context_(context), files_(files), set_(set), found_(found), limits_(limits), is_rocksdb_(set.is_rocksdb) {}

  // Returns whether the database is RocksDB. Its MANIFEST may say nothing that LevelDB's does not say until it names
  // the first table.
  Result<bool> find_engine() {
    for (const DirectoryEntry& entry : found_.listing) {
      if (is_rocksdb_ || !set_.tables.empty()) break;
      if (entry.is.kind != FileKind::kTable) continue;
      ASSIGN_OR_RETURN(const auto table, open(entry));
      is_rocksdb_ = table && table->dialect().is_rocksdb;
    }
    return is_rocksdb_;
  }

  // Returns whether the MANIFEST should name a complete table with such sequence numbers.
  Result<bool> lacks_its_edit(const DirectoryEntry& entry, const Unexpected& sequences) const {
    ASSIGN_OR_RETURN(const auto table, open(entry));
    if (!table) return false;
    const auto open_again = [&] { return files_.open(entry.name); };
    TableIterator entries(table, open_again, [](const Loss&, const Error&) {});
    TRY(entries.to_first(context_));
    while (entries.is_valid()) {
      const std::uint64_t sequence = entries.entry().sequence();
      if (sequences.has(sequence) || is_compacted(*table, sequence, entry)) return true;
      TRY(entries.next(context_));
    }
    return false;
  }

 private:
  // Returns null for a table that cannot be read.
  Result<std::shared_ptr<const Table>> open(const DirectoryEntry& entry) const {
    ASSIGN_OR_RETURN(const auto source, files_.open(entry.name));
    auto opened = Table::open(context_, source, {}, limits_);
    if (!opened && is_permanent(opened.error().code)) return std::shared_ptr<const Table>();
    return opened;
  }

  // Returns whether a RocksDB table is the result of a compaction, whose tables the MANIFEST must have named: only a
  // compaction sets sequence numbers to 0. The MANIFEST names no table of its family.
  bool is_compacted(const Table& table, std::uint64_t sequence, const DirectoryEntry& entry) const {
    const auto& properties = table.properties();
    const std::uint32_t family = properties.column_family.value_or(0);
    const auto is_of_family = [&](const auto& named) { return named.second.family == family; };
    return is_rocksdb_ && sequence == 0 && !properties.is_external && entry.is.number >= set_.last_number &&
           std::ranges::none_of(set_.tables, is_of_family);
  }

  const RequestContext& context_;
  OpenFiles& files_;
  const FileSet& set_;
  const FilesOnDisk& found_;
  const Limits& limits_;
  bool is_rocksdb_;
};

}  // namespace

Result<bool> has_lost_edits(const RequestContext& context, OpenFiles& files, const FileSet& set,
                            const FilesOnDisk& found, const Limits& limits) {
  if (found.last_logged_family > set.last_family) return true;
  if (has_current_log(set, found)) return false;
  UnnamedTables tables(context, files, set, found, limits);
  ASSIGN_OR_RETURN(const bool is_rocksdb, tables.find_engine());
  // A RocksDB that ends writes whole edits.
  if (is_rocksdb && set.torn_at) {
    const auto may_be = [&](const DirectoryEntry& entry) { return may_be_of_torn_edit(entry, set); };
    if (std::ranges::any_of(found.listing, may_be)) return true;
  }
  const std::uint64_t first_log = first_log_on_disk(set, found);
  // A LevelDB that reuses logs names none until its first table, so the logs of any number count.
  const bool names_log = set.first_log() > 0;
  const bool is_log_missing = found.is_log_missing || (!is_rocksdb && names_log && first_log > set.first_log()) ||
                              (is_rocksdb && is_current_log_gone(set, first_log));
  const bool has_counting_logs = is_rocksdb ? first_log != UINT64_MAX : found.first_logged.has_value();
  const std::uint64_t first_logged = found.first_logged.value_or(UINT64_MAX);
  Unexpected sequences{.last = set.last_sequence, .end = first_logged};
  if (first_logged <= set.last_sequence + 1) {
    sequences = {.last = is_rocksdb ? found.last_sequence : UINT64_MAX, .end = UINT64_MAX};
  }
  // RocksDB deletes the oldest log first. What is in no log may have been written without one.
  const bool is_new_with_its_log = set.first_log() == 0 && first_log < set.last_number;
  const bool has_first_log = is_new_with_its_log || first_log <= std::max(set.first_log(), set.least_log);
  if (is_rocksdb && has_first_log) sequences.last = UINT64_MAX;
  for (const DirectoryEntry& entry : found.listing) {
    if (!is_unnamed_table(entry, set)) continue;
    if (found.is_table_missing || is_log_missing) return true;
    if (!has_counting_logs && entry.is.number < set.last_number) continue;  // an old one
    ASSIGN_OR_RETURN(const bool is_lost, tables.lacks_its_edit(entry, sequences));
    if (is_lost) return true;
  }
  return false;
}

bool is_current_log_gone(const FileSet& set, std::uint64_t first_log) {
  return first_log != UINT64_MAX && set.last_number > 0 && first_log > set.last_number;
}

}  // namespace recordfs::database
