// GrowingContainers: the sources of a mount that are followed files.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "core/store/log.h"
#include "fusefs/follow/growing_file.h"
#include "fusefs/follow/growth_source.h"
#include "fusefs/tree/container_node.h"

namespace recordfs {

class GrowingContainers final : public GrowthSource {
 public:
  // `files`: all of `containers`, in their order. `containers` must outlive the object.
  GrowingContainers(MountedContainers& containers, std::vector<std::unique_ptr<GrowingFile>> files, Log log);

  std::vector<std::string> paths() const override;
  bool look(const RequestContext& context, FileWatch& watch, const Notify& notify) override;

 private:
  struct File {
    std::unique_ptr<GrowingFile> file;
    bool is_over = false;     // growth is no longer shown
    bool said_moved = false;  // logged that another file has its name
  };

  void look_at(std::size_t container, FileWatch& watch, const Notify& notify);
  void show(std::size_t container, const std::shared_ptr<const RecordStore>& store, const Notify& notify);

  MountedContainers& containers_;
  const Log log_;
  std::vector<File> files_;  // in the order of the containers
};

}  // namespace recordfs
