#include "core/database/manifest.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <variant>

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
constexpr std::uint32_t kLastTagOfLevelDb = 9;

using Object = Value::Object;

// The fields of a change by their names in leveldb_log's FORMAT.md.
class Fields {
 public:
  explicit Fields(const Object& members) : members_(members) {}

  std::uint64_t number(std::string_view name) const {
    const auto* found = find<std::uint64_t>(name);
    return found == nullptr ? 0 : *found;
  }
  Bytes bytes(std::string_view name) const {
    const auto* found = find<Bytes>(name);
    return found == nullptr ? Bytes() : *found;
  }
  std::string text(std::string_view name) const { return std::string(as_text(bytes(name))); }
  std::string_view name() const {
    const auto* found = find<std::string>("name");
    return found == nullptr ? std::string_view() : *found;
  }
  // Returns the content of an additional field; nullopt if it is absent.
  std::optional<Bytes> custom(std::uint64_t tag) const {
    const auto* list = find<Value::List>("custom");
    if (list == nullptr) return std::nullopt;
    for (const Value& pair : *list) {
      const Fields fields(std::get<Object>(pair.is));
      if (fields.number("custom_tag") == tag) return fields.bytes("value");
    }
    return std::nullopt;
  }
  // The same for a number; 0 if it is absent.
  std::uint64_t custom_number(std::uint64_t tag) const {
    const auto* list = find<Value::List>("custom");
    for (std::size_t i = 0; list != nullptr && i < list->size(); ++i) {
      const Fields fields(std::get<Object>((*list)[i].is));
      if (fields.number("custom_tag") == tag) return fields.number("value");
    }
    return 0;
  }
  bool has(std::string_view name) const { return std::ranges::find(members_, name, &Member::name) != members_.end(); }

 private:
  template <class Type>
  const Type* find(std::string_view name) const {
    const auto found = std::ranges::find(members_, name, &Member::name);
    return found == members_.end() ? nullptr : std::get_if<Type>(&found->value.is);
  }

  const Object& members_;
};

enum CustomTag : std::uint8_t {
  kLeastLogToKeep = 3,
  kOldestBlob = 4,
  kPersistsTimestamps = 16,
  kChecksum = 7,
  kChecksumFunction = 8,
  kPath = 65
};

constexpr std::uint32_t kSyncedSize = 2;  // of a log

// The function "Unknown" means that there is no checksum.
FileChecksum checksum_of(Bytes function, Bytes value) {
  if (as_text(function) == "Unknown") return {};
  return {.function = std::string(as_text(function)), .value = std::string(as_text(value))};
}

// Returns nullopt for a table that cannot be.
std::optional<TableFile> table_of(const Fields& fields, std::uint32_t family) {
  TableFile table{.number = fields.number("number"),
                  .family = family,
                  .level = static_cast<std::uint32_t>(std::min<std::uint64_t>(fields.number("level"), kMostLevels)),
                  .size = fields.number("file_size"),
                  .smallest = fields.text("smallest"),
                  .largest = fields.text("largest"),
                  .path = fields.number("path_id")};
  if (fields.has("smallest_seqno")) table.smallest_sequence = fields.number("smallest_seqno");
  if (fields.has("largest_seqno")) table.largest_sequence = fields.number("largest_seqno");
  if (const auto path = fields.custom(kPath); path && path->size() == 1) {
    table.path = std::to_integer<std::uint64_t>(path->front());
  }
  if (const auto persists = fields.custom(kPersistsTimestamps); persists && persists->size() == 1) {
    table.lacks_timestamps = persists->front() == std::byte{0};
  }
  if (const auto oldest = fields.custom(kOldestBlob)) table.oldest_blob = Cursor(*oldest).varint64();
  if (const auto function = fields.custom(kChecksumFunction)) {
    table.checksum = checksum_of(*function, fields.custom(kChecksum).value_or(Bytes()));
  }
  const bool is_possible = table.number > 0 && table.number <= INT64_MAX && table.level < kMostLevels &&
                           table.smallest.size() >= kTagSize && table.largest.size() >= kTagSize;
  return is_possible ? std::optional(std::move(table)) : std::nullopt;
}

// Applies edits to a FileSet.
class Editor {
 public:
  explicit Editor(FileSet& files) : files_(files) {}

  // Returns whether the edits set what an engine needs to open the database.
  bool is_complete() const { return has_log_number_ && has_next_file_ && has_last_sequence_; }

  // Applies one edit. Fails with kDamage if it contradicts itself or the state, and with kLimit.
  Result<void> apply(const Value::List& edit) {
    family_ = family_of(edit);
    TRY(check_family(edit));
    // An edit may delete a table and add it again at another level.
    for (const Value& change : edit) {
      const Fields fields(std::get<Object>(change.is));
      if (fields.name() == "deleted_file") delete_table(fields);
    }
    for (const Value& change : edit) TRY(apply_change(Fields(std::get<Object>(change.is))));
    return {};
  }

 private:
  static std::uint32_t family_of(const Value::List& edit) {
    std::uint64_t family = 0;
    for (const Value& change : edit) {
      const Fields fields(std::get<Object>(change.is));
      if (fields.name() == "column_family") family = fields.number("value");
    }
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(family, UINT32_MAX));
  }

  // RocksDB rejects a MANIFEST that refers to a family which does not exist, or adds one twice.
  Result<void> check_family(const Value::List& edit) const {
    const auto has = [&](std::string_view name) {
      return std::ranges::any_of(
          edit, [&](const Value& change) { return Fields(std::get<Object>(change.is)).name() == name; });
    };
    const bool exists = files_.families.contains(family_);
    if (has("column_family_add")) {
      if (!exists || family_ == 0) return {};
      return Error{.code = Code::kDamage, .detail = fmt::format("an edit adds column family {} again", family_)};
    }
    if (exists || has("wal_addition") || has("wal_deletion")) return {};
    return Error{.code = Code::kDamage, .detail = fmt::format("an edit of the unknown column family {}", family_)};
  }

  void delete_table(const Fields& fields) {
    const auto found = files_.tables.find(fields.number("number"));
    if (found == files_.tables.end() || found->second.level != fields.number("level")) return;
    tables_of_[found->second.family].erase(found->first);
    if (files_.removed_tables.size() < kMostTables) files_.removed_tables.insert(found->first);
    files_.tables.erase(found);
  }

  Result<void> apply_change(const Fields& fields) {
    const std::string_view name = fields.name();
    const std::uint64_t value = fields.number("value");
    files_.is_rocksdb |= fields.number("tag") > kLastTagOfLevelDb;
    has_log_number_ |= name == "log_number";
    has_next_file_ |= name == "next_file_number";
    has_last_sequence_ |= name == "last_sequence";
    if (name.starts_with("new_file")) return add_table(fields);
    if (name == "comparator") return set_comparator(fields.text("value"));
    if (name == "log_number") return set_log_number(value);
    if (name == "column_family_add") return add_family(fields.text("value"));
    if (name == "column_family_drop") drop_family();
    if (name == "full_history_ts_low") return set_least_timestamp(fields.bytes("value"));
    if (name == "last_sequence") files_.last_sequence = std::max(files_.last_sequence, value);
    if (name == "prev_log_number") files_.previous_log = value;
    if (name == "next_file_number") files_.last_number = std::max(files_.last_number, value);
    if (name == "min_log_number_to_keep") files_.least_log = std::max(files_.least_log, value);
    if (name == "max_column_family") files_.last_family = std::max(files_.last_family, value);
    if (name == "db_id") files_.database_id = fields.text("value");
    if (name == "blob_file_addition") {
      files_.blob_files[fields.number("number")] = {
          .family = family_,
          .values = fields.number("blob_count"),
          .checksum = checksum_of(fields.bytes("checksum_method"), fields.bytes("checksum_value"))};
    }
    if (name == "blob_file_garbage") add_garbage(fields);
    return apply_log_change(fields);
  }

  // A later RocksDB puts the fields into a string, so that an earlier one can skip them.
  Result<void> apply_log_change(const Fields& fields) {
    const std::string_view name = fields.name();
    Cursor cursor(fields.bytes("value"));
    if (name == "wal_addition") track_log(fields.number("number"), fields.custom_number(kSyncedSize));
    if (name == "wal_deletion") forget_logs_before(fields.number("value"));
    if (name == "wal_deletion2") forget_logs_before(cursor.varint64());
    if (name == "wal_addition2") {
      const std::uint64_t number = cursor.varint64();
      std::uint64_t size = 0;
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

  void add_garbage(const Fields& fields) {
    const auto found = files_.blob_files.find(fields.number("number"));
    if (found == files_.blob_files.end()) return;
    const std::uint64_t left = found->second.values - found->second.garbage;
    found->second.garbage += std::min(left, fields.number("blob_count"));
    if (found->second.garbage == found->second.values) files_.blob_files.erase(found);
  }

  Result<void> add_table(const Fields& fields) {
    auto table = table_of(fields, family_);
    if (!table)
      return Error{.code = Code::kDamage, .detail = "the MANIFEST adds a table with an invalid number, level or key"};
    if (const auto log = fields.custom(kLeastLogToKeep); log && log->size() == sizeof(std::uint64_t)) {
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

  Result<void> add_family(std::string name) {
    ASSIGN_OR_RETURN(auto* state, family());
    state->family.name = std::move(name);
    return {};
  }

  void drop_family() {
    files_.families.erase(family_);
    for (const std::uint64_t number : tables_of_[family_]) files_.tables.erase(number);
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
  EditVisitor(Manifest& manifest, const Limits& limits)
      : manifest_(manifest), limits_(limits), editor_(manifest.files) {}

  Result<void> take_record(const RecordPlace& place, Bytes record) override {
    auto edit = leveldb_log::edit_value(record, limits_);
    if (!edit) return report(place.chunk.position, std::move(edit).error());
    auto applied = take_edit(*edit, record);
    if (applied) return {};
    if (applied.error().code == Code::kLimit) return applied;
    return report(place.chunk.position, std::move(applied).error());
  }

  void take_damage(const DamagedRegion& region) override {
    // The end of an edit that was being written, and what an earlier use of the file left.
    manifest_.files.is_torn |= region.damage_class == DamageClass::kUnfinished;
    if (region.damage_class == DamageClass::kUnfinished || region.damage_class == DamageClass::kStale) return;
    (void)report(region.begin, {.code = Code::kDamage, .detail = region.reason});
  }

  void finish() {
    if (editor_.is_complete() || !manifest_.damage.empty()) return;
    (void)report(0, {.code = Code::kDamage, .detail = "the MANIFEST has lost the edits that complete its state"});
  }

 private:
  Result<void> take_edit(const Value& edit, Bytes record) {
    const auto& changes = std::get<Value::List>(edit.is);
    std::optional<std::uint64_t> left;
    for (const Value& change : changes) {
      const Fields fields(std::get<Object>(change.is));
      if (fields.name() == "in_atomic_group") left = fields.number("value");
    }
    if (left) return take_of_group(record, *left);
    if (!std::exchange(group_, {}).empty()) return Error{.code = Code::kDamage, .detail = "a group of edits is cut"};
    return editor_.apply(changes);
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
      ASSIGN_OR_RETURN(const auto edit, leveldb_log::edit_value(as_bytes(held), limits_));
      TRY(editor_.apply(std::get<Value::List>(edit.is)));
    }
    return {};
  }

  Result<void> report(Position at, Error error) {
    error.position = at;
    if (manifest_.damage.size() < kMostDamage) manifest_.damage.push_back(std::move(error));
    return {};
  }

  Manifest& manifest_;
  Limits limits_;
  Editor editor_;
  std::vector<std::string> group_;   // edits of the current group
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
    return first == oldest.end() || file.first < first->second;
  });
}

Result<Manifest> read_manifest(const RequestContext& context, std::shared_ptr<const Source> source,
                               const Limits& limits) {
  Manifest manifest;
  FamilyState& first = manifest.files.families[0];
  first.family = {.name = "default"};
  ASSIGN_OR_RETURN(const auto log, open_log(context, std::move(source), limits));
  EditVisitor visitor(manifest, limits);
  TRY(visit_log(context, *log.container, visitor));
  visitor.finish();
  manifest.files.drop_unused_blob_files();
  return manifest;
}

}  // namespace recordfs::database
