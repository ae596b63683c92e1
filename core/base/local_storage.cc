// The storage of local files.
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <memory>

#include "core/base/descriptor.h"
#include "core/base/file_state.h"
#include "core/base/schemes.h"
#include "core/base/storage.h"

namespace recordfs {
namespace {

SourceKind kind_of(const struct stat& st) {
  if (S_ISREG(st.st_mode)) return SourceKind::kFile;
  return S_ISDIR(st.st_mode) ? SourceKind::kDirectory : SourceKind::kOther;
}

struct CloseDirectory {
  void operator()(DIR* directory) const { ::closedir(directory); }
};

class LocalStorage final : public Storage {
 public:
  // Blocks whatever the RequestContext.
  Result<std::shared_ptr<const Source>> open(const RequestContext&, const Location& location, Use use) const override {
    auto file = use == Use::kFollow ? FileSource::open_followed(location.text()) : FileSource::open(location.text());
    if (file) return std::shared_ptr<const Source>(std::move(*file));
    if (file.error().os_error == ENOENT) file.error().detail += note_on_scheme(location.text());
    return std::move(file).error();
  }

  Result<SourceStatus> status(const RequestContext&, const Location& location) const override {
    struct stat st {};
    if (::stat(location.text().c_str(), &st) != 0) return system_error(errno);
    const FileState state = FileState::of(st);
    return SourceStatus{.kind = kind_of(st),
                        .size = state.size,
                        .id = state.id(),
                        .modified = state.modified,
                        .owner = SourceOwner{state.uid, state.gid, state.mode},
                        .settles_in = state.unsettled_for(),
                        .device = state.device};
  }

  // Throws std::bad_alloc, where std::filesystem ends the program.
  Result<void> list(const RequestContext&, const Location& directory, const Wanted& wanted,
                    const TakeEntry& take) const override {
    const std::unique_ptr<DIR, CloseDirectory> opened(::opendir(directory.text().c_str()));
    if (!opened) return system_error(errno);
    for (;;) {
      errno = 0;
      const dirent* const entry = ::readdir(opened.get());
      if (entry == nullptr && errno != 0) return system_error(errno);
      if (entry == nullptr) return {};
      const std::string name = entry->d_name;
      if (name == "." || name == ".." || (wanted && !wanted(name))) continue;
      struct stat st {};
      const bool is_known = ::fstatat(::dirfd(opened.get()), name.c_str(), &st, 0) == 0;
      const SourceKind kind = is_known ? kind_of(st) : SourceKind::kOther;
      TRY(take({name, kind, kind == SourceKind::kFile ? static_cast<std::uint64_t>(st.st_size) : 0}));
    }
  }

  std::uint64_t filesystem(const Location& directory, std::uint64_t device) const override {
    const Descriptor opened(::open(directory.text().c_str(), O_PATH | O_CLOEXEC));
    return filesystem_that_may_hang(opened.number(), device);
  }

  std::string local_path(const Location& location) const override { return location.text(); }
};

}  // namespace

const Storage& local_storage() {
  static const LocalStorage storage;
  return storage;
}

bool is_not_there(const Error& error) {
  return error.code == Code::kIo && (error.os_error == ENOENT || error.os_error == ENOTDIR);
}

bool is_directory(const Location& location) {
  const auto status = status_of({}, location);
  return status && status->kind == SourceKind::kDirectory;
}

}  // namespace recordfs
