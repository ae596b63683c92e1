#include "fusefs/tree/mirror/directory_stream.h"

#include <cerrno>
#include <utility>

#include "fusefs/tree/mirror/file_state.h"

namespace recordfs {

Result<std::shared_ptr<DirectoryStream>> DirectoryStream::of(Descriptor directory) {
  Stream stream(::fdopendir(directory.number()));
  if (!stream) return place_error(errno);
  directory.release();
  return std::shared_ptr<DirectoryStream>(new DirectoryStream(std::move(stream)));
}

Result<void> DirectoryStream::read(std::uint64_t place, const std::function<bool(int, const Name&)>& take) {
  const std::lock_guard lock(mutex_);
  // Place 0 always rereads the directory, to show what has changed.
  if (place != place_ || place == 0) {
    ::seekdir(stream_.get(), static_cast<long>(place));
    entry_ = nullptr;
    place_ = place;
  }
  for (;;) {
    errno = 0;
    if (entry_ == nullptr) entry_ = ::readdir(stream_.get());
    if (entry_ == nullptr) {
      if (errno != 0) return place_error(errno);
      return {};
    }
    const auto next = static_cast<std::uint64_t>(entry_->d_off);
    if (!take(::dirfd(stream_.get()), {entry_->d_name, entry_->d_type, next})) return {};
    entry_ = nullptr;
    place_ = next;
  }
}

}  // namespace recordfs
