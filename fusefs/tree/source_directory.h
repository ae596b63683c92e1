// SourceDirectory: the root of a mount in which each source has a directory.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fusefs/tree/container_node.h"
#include "fusefs/tree/subtree.h"

namespace recordfs {

class SourceDirectory final : public Subtree {
 public:
  struct Source {
    std::string name;
    std::uint64_t number = 0;
    Subtree* subtree = nullptr;              // of the number
    std::optional<std::size_t> container{};  // nullopt: a mirrored directory
  };
  // The root has the owner and permissions of the first source that has any. `containers` and the subtrees must outlive
  // this.
  SourceDirectory(const MountedContainers& containers, std::vector<Source> sources)
      : containers_(containers), sources_(std::move(sources)) {
    for (const Source& source : sources_) {
      const auto status = source.subtree->status({}, source.number);
      if (!status) continue;
      ownership_ = status->ownership;
      break;
    }
  }

  Result<Named> lookup(const RequestContext&, std::uint64_t, std::string_view name) override {
    const auto named = std::ranges::find(sources_, name, &Source::name);
    if (named == sources_.end()) return no_such_name();
    return Named{named->number};
  }
  Result<FileStatus> status(const RequestContext&, std::uint64_t number) override {
    return FileStatus{number, number, FileType::kDirectory, 0, ownership_};
  }
  Result<void> list(const RequestContext& context, std::uint64_t, std::uint64_t place, const EmitEntry& emit) override {
    for (; place < sources_.size(); ++place) {
      const Source& source = sources_[static_cast<std::size_t>(place)];
      MountEntry entry{.name = source.name, .type = FileType::kDirectory, .next = place + 1};
      entry.inode = source.subtree->inode(context, source.number);
      std::shared_ptr<const ContainerNode> shown;
      if (source.container) {
        shown = containers_.at(*source.container);
        entry.container = shown.get();
        entry.size = 0;
      }
      if (!emit(entry)) break;
    }
    return {};
  }
  Result<OpenedDirectory> open_directory(const RequestContext&, std::uint64_t) override {
    return OpenedDirectory{.is_constant = true};
  }
  bool may_gain_names(const RequestContext&, std::uint64_t) override { return false; }
  std::uint64_t inode(const RequestContext&, std::uint64_t) override { return kMountRoot; }
  std::uint64_t parent_inode(const RequestContext&, std::uint64_t) override { return kMountRoot; }

 private:
  const MountedContainers& containers_;
  const std::vector<Source> sources_;
  Ownership ownership_;
};

}  // namespace recordfs
