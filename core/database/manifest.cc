#include "core/database/manifest.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "core/base/cursor.h"
#include "core/database/key_order.h"
#include "core/database/log_records.h"
#include "core/formats/leveldb_log/version_edit.h"

namespace recordfs::database {
namespace {

constexpr std::size_t kMostFamilies = 65536;
constexpr std::size_t kMostTables = 4'000'000;
constexpr std::size_t kMostDamage = 1000;

using leveldb_log::Change;
using leveldb_log::ChangeKind;

enum CustomTag : std::uint8_t {
  kLeastLogToKeep = 3,
  kOldestBlob = 4,
  kPersistsTimestamps = 16,
  kChecksum = 7,
  kChecksumFunction = 8,
  kUniqueId = 12,
  kPath = 65
};
constexpr std::uint32_t kMustBeKnown = 64;  // a bit of custom tags

constexpr std::uint32_t kSyncedSize = 2;   // of a log
constexpr std::size_t kUniqueIdSize = 16;  // bytes

// The function "Unknown" means that there is no checksum.
FileChecksum checksum_of(Bytes function, Bytes value) {
  if (as_text(function) == "Unknown") return {};
  return {.function = std::string(as_text(function)), .value = std::string(as_text(value))};
}

// Returns a custom tag of a table that no reader may ignore, and that recordfs does not know; nullopt if there is none.
std::optional<std::uint32_t> unknown_tag_of(const Change& change) {
  for (Cursor cursor(change.custom); !cursor.at_end();) {
    const std::uint32_t tag = cursor.varint32();
    cursor.take(cursor.varint32());
    if ((tag & kMustBeKnown) != 0 && tag != kPath) return tag;
  }
  return std::nullopt;
}

// Returns nullopt for an invalid table.
std::optional<TableFile> table_of(const Change& change, std::uint32_t family) {
  TableFile table{.number = change.number,
                  .family = family,
                  .level = static_cast<std::uint32_t>(std::min<std::uint64_t>(change.level, kMostLevels)),
                  .size = change.size,
                  .smallest = std::string(as_text(change.smallest)),
                  .largest = std::string(as_text(change.largest)),
                  .path = change.path};
  if (change.tag != leveldb_log::kNewFileOfLevelDb) {
    table.smallest_sequence = change.smallest_sequence;
    table.largest_sequence = change.largest_sequence;
  }
  if (const auto path = change.custom_text(kPath); path && path->size() == 1) {
    table.path = std::to_integer<std::uint64_t>(path->front());
  }
  if (const auto persists = change.custom_text(kPersistsTimestamps); persists && persists->size() == 1) {
    table.lacks_timestamps = persists->front() == std::byte{0};
  }
  if (const auto oldest = change.custom_text(kOldestBlob)) table.oldest_blob = Cursor(*oldest).varint64();
  if (const auto id = change.custom_text(kUniqueId); id && id->size() == kUniqueIdSize) table.unique_id = as_text(*id);
  if (const auto function = change.custom_text(kChecksumFunction)) {
    table.checksum = checksum_of(*function, change.custom_text(kChecksum).value_or(Bytes()));
  }
  const bool is_possible = table.number > 0 && table.number <= INT64_MAX && table.level < kMostLevels &&
                           table.smallest.size() >= kTagSize && table.largest.size() >= kTagSize;
  return is_possible ? std::optional(std::move(table)) : std::nullopt;
}

// The properties of an edit as a whole. Its changes are not kept: one edit may add all tables of a large database.
struct EditSummary {
  std::uint32_t family = 0;
  std::optional<std::uint64_t> left_of_group{};  // how many edits of its group follow; nullopt: it is in none
  bool adds_family = false;
  bool is_about_logs = false;
  bool deletes_tables = false;
};

// Fails with kDamage if the record is not an edit to its last byte.
Result<EditSummary> summarize(Bytes record) {
  EditSummary summary;
  TRY(leveldb_log::visit_edit(record, [&](const Change& change) -> Result<void> {
    if (change.kind == ChangeKind::kFamily) {
      summary.family = static_cast<std::uint32_t>(std::min<std::uint64_t>(change.value, UINT32_MAX));
    }
    if (change.kind == ChangeKind::kAtomicGroup) summary.left_of_group = change.value;
    summary.adds_family |= change.kind == ChangeKind::kNewFamily;
    summary.is_about_logs |= change.kind == ChangeKind::kNewLog || change.kind == ChangeKind::kDeletedLogs;
    summary.deletes_tables |= change.kind == ChangeKind::kDeletedTable;
    return {};
  }));
  return summary;
}

void note_removed(FileSet& files, std::uint64_t number) {
  if (files.removed_files.size() < kMostTables) files.removed_files.insert(number);
}

// Applies edits to a FileSet.
class Editor {
 public:
  explicit Editor(FileSet& files) : files_(files) {}

  // Returns whether the edits set what an engine needs to open the database.
  bool is_complete() const { return has_log_number_ && has_next_file_ && has_last_sequence_; }

  // Applies one edit. Fails with kDamage if it contradicts itself or the state, with kUnsupported, and with kLimit.
  Result<void> apply(const EditSummary& summary, Bytes record) {
    family_ = summary.family;
    TRY(check_family(summary));
    // An edit may delete a table and add it again at another level.
    const auto delete_tables = [&](const Change& change) -> Result<void> {
      if (change.kind == ChangeKind::kDeletedTable) delete_table(change);
      return {};
    };
    if (summary.deletes_tables) TRY(leveldb_log::visit_edit(record, delete_tables));
    return leveldb_log::visit_edit(record, [&](const Change& change) { return apply_change(change); });
  }

 private:
  // RocksDB rejects a MANIFEST that refers to a family which does not exist, or adds one twice.
  Result<void> check_family(const EditSummary& summary) const {
    const bool exists = files_.families.contains(family_);
    if (summary.adds_family) {
      if (!exists || family_ == 0) return {};
      return Error{.code = Code::kDamage, .detail = fmt::format("an edit adds column family {} again", family_)};
    }
    if (exists || summary.is_about_logs) return {};
    return Error{.code = Code::kDamage, .detail = fmt::format("an edit of the unknown column family {}", family_)};
  }

  void delete_table(const Change& change) {
    const auto found = files_.tables.find(change.number);
    if (found == files_.tables.end() || found->second.level != change.level) return;
    tables_of_[found->second.family].erase(found->first);
    note_removed(files_, found->first);
    files_.tables.erase(found);
  }

  Result<void> apply_change(const Change& change) {
    const auto raise = [&](std::uint64_t& number) { number = std::max(number, change.value); };
    files_.is_rocksdb |= change.tag > leveldb_log::kLastTagOfLevelDb;
    has_log_number_ |= change.kind == ChangeKind::kLogNumber;
    has_next_file_ |= change.kind == ChangeKind::kNextFileNumber;
    has_last_sequence_ |= change.kind == ChangeKind::kLastSequence;
    switch (change.kind) {
      case ChangeKind::kNewTable: return add_table(change);
      case ChangeKind::kComparator: return set_comparator(std::string(as_text(change.text)));
      case ChangeKind::kLogNumber: return set_log_number(change.value);
      case ChangeKind::kNewFamily: return add_family(std::string(as_text(change.text)));
      case ChangeKind::kDroppedFamily: drop_family(); break;
      case ChangeKind::kLeastTimestamp: return set_least_timestamp(change.text);
      case ChangeKind::kPersistsTimestamps: return set_persists_timestamps(change.text);
      case ChangeKind::kLastSequence: raise(files_.last_sequence); break;
      case ChangeKind::kPreviousLog: files_.previous_log = change.value; break;
      case ChangeKind::kNextFileNumber: raise(files_.last_number); break;
      case ChangeKind::kLeastLogToKeep: raise(files_.least_log); break;
      case ChangeKind::kLargestFamily: raise(files_.last_family); break;
      case ChangeKind::kDatabaseId: files_.database_id = as_text(change.text); break;
      case ChangeKind::kNewBlobFile: return add_blob_file(change);
      case ChangeKind::kBlobGarbage: add_garbage(change); break;
      case ChangeKind::kNewLog: track_log(change.number, change.custom_number(kSyncedSize)); break;
      case ChangeKind::kDeletedLogs: forget_logs_before(change.value); break;
      case ChangeKind::kSkippableNewLog:
      case ChangeKind::kSkippableDeletedLogs: return apply_log_change(change);
      default: break;
    }
    return {};
  }

  // A later RocksDB puts the fields into a string, so that an earlier one can skip them.
  Result<void> apply_log_change(const Change& change) {
    Cursor cursor(change.text);
    const std::uint64_t number = cursor.varint64();
    std::uint64_t size = 0;
    if (change.kind == ChangeKind::kSkippableDeletedLogs) {
      forget_logs_before(number);
    } else {
      for (std::uint32_t tag = cursor.varint32(); cursor.ok() && tag == kSyncedSize; tag = cursor.varint32()) {
        size = cursor.varint64();
      }
      if (cursor.ok()) track_log(number, size);
    }
    if (cursor.ok()) return {};
    return Error{.code = Code::kDamage, .detail = "an edit about a write-ahead log is invalid"};
  }

  void track_log(std::uint64_t number, std::uint64_t size) {
    if (number < first_tracked_ || files_.tracked_logs.size() == kMostTables) return;
    std::uint64_t& known = files_.tracked_logs[number];
    known = std::max(known, size);
  }

  void forget_logs_before(std::uint64_t number) {
    first_tracked_ = std::max(first_tracked_, number);
    files_.tracked_logs.erase(files_.tracked_logs.begin(), files_.tracked_logs.lower_bound(first_tracked_));
  }

  Result<void> add_blob_file(const Change& change) {
    if (files_.blob_files.size() == kMostTables) return Error{.code = Code::kLimit, .detail = "too many blob files"};
    files_.blob_files[change.number] = {.family = family_,
                                        .values = change.blobs,
                                        .bytes = change.blob_bytes,
                                        .checksum = checksum_of(change.checksum_function, change.checksum)};
    return {};
  }

  void add_garbage(const Change& change) {
    const auto found = files_.blob_files.find(change.number);
    if (found == files_.blob_files.end()) return;
    const std::uint64_t left = found->second.values - found->second.garbage;
    found->second.garbage += std::min(left, change.blobs);
    if (found->second.garbage != found->second.values) return;
    note_removed(files_, found->first);
    files_.blob_files.erase(found);
  }

  Result<void> add_table(const Change& change) {
    if (const auto tag = unknown_tag_of(change)) {
      return Error{.code = Code::kUnsupported,
                   .detail = fmt::format("an edit adds table {} with the unknown field {}", change.number, *tag)};
    }
    auto table = table_of(change, family_);
    if (!table)
      return Error{.code = Code::kDamage, .detail = "the MANIFEST adds a table with an invalid number, level or key"};
    if (const auto log = change.custom_text(kLeastLogToKeep); log && log->size() == sizeof(std::uint64_t)) {
      files_.least_log = std::max(files_.least_log, Cursor(*log).u64_le());
    }
    if (files_.tables.size() == kMostTables) return Error{.code = Code::kLimit, .detail = "too many tables"};
    // goleveldb adds a table again when it opens the database.
    if (const auto known = files_.tables.find(table->number); known != files_.tables.end()) {
      if (known->second == *table) return {};
      return Error{.code = Code::kDamage,
                   .detail = fmt::format("an edit adds table {} again, with other fields", table->number)};
    }
    TRY(family());
    files_.last_number = std::max(files_.last_number, table->number);
    tables_of_[table->family].insert(table->number);
    files_.tables.emplace(table->number, std::move(*table));
    return {};
  }

  Result<void> set_comparator(std::string name) {
    ASSIGN_OR_RETURN(auto* state, family());
    state->family.is_ordered = KeyOrder::of(name).is_known();
    state->family.comparator = std::move(name);
    return {};
  }

  Result<void> set_log_number(std::uint64_t number) {
    ASSIGN_OR_RETURN(auto* state, family());
    state->log_number = std::max(state->log_number, number);
    return {};
  }

  Result<void> set_least_timestamp(Bytes timestamp) {
    if (timestamp.size() != kTimestampSize) return {};
    ASSIGN_OR_RETURN(auto* state, family());
    state->least_timestamp = std::max(state->least_timestamp, Cursor(timestamp).u64_le());
    return {};
  }

  Result<void> set_persists_timestamps(Bytes value) {
    ASSIGN_OR_RETURN(auto* state, family());
    state->persists_timestamps = value.size() != 1 || value.front() != std::byte{0};
    return {};
  }

  Result<void> add_family(std::string name) {
    ASSIGN_OR_RETURN(auto* state, family());
    state->family.name = std::move(name);
    return {};
  }

  void drop_family() {
    files_.families.erase(family_);
    for (const std::uint64_t number : tables_of_[family_]) {
      note_removed(files_, number);
      files_.tables.erase(number);
    }
    tables_of_.erase(family_);
  }

  Result<FamilyState*> family() {
    if (files_.families.size() == kMostFamilies && !files_.families.contains(family_)) {
      return Error{.code = Code::kLimit, .detail = "too many column families"};
    }
    files_.last_family = std::max<std::uint64_t>(files_.last_family, family_);
    FamilyState& state = files_.families[family_];
    state.family.id = family_;
    if (family_ == 0) state.family.name = "default";
    return &state;
  }

  FileSet& files_;
  std::map<std::uint32_t, std::set<std::uint64_t>> tables_of_;  // the numbers of each family's tables
  std::uint64_t first_tracked_ = 0;                             // logs before this one need not exist
  std::uint32_t family_ = 0;
  bool has_log_number_ = false, has_next_file_ = false, has_last_sequence_ = false;
};

// Reads the edits of a MANIFEST in order.
class EditVisitor final : public LogVisitor {
 public:
  explicit EditVisitor(Manifest& manifest) : manifest_(manifest), editor_(manifest.files) {}

  Result<void> take_record(const RecordPlace& place, Bytes record) override {
    if (group_.empty()) group_begin_ = place.chunk.position;
    auto summary = summarize(record);
    if (!summary) return report(place.chunk.position, std::move(summary).error());
    auto applied = take_edit(*summary, record);
    if (applied) return {};
    if (applied.error().code == Code::kLimit) return applied;
    return report(place.chunk.position, std::move(applied).error());
  }

  Result<void> take_damage(const RequestContext&, const DamagedRegion& region) override {
    // The end of an edit that was being written, and what an earlier use of the file left.
    if (region.damage_class == DamageClass::kUnfinished) manifest_.files.torn_at = region.begin;
    if (region.damage_class == DamageClass::kUnfinished || region.damage_class == DamageClass::kStale) return {};
    return report(region.begin, {.code = Code::kDamage, .detail = region.reason});
  }

  void finish() {
    if (!group_.empty()) manifest_.files.torn_at = group_begin_;
    if (editor_.is_complete() || !manifest_.damage.empty()) return;
    (void)report(0, {.code = Code::kDamage, .detail = "the MANIFEST has lost the edits that complete its state"});
  }

 private:
  Result<void> take_edit(const EditSummary& summary, Bytes record) {
    if (summary.left_of_group) return take_of_group(record, *summary.left_of_group);
    if (!std::exchange(group_, {}).empty()) return Error{.code = Code::kDamage, .detail = "a group of edits is cut"};
    return editor_.apply(summary, record);
  }

  // The edits of a group take effect together, or not at all. Each states how many follow it.
  Result<void> take_of_group(Bytes record, std::uint64_t left) {
    constexpr std::size_t kMostOfGroup = 64 << 20;
    if (group_.empty()) group_bytes_ = 0;
    group_bytes_ += record.size();
    if (group_bytes_ > kMostOfGroup) return Error{.code = Code::kLimit, .detail = "too large a group of edits"};
    if (!group_.empty() && left + 1 != left_of_group_) {
      group_.clear();
      return Error{.code = Code::kDamage, .detail = "a group of edits is not complete"};
    }
    left_of_group_ = left;
    group_.emplace_back(as_text(record));
    if (left > 0) return {};
    for (const std::string& held : std::exchange(group_, {})) {
      ASSIGN_OR_RETURN(const auto summary, summarize(as_bytes(held)));
      TRY(editor_.apply(summary, as_bytes(held)));
    }
    return {};
  }

  Result<void> report(Position at, Error error) {
    error.position = at;
    if (manifest_.damage.size() < kMostDamage) manifest_.damage.push_back(std::move(error));
    return {};
  }

  Manifest& manifest_;
  Editor editor_;
  std::vector<std::string> group_;  // edits of the current group
  Position group_begin_ = 0;
  std::size_t group_bytes_ = 0;      // of its edits
  std::uint64_t left_of_group_ = 0;  // how many follow the last one
};

}  // namespace

std::uint64_t FileSet::first_log() const {
  std::uint64_t first = UINT64_MAX;
  for (const auto& [id, state] : families) first = std::min(first, state.log_number);
  if (first == UINT64_MAX) first = 0;
  if (least_log != 0) first = std::min(first, least_log);
  return first;
}

void FileSet::drop_unused_blob_files() {
  std::map<std::uint32_t, std::uint64_t> oldest;
  for (const auto& [number, table] : tables) {
    if (table.oldest_blob == 0) continue;
    std::uint64_t& first = oldest.try_emplace(table.family, table.oldest_blob).first->second;
    first = std::min(first, table.oldest_blob);
  }
  std::erase_if(blob_files, [&](const auto& file) {
    const auto first = oldest.find(file.second.family);
    const bool is_unused = first == oldest.end() || file.first < first->second;
    if (is_unused) note_removed(*this, file.first);
    return is_unused;
  });
}

Result<Manifest> read_manifest(const RequestContext& context, const std::shared_ptr<const Source>& source,
                               const Limits& limits) {
  Manifest manifest;
  FamilyState& first = manifest.files.families[0];
  first.family = {.name = "default"};
  ASSIGN_OR_RETURN(const auto log, open_log(context, source, limits));
  EditVisitor visitor(manifest);
  TRY(visit_log(context, *source, *log.container, visitor));
  visitor.finish();
  manifest.files.drop_unused_blob_files();
  return manifest;
}

}  // namespace recordfs::database
