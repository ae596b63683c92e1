#include "fusefs/tree/database/database_tree.h"

#include <algorithm>
#include <array>
#include <vector>

#include "core/hash/fnv.h"
#include "fusefs/tree/database/database_info.h"
#include "fusefs/tree/inode_table.h"
#include "fusefs/tree/names.h"
#include "fusefs/tree/view.h"

namespace recordfs {
namespace {

using database::Operation;

// The fixed nodes. A family's directory has the family in the lower 32 bits.
enum Role : std::uint64_t {
  kRootRole,
  kKeysRole,
  kHistoryRole,
  kFamiliesRole,
  kHistoryFamiliesRole,
  kFamilyRole,
  kHistoryFamilyRole
};

constexpr std::uint64_t kKind = static_cast<std::uint64_t>(NodeKind::kDatabase) << kValueBits;
constexpr std::uint64_t kRowBit = std::uint64_t{1} << (kValueBits - 1);
constexpr int kRoleShift = 32;

constexpr std::string_view kKeysName = "keys";
constexpr std::string_view kHistoryName = "history";
constexpr std::string_view kInfoName = "info.json";

constexpr std::string_view kKeyAttribute = "user.recordfs.key";
constexpr std::string_view kSequenceAttribute = "user.recordfs.sequence";
constexpr std::string_view kOperationAttribute = "user.recordfs.operation";
constexpr std::string_view kTimestampAttribute = "user.recordfs.timestamp";
constexpr std::string_view kStaleAttribute = "user.recordfs.stale";

constexpr std::uint64_t number_of(Role role, std::uint32_t family = 0) {
  return role == kRootRole ? kMountRoot : kKind | static_cast<std::uint64_t>(role) << kRoleShift | family;
}
constexpr bool is_row(std::uint64_t number) {
  return node_kind(number) == NodeKind::kDatabase && (number & kRowBit) != 0;
}
constexpr std::uint64_t row_of(std::uint64_t number) { return number % kRowBit; }

// REQUIRES: the number is not that of a row.
Role role_of(std::uint64_t number) {
  return number == kMountRoot ? kRootRole : static_cast<Role>(number % kRowBit >> kRoleShift);
}

// Returns the inode number of a name in a directory, which is the same in every mount.
std::uint64_t inode_of(DatabaseNode::Kind kind, std::uint32_t family, std::string_view key,
                       std::uint64_t sequence = 0) {
  std::uint64_t hash =
      fnv1a(key, (std::uint64_t{family} << 8 | static_cast<std::uint64_t>(kind)) * 0x9E3779B97F4A7C15u + sequence);
  hash = (hash ^ hash >> 32) * 0xD6E8FEB86659FD93u;
  return kKind | kRowBit | (hash ^ hash >> 32) % kRowBit;
}

// Returns whether the node is a text that this made, and has no attributes of a key.
bool is_text(const DatabaseNode& node) {
  return node.kind == DatabaseNode::Kind::kInfo || node.kind == DatabaseNode::Kind::kNames;
}

std::uint64_t inode_of(const DatabaseNode& node) {
  using Kind = DatabaseNode::Kind;
  if (is_text(node)) return inode_of(node.kind, node.family, {});
  return inode_of(node.kind, node.family, node.key, node.kind == Kind::kVersion ? node.version.sequence : 0);
}

// A version with a value is named by its number alone.
std::string version_name(const database::Version& version) {
  std::string name = std::to_string(version.sequence);
  const bool has_value = version.operation == Operation::kPut || version.operation == Operation::kPutEntity;
  return has_value ? name : name.append(1, '.').append(to_string(version.operation));
}

// Leaves out writes with the number of a newer one, which Database::version() cannot return.
std::vector<database::Version> with_own_numbers(std::vector<database::Version> versions) {
  const auto same = [](const auto& one, const auto& next) { return one.sequence == next.sequence; };
  versions.erase(std::unique(versions.begin(), versions.end(), same), versions.end());
  return versions;
}

std::vector<std::string> names_of(const std::vector<database::Family>& families) {
  std::vector<std::string> names;
  names.reserve(families.size());
  for (const database::Family& family : families) {
    names.push_back(family.name.empty() ? std::to_string(family.id) : family.name);
  }
  return names_for({names.begin(), names.end()}, {});
}

Error not_a_directory() { return {.code = Code::kNotFound, .detail = "not a directory"}; }

}  // namespace

DatabaseTree::DatabaseTree(DatabaseSource source, Files files)
    : database_(std::move(source.database)),
      ownership_(source.ownership),
      filesystem_(source.filesystem),
      report_(std::move(source.report)),
      files_(files),
      keys_(database_) {
  report_problems();
}

std::optional<DatabaseTree::Keys> DatabaseTree::keys_of(std::uint64_t directory) const {
  if (is_row(directory)) return std::nullopt;
  const Role role = role_of(directory);
  const bool is_in_families = role == kFamilyRole || role == kHistoryFamilyRole;
  if (!is_in_families && role != kKeysRole && role != kHistoryRole) return std::nullopt;
  const auto id = is_in_families ? static_cast<std::uint32_t>(directory) : 0;
  const auto families = database_->families();
  const auto found = std::ranges::find(families, id, &database::Family::id);
  if (found == families.end()) return std::nullopt;
  return Keys{*found, role == kHistoryRole || role == kHistoryFamilyRole, is_in_families};
}

// --- names

Result<Subtree::Named> DatabaseTree::lookup(const RequestContext& context, std::uint64_t directory,
                                            std::string_view name) {
  ASSIGN_OR_RETURN(const auto number, lookup_number(context, directory, name));
  return Named{number};
}

Result<std::uint64_t> DatabaseTree::lookup_number(const RequestContext& context, std::uint64_t directory,
                                                  std::string_view name) {
  context.set_filesystem(filesystem_);
  TRY(context.permit_wait_for(filesystem_));
  if (is_row(directory)) {
    const auto node = nodes_.find(row_of(directory));
    if (node == nullptr) return stale_error();
    return node->kind == DatabaseNode::Kind::kHistory ? lookup_version(context, *node, name) : no_such_name();
  }
  const Role role = role_of(directory);
  if (role == kRootRole) return lookup_top(name);
  if (role == kFamiliesRole || role == kHistoryFamiliesRole) return lookup_family(name, role == kHistoryFamiliesRole);
  const auto keys = keys_of(directory);
  if (!keys) return no_such_name();
  if (name == kKeyFamiliesName && !keys->is_in_families) {
    if (!has_families()) return no_such_name();
    return number_of(keys->is_history ? kHistoryFamiliesRole : kFamiliesRole);
  }
  if (name == kNamesTable && !keys->is_history) return lookup_names(context, *keys);
  return lookup_key(context, *keys, name);
}

Result<std::uint64_t> DatabaseTree::lookup_top(std::string_view name) {
  if (name == kKeysName) return number_of(kKeysRole);
  if (name == kHistoryName) return number_of(kHistoryRole);
  if (name == kFilesName) return files_.number;
  if (name != kInfoName) return no_such_name();
  report_problems();
  DatabaseNode info{.kind = DatabaseNode::Kind::kInfo};
  info.key = to_json(database_info(*database_), JsonLayout::kIndented);
  info.size = info.key.size();
  return kKind | kRowBit | nodes_.reference(std::move(info));
}

Result<std::uint64_t> DatabaseTree::lookup_family(std::string_view name, bool is_history) const {
  const auto families = database_->families();
  const auto names = names_of(families);
  const auto found = std::ranges::find(names, name);
  if (found == names.end()) return no_such_name();
  const auto place = static_cast<std::size_t>(found - names.begin());
  return number_of(is_history ? kHistoryFamilyRole : kFamilyRole, families[place].id);
}

Result<std::uint64_t> DatabaseTree::lookup_key(const RequestContext& context, const Keys& in, std::string_view name) {
  const std::uint32_t family = in.family.id;
  ASSIGN_OR_RETURN(std::string key, keys_.key_of(context, family, name));
  if (in.is_history) {
    TRY(database_->history(context, family, as_bytes(key)));
    DatabaseNode node{.kind = DatabaseNode::Kind::kHistory, .is_in_families = in.is_in_families};
    node.family = family;
    node.key = key;
    return kKind | kRowBit | nodes_.reference(std::move(node));
  }
  auto found = keys_.find(context, family, key);
  const bool may_be_damaged =
      found ? found->version.may_be_stale || !found->value : found.error().code == Code::kDamage;
  if (may_be_damaged) report_problems();
  if (!found) return std::move(found).error();
  const std::uint64_t row = nodes_.reference({.kind = DatabaseNode::Kind::kKey,
                                              .family = family,
                                              .key = std::move(key),
                                              .version = std::move(found->version),
                                              .size = found->size(),
                                              .is_readable = found->value.has_value()});
  if (found->value) values_.add(row, *found->value, found->size());
  return kKind | kRowBit | row;
}

Result<std::uint64_t> DatabaseTree::lookup_names(const RequestContext& context, const Keys& in) {
  ASSIGN_OR_RETURN(auto table, keys_.names_table(context, in.family.id));
  report_problems();
  if (table.empty()) return no_such_name();
  DatabaseNode names{.kind = DatabaseNode::Kind::kNames, .family = in.family.id, .key = std::move(table)};
  names.size = names.key.size();
  return kKind | kRowBit | nodes_.reference(std::move(names));
}

Result<std::uint64_t> DatabaseTree::lookup_version(const RequestContext& context, const DatabaseNode& in,
                                                   std::string_view name) {
  const auto sequence = number_from(name.substr(0, name.find('.')));
  if (!sequence) return no_such_name();
  ASSIGN_OR_RETURN(const auto versions, database_->history(context, in.family, as_bytes(in.key)));
  const auto found = std::ranges::find(versions, *sequence, &database::Version::sequence);
  if (found == versions.end() || version_name(*found) != name) return no_such_name();
  DatabaseNode node{.kind = DatabaseNode::Kind::kVersion, .family = in.family, .key = in.key, .version = *found};
  if (found->size && !found->is_in_blob_file) {
    node.size = *found->size;
  } else {
    auto read = database_->version(context, in.family, as_bytes(in.key), *sequence);
    if (!read && !is_permanent(read.error().code) && read.error().code != Code::kNotFound)
      return std::move(read).error();
    node.size = read ? read->value.bytes.size() : 1;
    node.is_readable = read.has_value();
  }
  return kKind | kRowBit | nodes_.reference(std::move(node));
}

void DatabaseTree::forget(std::uint64_t number, std::uint64_t lookups) {
  if (is_row(number) && nodes_.forget(row_of(number), lookups)) values_.drop(row_of(number));
}

// --- attributes and contents

Result<FileStatus> DatabaseTree::status(const RequestContext& context, std::uint64_t number) {
  FileStatus status{number, inode(context, number), FileType::kDirectory, 0, ownership_, CachePolicy::kNumber};
  if (is_row(number)) {
    const auto node = nodes_.find(row_of(number));
    if (node == nullptr) return stale_error();
    if (node->kind != DatabaseNode::Kind::kHistory) status.type = FileType::kRegular;
    status.size = node->size;
    return status;
  }
  if (number != kMountRoot && role_of(number) > kHistoryFamilyRole) return no_such_name();
  const Role role = role_of(number);
  if (role <= kHistoryRole) status.cache_policy = CachePolicy::kPermanent;
  return status;
}

std::uint64_t DatabaseTree::inode(const RequestContext&, std::uint64_t number) {
  if (!is_row(number)) return number;
  const auto node = nodes_.find(row_of(number));
  return node == nullptr ? kMountRoot : inode_of(*node);
}

std::uint64_t DatabaseTree::parent_inode(const RequestContext&, std::uint64_t directory) {
  if (is_row(directory)) {
    const auto node = nodes_.find(row_of(directory));
    if (node == nullptr) return kMountRoot;
    return node->is_in_families ? number_of(kHistoryFamilyRole, node->family) : number_of(kHistoryRole);
  }
  switch (role_of(directory)) {
    case kFamiliesRole: return number_of(kKeysRole);
    case kHistoryFamiliesRole: return number_of(kHistoryRole);
    case kFamilyRole: return number_of(kFamiliesRole);
    case kHistoryFamilyRole: return number_of(kHistoryFamiliesRole);
    default: return kMountRoot;
  }
}

// A merged value, and one that may be older than what recordfs cannot read, are not those of the version alone.
Result<database::VersionedValue> DatabaseTree::read_value(const RequestContext& context, const DatabaseNode& of) const {
  const database::Version& version = of.version;
  const bool is_of_key = version.operation == Operation::kMerge || !of.is_readable;
  if (of.kind == DatabaseNode::Kind::kKey && is_of_key) {
    return database_->get(context, of.family, as_bytes(of.key), version.sequence);
  }
  return database_->version(context, of.family, as_bytes(of.key), version.sequence);
}

Result<Slice> DatabaseTree::read(const RequestContext& context, std::uint64_t file, std::uint64_t offset,
                                 std::uint64_t length) {
  const auto node = is_row(file) ? nodes_.find(row_of(file)) : nullptr;
  if (node == nullptr) return stale_error();
  if (node->kind == DatabaseNode::Kind::kHistory) return no_such_name();
  if (is_text(*node)) return part_of({as_bytes(node->key), node}, offset, length);
  if (auto known = values_.find(row_of(file))) return part_of(*std::move(known), offset, length);
  context.set_filesystem(filesystem_);
  TRY(context.permit_wait_for(filesystem_));
  auto found = read_value(context, *node);
  if (!found && found.error().code == Code::kNotFound) {
    if (node->is_readable) return stale_error();
    return Error{.code = Code::kDamage, .detail = "the value's blob file is missing"};
  }
  if (!found) return std::move(found).error();
  const std::uint64_t size = found->value.bytes.size();
  const bool is_same = size == node->size && found->version.operation == node->version.operation;
  if (node->is_readable && !is_same) return stale_error();
  return part_of(values_.add(row_of(file), std::move(found->value), size), offset, length);
}

std::string DatabaseTree::extended_names(const RequestContext& context, std::uint64_t number) {
  std::string names;
  const auto node = is_row(number) ? nodes_.find(row_of(number)) : nullptr;
  if (node == nullptr || is_text(*node)) return names;
  for (const std::string_view name :
       {kKeyAttribute, kSequenceAttribute, kOperationAttribute, kTimestampAttribute, kStaleAttribute}) {
    if (extended_attribute(context, number, name)) names.append(name).append(1, '\0');
  }
  return names;
}

Result<std::string> DatabaseTree::extended_attribute(const RequestContext& context, std::uint64_t number,
                                                     std::string_view name) {
  const auto node = is_row(number) ? nodes_.find(row_of(number)) : nullptr;
  if (node == nullptr || is_text(*node)) return Subtree::extended_attribute(context, number, name);
  constexpr std::size_t kLargestAttribute = 65536;  // in Linux
  if (name == kKeyAttribute && node->key.size() <= kLargestAttribute) return node->key;
  if (node->kind == DatabaseNode::Kind::kHistory) return Subtree::extended_attribute(context, number, name);
  if (name == kSequenceAttribute) return std::to_string(node->version.sequence);
  if (name == kOperationAttribute) return std::string(to_string(node->version.operation));
  if (name == kTimestampAttribute && node->version.timestamp) return std::to_string(*node->version.timestamp);
  if (name == kStaleAttribute && node->version.may_be_stale) return std::string("1");
  return Subtree::extended_attribute(context, number, name);
}

// --- listings

Result<void> DatabaseTree::list(const RequestContext& context, std::uint64_t directory, std::uint64_t place,
                                const EmitEntry& emit) {
  context.set_filesystem(filesystem_);
  TRY(context.permit_wait_for(filesystem_));
  if (is_row(directory)) {
    const auto node = nodes_.find(row_of(directory));
    if (node == nullptr) return stale_error();
    if (node->kind != DatabaseNode::Kind::kHistory) return not_a_directory();
    return list_versions(context, *node, place, emit);
  }
  const Role role = role_of(directory);
  if (role == kRootRole) return list_top(place, emit);
  if (role == kFamiliesRole || role == kHistoryFamiliesRole) {
    return list_families(role == kHistoryFamiliesRole, place, emit);
  }
  const auto keys = keys_of(directory);
  if (!keys) return role > kHistoryFamilyRole ? Result<void>(not_a_directory()) : Result<void>{};
  return list_keys(context, *keys, place, emit);
}

Result<void> DatabaseTree::list_top(std::uint64_t place, const EmitEntry& emit) const {
  const std::array entries = {
      MountEntry{.name = kInfoName, .inode = inode_of(DatabaseNode::Kind::kInfo, 0, {}), .type = FileType::kRegular},
      MountEntry{.name = kKeysName, .inode = number_of(kKeysRole), .type = FileType::kDirectory},
      MountEntry{.name = kHistoryName, .inode = number_of(kHistoryRole), .type = FileType::kDirectory},
      MountEntry{.name = kFilesName, .inode = files_.inode, .type = FileType::kDirectory}};
  for (; place < entries.size(); ++place) {
    MountEntry entry = entries[static_cast<std::size_t>(place)];
    entry.next = place + 1;
    if (!emit(entry)) break;
  }
  return {};
}

Result<void> DatabaseTree::list_families(bool is_history, std::uint64_t place, const EmitEntry& emit) const {
  const auto families = database_->families();
  const auto names = names_of(families);
  for (; place < names.size(); ++place) {
    const auto at = static_cast<std::size_t>(place);
    const std::uint64_t number = number_of(is_history ? kHistoryFamilyRole : kFamilyRole, families[at].id);
    if (!emit({.name = names[at], .inode = number, .type = FileType::kDirectory, .next = place + 1})) break;
  }
  return {};
}

// Place 0 is that of column-families, whether it is there or not.
Result<void> DatabaseTree::list_keys(const RequestContext& context, const Keys& in, std::uint64_t place,
                                     const EmitEntry& emit) {
  if (place == 0 && !in.is_in_families && has_families()) {
    const std::uint64_t number = number_of(in.is_history ? kHistoryFamiliesRole : kFamiliesRole);
    if (!emit({.name = kKeyFamiliesName, .inode = number, .type = FileType::kDirectory, .next = 1})) return {};
  }
  if (in.is_history) return {};
  const auto take = [&](const KeyFiles::Listed& listed) {
    return emit({.name = listed.name,
                 .inode = inode_of(DatabaseNode::Kind::kKey, in.family.id, listed.key),
                 .type = FileType::kRegular,
                 .next = listed.place + 2});
  };
  TRY(keys_.list(context, in.family, std::max<std::uint64_t>(place, 1) - 1, take));
  report_problems();
  return {};
}

Result<void> DatabaseTree::list_versions(const RequestContext& context, const DatabaseNode& of, std::uint64_t place,
                                         const EmitEntry& emit) const {
  ASSIGN_OR_RETURN(auto stored, database_->history(context, of.family, as_bytes(of.key)));
  const auto versions = with_own_numbers(std::move(stored));
  for (; place < versions.size(); ++place) {
    const database::Version& version = versions[static_cast<std::size_t>(place)];
    const std::string name = version_name(version);
    if (!emit({.name = name,
               .inode = inode_of(DatabaseNode::Kind::kVersion, of.family, of.key, version.sequence),
               .type = FileType::kRegular,
               .next = place + 1})) {
      break;
    }
  }
  return {};
}

void DatabaseTree::report_problems() {
  if (!report_) return;
  for (const database::Problem& problem : database_->problems()) {
    {
      const std::lock_guard lock(mutex_);
      if (reported_.size() == kReported || !reported_.emplace(problem.file, to_string(problem.error)).second) continue;
    }
    report_(problem);
  }
}

}  // namespace recordfs
