// An opened directory of the source, whose names are read on from any place that was told with one.
#pragma once

#include <dirent.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string_view>
#include <utility>

#include "core/base/descriptor.h"
#include "core/base/result.h"

namespace recordfs {

// Any thread; one reads at a time. What it holds does not grow with the directory.
class DirectoryStream {
 public:
  // Fails with kIo or kOutOfMemory.
  static Result<std::shared_ptr<DirectoryStream>> of(Descriptor directory);

  struct Name {
    std::string_view name;
    unsigned char type = DT_UNKNOWN;
    std::uint64_t next = 0;  // the place behind it, as the filesystem of the source counts places
  };
  // Hands out the names from `place` on, "." and ".." among them, until there is none or `take` wants no more: then it
  // did not take the last one. 0: the first.
  Result<void> read(std::uint64_t place, const std::function<bool(int directory, const Name&)>& take);

 private:
  struct Close {
    void operator()(DIR* stream) const { ::closedir(stream); }
  };
  using Stream = std::unique_ptr<DIR, Close>;
  explicit DirectoryStream(Stream stream) : stream_(std::move(stream)) {}

  std::mutex mutex_;  // guards what follows
  const Stream stream_;
  const dirent* entry_ = nullptr;  // was read and not taken
  std::uint64_t place_ = 0;
};

}  // namespace recordfs
