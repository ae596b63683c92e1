#include "fusefs/glue/growing_containers.h"

#include <algorithm>
#include <ctime>
#include <utility>

#include <fmt/format.h>

namespace recordfs {

GrowingContainers::GrowingContainers(MountedContainers& containers, std::vector<std::unique_ptr<GrowingFile>> files,
                                     Log log)
    : containers_(containers), log_(std::move(log)) {
  for (auto& file : files) files_.push_back({.file = std::move(file)});
}

std::vector<std::string> GrowingContainers::paths() const {
  std::vector<std::string> paths;
  paths.reserve(files_.size());
  for (const File& file : files_) paths.push_back(file.file->path());
  return paths;
}

bool GrowingContainers::look(const RequestContext&, FileWatch& watch, const Notify& notify) {
  for (std::size_t container = 0; container < files_.size(); ++container) {
    look_at(container, watch, notify);
  }
  containers_.drop_unused();
  return std::ranges::none_of(files_, [](const File& file) { return file.file->is_taking(); });
}

void GrowingContainers::look_at(std::size_t container, FileWatch& watch, const Notify& notify) {
  if (files_[container].is_over) return;
  GrowingFile& file = *files_[container].file;
  auto grown = file.grow([&watch] { watch.wake(); });
  if (!grown) {
    files_[container].is_over = true;
    log_(Severity::kWarning, fmt::format("{}: no longer followed: {}", file.shown(), grown.error().detail));
    return;
  }
  if (*grown) show(container, *grown, notify);
  if (files_[container].said_moved || file.is_at_its_path()) return;
  files_[container].said_moved = true;
  log_(Severity::kInfo,
       fmt::format("{}: moved, removed or replaced; the file that was opened is still followed", file.shown()));
}

void GrowingContainers::show(std::size_t container, const std::shared_ptr<const RecordStore>& store,
                             const Notify& notify) {
  const timespec modified = files_[container].file->file().modified().value_or(timespec{});
  for (const std::uint64_t number : containers_.grow({}, container, store, modified)) notify(number);
}

}  // namespace recordfs
