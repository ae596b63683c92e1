// damage/: the bytes of each damaged region.
#include "fusefs/tree/view.h"

namespace recordfs {
namespace {

class DamageView : public ContainerView {
 public:
  using ContainerView::ContainerView;

  Result<Node> lookup(const RequestContext&, Node, std::string_view name) const override {
    const auto begin = number_from(name);
    if (!begin) return no_such_name();
    TRY(region(*begin));
    return Node{NodeKind::kDamage, *begin};
  }

  Result<void> list(const RequestContext&, Node, std::uint64_t place, const Emit& emit) const override {
    ASSIGN_OR_RETURN(const auto rows, store().index().damage());
    for (; place < rows->size(); ++place) {
      const DamagedRegion& at = (*rows)[static_cast<std::size_t>(place)].region;
      const Node node{NodeKind::kDamage, at.begin};
      if (!emit({position_name(at.begin), node, FileType::kRegular, at.end - at.begin, place + 1})) break;
    }
    return {};
  }

  Result<std::uint64_t> size(const RequestContext&, Node file) const override {
    ASSIGN_OR_RETURN(const auto found, region(file.value));
    return found.second - found.first;
  }

  Result<Slice> read(const RequestContext& context, Node file, std::uint64_t offset,
                     std::uint64_t length) const override {
    ASSIGN_OR_RETURN(const auto found, region(file.value));
    return store().chunks().read_raw(context, found.first, found.second, offset, length);
  }

 private:
  using Regions = std::map<Position, Position>;  // ends by begins

  Result<Regions::value_type> region(Position begin) const {
    const auto make = [&]() -> Result<Regions> {
      ASSIGN_OR_RETURN(const auto rows, store().index().damage());
      Regions regions;
      for (const DamageRow& row : *rows) regions.emplace(row.region.begin, row.region.end);  // keeps the first
      return regions;
    };
    ASSIGN_OR_RETURN(const auto regions, regions_.get(0, make));
    const auto found = regions->find(begin);
    if (found == regions->end()) return no_such_name();
    return *found;
  }

  const LazyMap<Regions> regions_{};
};

}  // namespace

ViewPointer make_damage_view(const ContainerTree& tree) { return std::make_unique<DamageView>(tree); }

}  // namespace recordfs
