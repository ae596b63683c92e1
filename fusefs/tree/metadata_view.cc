// metadata/: a file for each attribute of the container, and names.tsv.
#include <algorithm>

#include "fusefs/tree/generated_files.h"
#include "fusefs/tree/view.h"

namespace recordfs {
namespace {

struct AttributeFiles {
  std::shared_ptr<const std::vector<Attribute>> values;
  std::vector<std::string> names;
  std::map<std::string_view, std::size_t> by_name;
  std::string names_table;  // empty if every file has its key's name
};

class MetadataView : public ContainerView {
 public:
  using ContainerView::ContainerView;

  Result<Node> lookup(const RequestContext& context, Node, std::string_view name) const override {
    ASSIGN_OR_RETURN(const auto known, files(context));
    const auto place = known->by_name.find(name);
    if (place != known->by_name.end()) return Node{NodeKind::kAttribute, place->second};
    if (name == kNamesTable && !known->names_table.empty()) return Node{NodeKind::kStatic, kNames};
    return no_such_name();
  }

  Result<void> list(const RequestContext& context, Node, std::uint64_t place, const Emit& emit) const override {
    ASSIGN_OR_RETURN(const auto known, files(context));
    const auto& names = known->names;
    for (; place < names.size(); ++place) {
      const auto i = static_cast<std::size_t>(place);
      const std::uint64_t size = (*known->values)[i].value.size();
      if (!emit({names[i], {NodeKind::kAttribute, place}, FileType::kRegular, size, place + 1})) return {};
    }
    const std::string& table = known->names_table;
    if (place == names.size() && !table.empty()) {
      emit({kNamesTable, {NodeKind::kStatic, kNames}, FileType::kRegular, table.size(), place + 1});
    }
    return {};
  }

  Result<Slice> contents(const RequestContext& context, Node file) const override {
    ASSIGN_OR_RETURN(const auto known, files(context));
    if (file.kind == NodeKind::kStatic) return Slice{as_bytes(known->names_table), known};
    if (file.value >= known->values->size()) return no_such_name();
    return Slice{as_bytes((*known->values)[static_cast<std::size_t>(file.value)].value), known};
  }

  // One value per attribute, for metadata of that many bytes.
  std::uint64_t values() const override { return 1u << 26; }

 private:
  Result<std::shared_ptr<const AttributeFiles>> files(const RequestContext& context) const {
    return files_.get(0, [&] { return make_files(context); });
  }

  Result<AttributeFiles> make_files(const RequestContext& context) const {
    AttributeFiles files;
    ASSIGN_OR_RETURN(files.values, store().attributes(context));
    std::vector<std::string_view> keys;
    for (const Attribute& attribute : *files.values) keys.emplace_back(attribute.key);
    files.names = names_for(keys, {kNamesTable});
    for (const std::string& name : files.names) files.by_name.emplace(name, files.by_name.size());
    if (!std::ranges::equal(keys, files.names)) files.names_table = names_table(keys, files.names);
    return files;
  }

  const LazyMap<AttributeFiles> files_{};
};

}  // namespace

ViewPointer make_metadata_view(const ContainerTree& tree) { return std::make_unique<MetadataView>(tree); }

}  // namespace recordfs
