// keys/: the last value of each key in a log, a table or a blob file of a database.
#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/bounded_lru.h"
#include "core/database/database.h"
#include "core/store/background_work.h"
#include "fusefs/tree/database/key_files.h"
#include "fusefs/tree/view.h"

namespace recordfs {
namespace {

using database::Family;

// How many keys of a listing have attributes. Each costs a row of InodeTable.
constexpr std::uint64_t kWithAttributes = 250000;
// Places of a listing's entries after the keys.
constexpr std::uint64_t kFamiliesPlace = std::uint64_t{1} << 61;
constexpr std::uint64_t kNamesPlace = kFamiliesPlace + 1;

constexpr std::size_t kFamilyBytes = 4;

const Node kFamilies{NodeKind::kStatic, kKeyFamilies};

Node key_node(std::uint32_t family, std::string_view key) {
  std::string text;
  for (std::size_t byte = 0; byte < kFamilyBytes; ++byte) text += static_cast<char>(family >> 8 * byte & 0xFFu);
  text += key;
  return {NodeKind::kKey, key_number(family, key), 0, std::make_shared<const NodeKey>(NodeKey{std::move(text)})};
}

// Returns the family of a key, of a directory of keys or of its names.tsv.
std::uint32_t family_of(const Node& node) {
  if (node.kind != NodeKind::kKey) return node.kind == NodeKind::kStatic ? 0 : static_cast<std::uint32_t>(node.value);
  std::uint32_t family = 0;
  for (std::size_t byte = 0; byte < kFamilyBytes; ++byte) {
    family |= std::uint32_t{static_cast<unsigned char>(node.text()[byte])} << 8 * byte;
  }
  return family;
}

// Returns whether a node is the directory of a family's keys.
bool has_keys(const Node& node) { return node.kind == NodeKind::kKeyFamily || node == Node{NodeKind::kStatic, kKeys}; }

// Logs what was found wrong so far, once each.
void report_problems(const RequestContext& context, const RecordStore& store, const database::Database& database) {
  for (database::Problem& problem : database.problems()) {
    if (!problem.loses_data) continue;
    const std::uint64_t thing = std::hash<std::string>{}(problem.error.detail);
    problem.error.detail += " (keys may be missing, or their values older ones)";
    store.log().report(context, problem.error, thing);
  }
}

// Opens the container's file as a database on its own thread, because that may read all of it.
class FileDatabase final : public BackgroundWork {
 public:
  // `store` must outlive this. Reads nothing before the first wait().
  explicit FileDatabase(const RecordStore& store) : store_(store) {}
  ~FileDatabase() override { stop(); }

  // Returns the keys. kPending until the file was opened. Fails as Database::open_source().
  Result<std::shared_ptr<KeyFiles>> keys() {
    const std::lock_guard lock(mutex_);
    return opened_ ? *opened_ : failure_or_pending(SearchKey::kChunks, 1);
  }

 private:
  Result<void> work(const RequestContext& context, Lock& lock) override {
    lock.unlock();
    const std::string& path = store_.name();
    auto database = database::Database::open_source(context, store_.shared_source(), path.substr(path.rfind('/') + 1),
                                                    {.limits = store_.limits()});
    if (database) report_problems(context, store_, **database);
    lock.lock();
    if (!database && !is_permanent(database.error().code)) return std::move(database).error();
    if (database) {
      opened_ = std::make_shared<KeyFiles>(std::move(*database));
    } else {
      opened_ = std::move(database).error();
    }
    return {};
  }
  bool has_reached(SearchKey, std::uint64_t) const override { return opened_.has_value(); }

  const RecordStore& store_;
  std::optional<Result<std::shared_ptr<KeyFiles>>> opened_;  // guarded by mutex_
};

class KeysView : public ContainerView {
 public:
  explicit KeysView(const ContainerTree& tree) : ContainerView(tree), file_(tree.store()) {}

  Result<Node> lookup(const RequestContext& context, Node directory, std::string_view name) const override {
    if (directory == kFamilies) return lookup_family(context, name);
    if (!has_keys(directory)) return no_such_name();
    const std::uint32_t family = family_of(directory);
    if (name == kNamesTable) {
      ASSIGN_OR_RETURN(const auto names, names_of(context, family));
      if (names->empty()) return no_such_name();
      return Node{NodeKind::kKeyNames, family};
    }
    if (name == kKeyFamiliesName) {
      ASSIGN_OR_RETURN(const auto others, other_families(context));
      if (family != 0 || others.empty()) return no_such_name();
      return kFamilies;
    }
    ASSIGN_OR_RETURN(const auto keys, this->keys(context));
    ASSIGN_OR_RETURN(const auto key, keys->key_of(context, family, name));
    const Node node = key_node(family, key);
    TRY(find(context, node));
    return node;
  }

  Result<void> list(const RequestContext& context, Node directory, std::uint64_t place,
                    const Emit& emit) const override {
    if (directory == kFamilies) return list_families(context, place, emit);
    if (!has_keys(directory)) return View::list(context, directory, place, emit);
    return list_keys(context, family_of(directory), place, emit);
  }

  Result<std::uint64_t> size(const RequestContext& context, Node file) const override {
    if (file.kind == NodeKind::kKeyNames) {
      ASSIGN_OR_RETURN(const auto names, names_of(context, family_of(file)));
      return names->size();
    }
    ASSIGN_OR_RETURN(const auto found, find(context, file));
    return found->size();
  }

  Result<Slice> read(const RequestContext& context, Node file, std::uint64_t offset,
                     std::uint64_t length) const override {
    if (file.kind == NodeKind::kKeyNames) {
      ASSIGN_OR_RETURN(const auto names, names_of(context, family_of(file)));
      return part_of({as_bytes(*names), names}, offset, length);
    }
    ASSIGN_OR_RETURN(const auto found, find(context, file));
    ASSIGN_OR_RETURN(auto value, store().log().reported(context, found->value));
    return part_of(std::move(value), offset, length);
  }

  std::uint64_t values() const override { return std::uint64_t{1} << 32; }  // families

 private:
  using ValuePointer = std::shared_ptr<const KeyFiles::KeyValue>;
  using Names = std::shared_ptr<const std::string>;

  Result<std::shared_ptr<KeyFiles>> keys(const RequestContext& context) const {
    return store().log().reported(context, file_.keys());
  }

  // Fails with kNotFound for a node that is no key.
  Result<ValuePointer> find(const RequestContext& context, const Node& node) const {
    const std::string text(node.text());
    if (node.kind != NodeKind::kKey || text.size() < kFamilyBytes) return no_such_name();
    if (auto known = found_.find(text)) return *std::move(known);
    ASSIGN_OR_RETURN(const auto keys, this->keys(context));
    ASSIGN_OR_RETURN(auto found, keys->find(context, family_of(node), text.substr(kFamilyBytes)));
    if (!found.value || found.version.may_be_stale) report_problems(context, store(), keys->database());
    auto shared = std::make_shared<const KeyFiles::KeyValue>(std::move(found));
    return found_.add(text, shared, text.size() + shared->size());
  }

  // Returns the families with keys, but for the default one.
  Result<std::vector<Family>> other_families(const RequestContext& context) const {
    ASSIGN_OR_RETURN(const auto keys, this->keys(context));
    std::vector<Family> families;
    for (Family& family : keys->database().families()) {
      if (family.id == 0) continue;
      ASSIGN_OR_RETURN(const bool has_key, keys->database().keys(family.id, {})->next(context));
      if (has_key) families.push_back(std::move(family));
    }
    return families;
  }

  Result<Node> lookup_family(const RequestContext& context, std::string_view name) const {
    ASSIGN_OR_RETURN(const auto families, other_families(context));
    const auto named = [&](const Family& family) { return std::to_string(family.id) == name; };
    const auto found = std::ranges::find_if(families, named);
    if (found == families.end()) return no_such_name();
    return Node{NodeKind::kKeyFamily, found->id};
  }

  Result<void> list_families(const RequestContext& context, std::uint64_t place, const Emit& emit) const {
    ASSIGN_OR_RETURN(const auto families, other_families(context));
    for (; place < families.size(); ++place) {
      const std::uint32_t family = families[static_cast<std::size_t>(place)].id;
      if (!emit({std::to_string(family), {NodeKind::kKeyFamily, family}, FileType::kDirectory, 0, place + 1})) break;
    }
    return {};
  }

  Result<void> list_keys(const RequestContext& context, std::uint32_t family, std::uint64_t place,
                         const Emit& emit) const {
    ASSIGN_OR_RETURN(const auto keys, this->keys(context));
    bool came_forward = false;
    if (place < kFamiliesPlace) {
      bool was_rejected = false;
      const auto take = [&](const KeyFiles::ListedKey& listed) {
        const bool has_size = listed.place < kWithAttributes && listed.version.operation == database::Operation::kPut &&
                              !listed.version.unread && !listed.version.is_in_blob_file;
        was_rejected = !emit({listed.name, key_node(family, listed.key), FileType::kRegular,
                              has_size ? listed.version.size : std::nullopt, listed.place + 1});
        came_forward |= !was_rejected;
        return !was_rejected;
      };
      for (const Family& each : keys->database().families()) {
        if (each.id == family) TRY(keys->list(context, each, place, take));
      }
      if (was_rejected) return {};
    }
    const auto outcome = list_after_keys(context, family, place, emit);
    return outcome ? outcome : stopped(outcome.error(), came_forward);
  }

  Result<void> list_after_keys(const RequestContext& context, std::uint32_t family, std::uint64_t place,
                               const Emit& emit) const {
    if (place <= kFamiliesPlace && family == 0) {
      ASSIGN_OR_RETURN(const auto others, other_families(context));
      const bool is_listed =
          others.empty() || emit({kKeyFamiliesName, kFamilies, FileType::kDirectory, 0, kNamesPlace});
      if (!is_listed) return {};
    }
    if (place > kNamesPlace) return {};
    const auto names = names_of(context, family);
    if (!names && names.error().code == Code::kLimit) return {};  // too large to be shown
    if (!names) return names.error();
    if ((*names)->empty()) return {};
    emit({kNamesTable, {NodeKind::kKeyNames, family}, FileType::kRegular, (*names)->size(), kNamesPlace + 1});
    return {};
  }

  Result<Names> names_of(const RequestContext& context, std::uint32_t family) const {
    if (auto known = names_.find(family)) return *std::move(known);
    ASSIGN_OR_RETURN(const auto keys, this->keys(context));
    ASSIGN_OR_RETURN(auto table, keys->names_table(context, family));
    report_problems(context, store(), keys->database());
    auto shared = std::make_shared<const std::string>(std::move(table));
    return names_.add(family, shared, shared->size());
  }

  mutable FileDatabase file_;
  mutable BoundedLru<std::string, ValuePointer> found_{64, 16u << 20};
  mutable BoundedLru<std::uint32_t, Names> names_{256, 16u << 20};
};

}  // namespace

ViewPointer make_keys_view(const ContainerTree& tree) {
  return tree.store().schema().change_kinds ? std::make_unique<KeysView>(tree) : nullptr;
}

}  // namespace recordfs
