#include "fusefs/tree/source_directory.h"

#include <algorithm>
#include <utility>

namespace recordfs {
namespace {

class SourcesView final : public View {
 public:
  SourcesView(const NodeTree& nodes, const MountedContainers& containers, std::vector<TopDirectory> sources)
      : View(nodes), containers_(containers), sources_(std::move(sources)) {}

  Result<Node> lookup(const RequestContext&, Node, std::string_view name) const override {
    const auto named = std::ranges::find(sources_, name, &TopDirectory::name);
    if (named == sources_.end()) return no_such_name();
    return node_of(*named);
  }

  Result<void> list(const RequestContext&, Node, std::uint64_t place, const Emit& emit) const override {
    for (; place < sources_.size(); ++place) {
      const TopDirectory& source = sources_[static_cast<std::size_t>(place)];
      DirectoryEntry entry{source.name, node_of(source), FileType::kDirectory, {}, place + 1};
      entry.inode = source.inode;
      std::shared_ptr<const ContainerNode> shown;
      if (source.container) {
        shown = containers_.at(*source.container);
        entry.container = shown.get();
        entry.node = {};
        entry.size = 0;
      }
      if (!emit(entry)) break;
    }
    return {};
  }

 private:
  static Node node_of(const TopDirectory& source) { return {node_kind(source.number), source.number % kValuesOfAKind}; }

  const MountedContainers& containers_;
  const std::vector<TopDirectory> sources_;
};

}  // namespace

std::shared_ptr<const NodeTree> source_directory(const MountedContainers& containers,
                                                 std::vector<TopDirectory> sources) {
  auto nodes = std::make_shared<NodeTree>(NodeTable{}, 0);
  nodes->set_view(ViewId::kStatic, std::make_unique<SourcesView>(*nodes, containers, std::move(sources)));
  return nodes;
}

}  // namespace recordfs
