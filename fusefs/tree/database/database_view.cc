// keys/, history/ and info.json of a database that is the root of a mount.
#include "fusefs/tree/database/database_view.h"

#include <algorithm>
#include <array>
#include <mutex>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/base/bounded_lru.h"
#include "core/decoding/file_names.h"
#include "core/hash/fnv.h"
#include "fusefs/tree/database/database_info.h"
#include "fusefs/tree/database/key_files.h"

namespace recordfs {
namespace {

using database::Operation;

// The directories, which are part of inode numbers. A family's directory has the family in the lower 32 bits.
enum Role : std::uint64_t {
  kRootRole,
  kKeysRole,
  kHistoryRole,
  kFamiliesRole,
  kHistoryFamiliesRole,
  kFamilyRole,
  kHistoryFamilyRole
};

// A file, or the directory of a key in history/, that a name was found to mean. Immutable, so what the kernel caches of
// it stays true.
struct DatabaseNode : NodeKey {
  enum class Kind : std::uint8_t {
    kKey,      // a file in keys/: the newest value when it was looked up
    kHistory,  // the directory of a key in history/
    kVersion,  // a file in it
    kInfo,     // info.json: its text is key()
    kNames,    // names.tsv of a family: its text is key()
  };
  Kind kind = Kind::kKey;
  bool is_in_families = false;  // of kHistory: it is below column-families/
  std::uint32_t family = 0;
  std::size_t key_size = 0;
  database::Version version{};  // of kKey and kVersion
  std::uint64_t size = 0;       // of a file, in bytes; 1 if the value is unreadable
  bool is_readable = true;

  // NodeKey::text has what makes two nodes equal; the key is the last of it.
  std::string_view key() const { return std::string_view(text).substr(text.size() - key_size); }
  // Returns whether it is a generated text, which has no attributes of a key.
  bool is_text() const { return kind == Kind::kInfo || kind == Kind::kNames; }
};
using Kind = DatabaseNode::Kind;

constexpr std::uint64_t kFileBit = std::uint64_t{1} << (kValueBits - 1);
constexpr int kRoleShift = 32;

constexpr std::string_view kKeysName = "keys";
constexpr std::string_view kHistoryName = "history";
constexpr std::string_view kInfoName = "info.json";

constexpr std::string_view kKeyAttribute = "user.recordfs.key";
constexpr std::string_view kSequenceAttribute = "user.recordfs.sequence";
constexpr std::string_view kOperationAttribute = "user.recordfs.operation";
constexpr std::string_view kTimestampAttribute = "user.recordfs.timestamp";
constexpr std::string_view kStaleAttribute = "user.recordfs.stale";
constexpr std::array kNamesOfVersion = {kKeyAttribute, kSequenceAttribute, kOperationAttribute, kTimestampAttribute,
                                        kStaleAttribute};

constexpr std::array kDatabaseKinds = {
    KindEntry{NodeKind::kDatabase, {ViewId::kStatic, FileType::kDirectory}},
    KindEntry{NodeKind::kDatabaseNode, {.view = ViewId::kStatic, .extended = kNamesOfVersion}},
};

Node directory_of(Role role, std::uint32_t family = 0) {
  return role == kRootRole ? Node{}
                           : Node{NodeKind::kDatabase, static_cast<std::uint64_t>(role) << kRoleShift | family};
}
Role role_of(const Node& directory) {
  return directory == Node{} ? kRootRole : static_cast<Role>(directory.value >> kRoleShift);
}

// Returns the node of a name in a directory. Its value is a part of its inode number, and the same in every mount. Only
// a node that was looked up has a key.
Node node_of(Kind kind, std::uint32_t family, std::string_view key, std::uint64_t sequence = 0) {
  std::uint64_t hash =
      fnv1a(key, (std::uint64_t{family} << 8 | static_cast<std::uint64_t>(kind)) * 0x9E3779B97F4A7C15u + sequence);
  hash = (hash ^ hash >> 32) * 0xD6E8FEB86659FD93u;
  return {NodeKind::kDatabaseNode, kFileBit | (hash ^ hash >> 32) % kFileBit};
}

Node node_of(DatabaseNode found, std::string key) {
  const std::uint64_t sequence = found.kind == Kind::kVersion ? found.version.sequence : 0;
  Node node = node_of(found.kind, found.family, found.is_text() ? std::string_view() : key, sequence);
  found.key_size = key.size();
  found.text = std::move(key);
  found.text.insert(
      0, fmt::format("{} {} {} {} {} {} {} ", static_cast<int>(found.kind), found.is_in_families, found.is_readable,
                     found.family, found.version.sequence, static_cast<int>(found.version.operation), found.size));
  node.key = std::make_shared<const DatabaseNode>(std::move(found));
  return node;
}

// Returns null for a directory other than that of a key.
const DatabaseNode* found_of(const Node& node) {
  return node.kind == NodeKind::kDatabaseNode ? std::static_pointer_cast<const DatabaseNode>(node.key).get() : nullptr;
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

// A directory of keys.
struct Keys {
  database::Family family;
  bool is_history = false;
  bool is_in_families = false;
};

class DatabaseView final : public View {
 public:
  DatabaseView(const NodeTree& nodes, DatabaseSource source, FilesDirectory files)
      : View(nodes),
        database_(std::move(source.database)),
        filesystem_(source.filesystem),
        report_(std::move(source.report)),
        files_(files),
        keys_(database_) {
    report_problems();
  }

  Result<Node> lookup(const RequestContext& context, Node directory, std::string_view name) const override {
    TRY(context.permit_wait_for(filesystem_));
    if (const DatabaseNode* of = found_of(directory)) {
      return of->kind == Kind::kHistory ? lookup_version(context, *of, name) : no_such_name();
    }
    const Role role = role_of(directory);
    if (role == kRootRole) return lookup_top(name);
    if (role == kFamiliesRole || role == kHistoryFamiliesRole) return lookup_family(name, role == kHistoryFamiliesRole);
    const auto keys = keys_of(directory);
    if (!keys) return no_such_name();
    if (name == kKeyFamiliesName && !keys->is_in_families) {
      if (!has_families()) return no_such_name();
      return directory_of(keys->is_history ? kHistoryFamiliesRole : kFamiliesRole);
    }
    if (name == kNamesTable && !keys->is_history) return lookup_names(context, *keys);
    return lookup_key(context, *keys, name);
  }

  Result<void> list(const RequestContext& context, Node directory, std::uint64_t place,
                    const Emit& emit) const override {
    TRY(context.permit_wait_for(filesystem_));
    const DatabaseNode* of = found_of(directory);
    if (of != nullptr && of->kind == Kind::kHistory) return list_versions(context, *of, place, emit);
    const Role role = role_of(directory);
    if (of != nullptr || role > kHistoryFamilyRole) return View::list(context, directory, place, emit);
    if (role == kRootRole) return list_top(place, emit);
    if (role == kFamiliesRole || role == kHistoryFamiliesRole) {
      return list_families(role == kHistoryFamiliesRole, place, emit);
    }
    const auto keys = keys_of(directory);
    return keys ? list_keys(context, *keys, place, emit) : Result<void>{};
  }

  Result<NodeAttributes> attributes(const RequestContext&, Node node) const override {
    if (const DatabaseNode* of = found_of(node)) {
      const FileType type = of->kind == Kind::kHistory ? FileType::kDirectory : FileType::kRegular;
      return NodeAttributes{type, of->size, CachePolicy::kNumber};
    }
    const Role role = role_of(node);
    if (role > kHistoryFamilyRole) return no_such_name();
    return NodeAttributes{FileType::kDirectory, 0,
                          role <= kHistoryRole ? CachePolicy::kPermanent : CachePolicy::kNumber};
  }

  Node parent(const RequestContext&, Node directory) const override {
    if (const DatabaseNode* of = found_of(directory)) {
      return of->is_in_families ? directory_of(kHistoryFamilyRole, of->family) : directory_of(kHistoryRole);
    }
    switch (role_of(directory)) {
      case kFamiliesRole: return directory_of(kKeysRole);
      case kHistoryFamiliesRole: return directory_of(kHistoryRole);
      case kFamilyRole: return directory_of(kFamiliesRole);
      case kHistoryFamilyRole: return directory_of(kHistoryFamiliesRole);
      default: return {};
    }
  }

  Result<Slice> read(const RequestContext& context, Node file, std::uint64_t offset,
                     std::uint64_t length) const override {
    const DatabaseNode* of = found_of(file);
    if (of == nullptr || of->kind == Kind::kHistory) return no_such_name();
    if (of->is_text()) return part_of({as_bytes(of->key()), file.key}, offset, length);
    if (auto known = values_.find(of->text)) return part_of(*std::move(known), offset, length);
    TRY(context.permit_wait_for(filesystem_));
    auto found = read_value(context, *of);
    if (!found && found.error().code == Code::kNotFound) {
      if (of->is_readable) return stale_error();
      return Error{.code = Code::kDamage, .detail = "the value's blob file is missing"};
    }
    if (!found) return std::move(found).error();
    const std::uint64_t size = found->value.bytes.size();
    const bool is_same = size == of->size && found->version.operation == of->version.operation;
    if (of->is_readable && !is_same) return stale_error();
    return part_of(values_.add(of->text, std::move(found->value), size), offset, length);
  }

  std::string extended_names(const RequestContext& context, Node node) const override {
    std::string names;
    for (const std::string_view name : kNamesOfVersion) {
      if (extended_attribute(context, node, name)) names.append(name).append(1, '\0');
    }
    return names;
  }

  Result<std::string> extended_attribute(const RequestContext& context, Node node,
                                         std::string_view name) const override {
    constexpr std::size_t kLargestAttribute = 65536;  // in Linux
    const DatabaseNode* of = found_of(node);
    if (of == nullptr || of->is_text()) return View::extended_attribute(context, node, name);
    const database::Version& version = of->version;
    if (name == kKeyAttribute && of->key_size <= kLargestAttribute) return std::string(of->key());
    if (of->kind == Kind::kHistory) return View::extended_attribute(context, node, name);
    if (name == kSequenceAttribute) return std::to_string(version.sequence);
    if (name == kOperationAttribute) return std::string(to_string(version.operation));
    if (name == kTimestampAttribute && version.timestamp) return std::to_string(*version.timestamp);
    if (name == kStaleAttribute && version.may_be_stale) return std::string("1");
    return View::extended_attribute(context, node, name);
  }

 private:
  static constexpr std::size_t kReported = 65536;
  static constexpr std::size_t kValues = 64;
  static constexpr std::uint64_t kValueBytes = 16u << 20;

  std::optional<Keys> keys_of(const Node& directory) const {
    const Role role = role_of(directory);
    const bool is_in_families = role == kFamilyRole || role == kHistoryFamilyRole;
    if (!is_in_families && role != kKeysRole && role != kHistoryRole) return std::nullopt;
    const auto id = is_in_families ? static_cast<std::uint32_t>(directory.value) : 0;
    const auto families = database_->families();
    const auto found = std::ranges::find(families, id, &database::Family::id);
    if (found == families.end()) return std::nullopt;
    return Keys{*found, role == kHistoryRole || role == kHistoryFamilyRole, is_in_families};
  }

  bool has_families() const { return database_->families().size() > 1; }
  bool has_files() const { return files_.inode != 0; }
  Node files_node() const { return {node_kind(files_.number), files_.number % kValuesOfAKind}; }

  // --- lookups

  Result<Node> lookup_top(std::string_view name) const {
    if (name == kKeysName) return directory_of(kKeysRole);
    if (name == kHistoryName) return directory_of(kHistoryRole);
    if (name == kDatabaseFilesName && has_files()) return files_node();
    if (name != kInfoName) return no_such_name();
    report_problems();
    return text_node(Kind::kInfo, 0, to_json(database_info(*database_), JsonLayout::kIndented));
  }

  Result<Node> lookup_family(std::string_view name, bool is_history) const {
    const auto families = database_->families();
    const auto names = names_of(families);
    const auto found = std::ranges::find(names, name);
    if (found == names.end()) return no_such_name();
    const auto place = static_cast<std::size_t>(found - names.begin());
    return directory_of(is_history ? kHistoryFamilyRole : kFamilyRole, families[place].id);
  }

  Result<Node> lookup_key(const RequestContext& context, const Keys& in, std::string_view name) const {
    const std::uint32_t family = in.family.id;
    ASSIGN_OR_RETURN(std::string key, keys_.key_of(context, family, name));
    if (in.is_history) {
      TRY(database_->history(context, family, as_bytes(key)));
      DatabaseNode history;
      history.kind = Kind::kHistory;
      history.is_in_families = in.is_in_families;
      history.family = family;
      return node_of(std::move(history), std::move(key));
    }
    auto found = keys_.find(context, family, key);
    const bool may_be_damaged =
        found ? found->version.may_be_stale || !found->value : found.error().code == Code::kDamage;
    if (may_be_damaged) report_problems();
    if (!found) return std::move(found).error();
    DatabaseNode value;
    value.family = family;
    value.version = std::move(found->version);
    value.size = found->size();
    value.is_readable = found->value.has_value();
    Node node = node_of(std::move(value), std::move(key));
    if (!found->value) return node;
    values_.drop(node.key->text);
    values_.add(node.key->text, *found->value, found->size());
    return node;
  }

  // Reads all keys of the family.
  Result<Node> lookup_names(const RequestContext& context, const Keys& in) const {
    ASSIGN_OR_RETURN(auto table, keys_.names_table(context, in.family.id));
    report_problems();
    if (table.empty()) return no_such_name();
    return text_node(Kind::kNames, in.family.id, std::move(table));
  }

  static Node text_node(Kind kind, std::uint32_t family, std::string text) {
    DatabaseNode node;
    node.kind = kind;
    node.family = family;
    node.size = text.size();
    return node_of(std::move(node), std::move(text));
  }

  Result<Node> lookup_version(const RequestContext& context, const DatabaseNode& in, std::string_view name) const {
    const auto sequence = number_from(name.substr(0, name.find('.')));
    if (!sequence) return no_such_name();
    ASSIGN_OR_RETURN(const auto versions, database_->history(context, in.family, as_bytes(in.key())));
    const auto found = std::ranges::find(versions, *sequence, &database::Version::sequence);
    if (found == versions.end() || version_name(*found) != name) return no_such_name();
    DatabaseNode version;
    version.kind = Kind::kVersion;
    version.family = in.family;
    version.version = *found;
    if (found->size && !found->is_in_blob_file) {
      version.size = *found->size;
    } else {
      auto read = database_->version(context, in.family, as_bytes(in.key()), *sequence);
      if (!read && !is_permanent(read.error().code) && read.error().code != Code::kNotFound) {
        return std::move(read).error();
      }
      version.size = read ? read->value.bytes.size() : 1;
      version.is_readable = read.has_value();
    }
    return node_of(std::move(version), std::string(in.key()));
  }

  // Returns the value of a file in keys/ or history/. Fails like Database::get() and Database::version(). A merged
  // value, and one that may be older than what recordfs cannot read, are not those of the version alone.
  Result<database::VersionedValue> read_value(const RequestContext& context, const DatabaseNode& of) const {
    const database::Version& version = of.version;
    const bool is_of_key = version.operation == Operation::kMerge || !of.is_readable;
    if (of.kind == Kind::kKey && is_of_key) {
      return database_->get(context, of.family, as_bytes(of.key()), version.sequence);
    }
    return database_->version(context, of.family, as_bytes(of.key()), version.sequence);
  }

  // --- listings

  Result<void> list_top(std::uint64_t place, const Emit& emit) const {
    constexpr FileType kDirectory = FileType::kDirectory;
    const std::array entries = {
        DirectoryEntry{kInfoName, node_of(Kind::kInfo, 0, {}), FileType::kRegular, {}},
        DirectoryEntry{kKeysName, directory_of(kKeysRole), kDirectory, {}},
        DirectoryEntry{kHistoryName, directory_of(kHistoryRole), kDirectory, {}},
        DirectoryEntry{
            .name = kDatabaseFilesName, .node = files_node(), .type = kDirectory, .size = {}, .inode = files_.inode}};
    const std::size_t count = entries.size() - (has_files() ? 0 : 1);  // files/ is the last one
    for (; place < count; ++place) {
      DirectoryEntry entry = entries[static_cast<std::size_t>(place)];
      entry.next = place + 1;
      if (!emit(entry)) break;
    }
    return {};
  }

  Result<void> list_families(bool is_history, std::uint64_t place, const Emit& emit) const {
    const auto families = database_->families();
    const auto names = names_of(families);
    for (; place < names.size(); ++place) {
      const auto at = static_cast<std::size_t>(place);
      const Node node = directory_of(is_history ? kHistoryFamilyRole : kFamilyRole, families[at].id);
      if (!emit({names[at], node, FileType::kDirectory, {}, place + 1})) break;
    }
    return {};
  }

  // Place 0 is that of column-families, whether it is there or not.
  Result<void> list_keys(const RequestContext& context, const Keys& in, std::uint64_t place, const Emit& emit) const {
    if (place == 0 && !in.is_in_families && has_families()) {
      const Node families = directory_of(in.is_history ? kHistoryFamiliesRole : kFamiliesRole);
      if (!emit({kKeyFamiliesName, families, FileType::kDirectory, {}, 1})) return {};
    }
    if (in.is_history) return {};
    const auto take = [&](const KeyFiles::ListedKey& listed) {
      const Node node = node_of(Kind::kKey, in.family.id, listed.key);
      return emit({listed.name, node, FileType::kRegular, {}, listed.place + 2});
    };
    TRY(keys_.list(context, in.family, std::max<std::uint64_t>(place, 1) - 1, take));
    report_problems();
    return {};
  }

  Result<void> list_versions(const RequestContext& context, const DatabaseNode& of, std::uint64_t place,
                             const Emit& emit) const {
    ASSIGN_OR_RETURN(auto stored, database_->history(context, of.family, as_bytes(of.key())));
    const auto versions = with_own_numbers(std::move(stored));
    for (; place < versions.size(); ++place) {
      const database::Version& version = versions[static_cast<std::size_t>(place)];
      const Node node = node_of(Kind::kVersion, of.family, of.key(), version.sequence);
      if (!emit({version_name(version), node, FileType::kRegular, {}, place + 1})) break;
    }
    if (!versions.empty() && versions.front().may_lack_others) report_problems();
    return {};
  }

  // Calls DatabaseSource::report for problems that it has not been called for, up to kReported.
  void report_problems() const {
    if (!report_) return;
    for (const database::Problem& problem : database_->problems()) {
      {
        const std::lock_guard lock(mutex_);
        const bool is_new =
            reported_.size() < kReported && reported_.emplace(problem.file, to_string(problem.error)).second;
        if (!is_new) continue;
      }
      report_(problem);
    }
  }

  const std::shared_ptr<const database::Database> database_;
  const std::uint64_t filesystem_;
  const std::function<void(const database::Problem&)> report_;
  const FilesDirectory files_;
  mutable KeyFiles keys_;
  mutable BoundedLru<std::string, Slice> values_{kValues, kValueBytes};  // by NodeKey
  mutable std::mutex mutex_;                                             // guards the next
  mutable std::set<std::pair<std::string, std::string>> reported_;       // files and texts of problems
};

}  // namespace

std::shared_ptr<const NodeTree> database_nodes(DatabaseSource source, FilesDirectory files) {
  auto nodes = std::make_shared<NodeTree>(NodeTable{.entries = {}, .kinds = kDatabaseKinds}, source.filesystem);
  nodes->set_view(ViewId::kStatic, std::make_unique<DatabaseView>(*nodes, std::move(source), files));
  return nodes;
}

}  // namespace recordfs
