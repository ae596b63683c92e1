#include "core/database/recovered_table.h"

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "core/database/table.h"

namespace recordfs::database {
namespace {

bool is_index_bytewise(const Table& table) {
  const auto& blocks = table.blocks();
  for (std::size_t i = 1; i < blocks.size(); ++i) {
    const Bytes last = table.user_key_in_index(blocks.key(i - 1));
    if (KeyOrder().is_before(table.user_key_in_index(blocks.key(i)), last)) return false;
  }
  return true;
}

// Returns whether the keys of a table are in bytewise order.
Result<bool> has_bytewise_keys(const RequestContext& context, const std::shared_ptr<const Table>& table,
                               const std::shared_ptr<const Source>& source) {
  TableIterator entries(
      table, [&] { return Result<std::shared_ptr<const Source>>(source); }, [](const Loss&, const Error&) {});
  TRY(entries.to_first(context));
  for (std::string last; entries.is_valid();) {
    const Bytes key = entries.entry().user_key;
    if (KeyOrder().is_before(key, as_bytes(last))) return false;
    last = as_text(key);
    TRY(entries.next(context));
  }
  return true;
}

// Returns the first or last internal key with a user's key.
std::string internal(Bytes user_key, bool is_last = false) {
  std::string key(as_text(user_key));
  key.append(kTagSize, is_last ? '\0' : '\xff');
  return key;
}

void note_family(const leveldb_table::Properties& properties, TableFile& file, FileSet& set) {
  file.family = properties.column_family.value_or(0);
  Family& family = set.families[file.family].family;
  family.id = file.family;
  if (family.name.empty()) family.name = properties.column_family_name;
  if (family.comparator.empty()) family.comparator = properties.comparator;
}

void extend_range(const RangeDeletions& deletions, const KeyOrder& order, TableFile& file) {
  const auto bounds = deletions.bounds();
  const std::string first = internal(as_bytes(order.stored_key(as_bytes(bounds.first), UINT64_MAX)));
  const std::string last = internal(as_bytes(order.stored_key(as_bytes(bounds.second), 0)), true);
  const auto is_before = [&](const std::string& a, const std::string& b) {
    return compare_internal(order, as_bytes(a), as_bytes(b)) < 0;
  };
  if (file.smallest.empty() || is_before(first, file.smallest)) file.smallest = first;
  if (file.largest.empty() || is_before(file.largest, last)) file.largest = last;
}

// Returns the writes that deletions hide, and those of the key at their end. It may be a deletion that a lookup finds.
Loss loss_under(const RangeDeletions& deletions, std::uint32_t family) {
  auto bounds = deletions.bounds();
  return {.family = family,
          .from = std::move(bounds.first),
          .to = std::move(bounds.second),
          .largest_sequence = deletions.largest_sequence() + 1,
          .cause = Code::kUnsupported};
}

// The blocks before the first entry of a table that cannot be read.
struct LostFront {
  std::optional<std::string> last_key{};  // no key of theirs is after it; nullopt: the table has no readable entry
  Error why;
};

// Sets the smallest and the largest key of a table. Returns nullopt if its first blocks can be read.
Result<std::optional<LostFront>> find_range(const RequestContext& context, const std::shared_ptr<const Table>& table,
                                            const std::shared_ptr<const Source>& source, TableFile& file) {
  std::optional<LostFront> lost;
  TableIterator entries(
      table, [&] { return Result<std::shared_ptr<const Source>>(source); },
      [&](const Loss& loss, const Error& why) {
        lost = LostFront{.last_key = loss.to, .why = lost ? lost->why : why};
      });
  TRY(entries.to_first(context));
  if (!entries.is_valid()) {
    if (lost) lost->last_key.reset();
    return lost;
  }
  const auto& blocks = table->blocks();
  Bytes smallest = entries.entry().user_key;
  if (table->lacks_timestamps()) smallest = smallest.first(smallest.size() - kTimestampSize);
  file.smallest = internal(smallest);
  file.largest = internal(table->user_key_in_index(blocks.key(blocks.size() - 1)), true);
  return lost;
}

// Opens a table again if it has deletions of ranges, and its keys are not in bytewise order.
Result<void> sort_deletions(const RequestContext& context, const std::shared_ptr<const Source>& source,
                            const KeyOrder& order, const Limits& limits, std::shared_ptr<const Table>& table) {
  const bool is_bytewise = order.keeps_prefixes_together() && !order.has_timestamps();
  if (is_bytewise || table->range_deletions().size() + table->range_deletions().reversed() == 0) return {};
  ASSIGN_OR_RETURN(table, Table::open(context, source, {.order = order, .may_have_user_keys = true}, limits));
  return {};
}

// Returns the writes that a table may have lost outside its range of keys.
std::optional<Loss> loss_outside(const Table& table, std::uint32_t family, const KeyOrder& order,
                                 const std::optional<LostFront>& lost) {
  if (table.damage()) return Loss{.family = family, .cause = cause_of(table.damage()->code)};
  if (!lost) return std::nullopt;
  Loss loss{.family = family, .cause = cause_of(lost->why.code)};
  if (lost->last_key) loss.to = as_text(order.user_key(as_bytes(*lost->last_key)));
  return loss;
}

}  // namespace

Result<std::optional<Error>> recover_table(const RequestContext& context, OpenFiles& files, const DirectoryEntry& entry,
                                           const Limits& limits, RecoveredTables& tables) {
  FileSet& set = tables.set;
  TableFile file{.number = entry.is.number, .size = entry.size};
  ASSIGN_OR_RETURN(const auto source, files.open(entry.name));
  auto opened = Table::open(context, source, {.may_have_user_keys = true}, limits);
  if (!opened && !is_permanent(opened.error().code)) return std::move(opened).error();
  if (!opened) return std::optional(std::move(opened).error());
  note_family((*opened)->properties(), file, set);
  std::string& comparator = set.families[file.family].family.comparator;
  const KeyOrder users = KeyOrder::of(comparator);
  TRY(sort_deletions(context, source, users, limits, *opened));
  const Table& table = **opened;
  set.is_rocksdb |= table.dialect().is_rocksdb;
  file.lacks_timestamps = table.lacks_timestamps();
  ASSIGN_OR_RETURN(const auto lost, find_range(context, *opened, source, file));
  if (file.smallest.empty() && table.range_deletions().empty()) {
    return lost ? std::optional(lost->why) : std::nullopt;
  }
  const KeyOrder order = table.lacks_timestamps() ? users.of_user_keys() : users;
  if (auto loss = loss_outside(table, file.family, order, lost)) tables.losses.push_back(*std::move(loss));
  if (const RangeDeletions& deletions = table.range_deletions(); !deletions.empty()) {
    extend_range(deletions, order, file);
    tables.overreaching.push_back({entry.name, loss_under(deletions, file.family)});
  }
  // LevelDB's tables do not name their comparator.
  if (comparator.empty()) {
    bool is_bytewise = is_index_bytewise(table);
    // Not with a network that would have to carry the table.
    const bool is_near = source->filesystem() == 0 || source->kept_bytes(0, file.size) == file.size;
    if (is_bytewise && file.size <= tables.untested_bytes && is_near) {
      tables.untested_bytes -= file.size;
      ASSIGN_OR_RETURN(is_bytewise, has_bytewise_keys(context, *opened, source));
    }
    if (!is_bytewise) comparator = kUnprovedOrder;
  }
  set.tables.emplace(file.number, std::move(file));
  return std::optional<Error>();
}

std::vector<RecoveredTables::Overreach> overreaching_deletions(RecoveredTables tables) {
  std::map<std::uint32_t, std::size_t> tables_of;  // by family
  for (const auto& [number, table] : tables.set.tables) ++tables_of[table.family];
  std::erase_if(tables.overreaching, [&](const auto& deletions) { return tables_of[*deletions.loss.family] < 2; });
  return std::move(tables.overreaching);
}

void drop_unused_default_family(const std::vector<DirectoryEntry>& given, FileSet& set) {
  const auto is_table = [](const DirectoryEntry& entry) { return entry.is.kind == FileKind::kTable; };
  const auto is_default = [](const auto& table) { return table.second.family == 0; };
  const bool is_unused = !given.empty() && std::ranges::all_of(given, is_table) && !set.tables.empty() &&
                         std::ranges::none_of(set.tables, is_default);
  if (is_unused) set.families.erase(0);
}

}  // namespace recordfs::database
