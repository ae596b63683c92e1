// DirectoryStream: an open directory of the source, readable from any place.
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

// Thread-safe; reads run one at a time. The memory held does not depend on the directory's size. Functions may block on
// the filesystem and do not consult RequestContext.
class DirectoryStream {
 public:
  // Fails as place_error() says.
  static Result<std::shared_ptr<DirectoryStream>> of(Descriptor directory);

  struct Name {
    std::string_view name;
    unsigned char type = DT_UNKNOWN;
    std::uint64_t next = 0;  // the place after this entry, as the source's filesystem counts
  };
  // Calls `take` for each name from `place` on, with "." and "..", until it returns false. That name is then not taken,
  // and the next read may start with it. `place` is 0 or a `next` of this directory, also from another stream of it.
  // Starting at 0 shows changes since the stream was opened. Fails as place_error() says.
  Result<void> read(std::uint64_t place, const std::function<bool(int directory, const Name&)>& take);

 private:
  struct Close {
    void operator()(DIR* stream) const { ::closedir(stream); }
  };
  using Stream = std::unique_ptr<DIR, Close>;
  explicit DirectoryStream(Stream stream) : stream_(std::move(stream)) {}

  std::mutex mutex_;  // guards the following
  const Stream stream_;
  const dirent* entry_ = nullptr;  // read but not taken
  std::uint64_t place_ = 0;
};

}  // namespace recordfs
