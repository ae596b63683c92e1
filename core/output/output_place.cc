#include "core/output/output_place.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>
#include <utility>

#include "core/base/parse_number.h"
#include "core/output/subdirectories.h"

namespace recordfs {

std::optional<int> descriptor_named(std::string_view path) {
  if (path == "-" || path == "/dev/stdout") return STDOUT_FILENO;
  if (path == "/dev/stderr") return STDERR_FILENO;
  for (const std::string_view folder : {"/dev/fd/", "/proc/self/fd/"}) {
    if (path.starts_with(folder)) return parse_number<int>(path.substr(folder.size()));
  }
  return std::nullopt;
}

Result<OutputPlace> OutputPlace::at(const std::string& path) {
  OutputPlace place;
  if (const auto descriptor = descriptor_named(path)) {
    if (*descriptor == STDOUT_FILENO) return place;
    place.stream = Descriptor(::fcntl(*descriptor, F_DUPFD_CLOEXEC, 0));
    if (!place.stream) return system_error(errno);
    return place;
  }
  struct stat st {};
  const bool exists = ::stat(path.c_str(), &st) == 0;
  if (exists && S_ISDIR(st.st_mode)) return system_error(EISDIR);
  if (exists && !S_ISREG(st.st_mode)) {
    place.stream = Descriptor(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
    if (!place.stream) return system_error(errno);
    return place;
  }
  const std::size_t slash = path.rfind('/');
  place.name = slash == std::string::npos ? path : path.substr(slash + 1);
  place.directory_name = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  if (place.name.empty()) return system_error(ENOENT);
  place.directory = Descriptor(::open(place.directory_name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!place.directory && errno == ENOENT) return no_directory(place.directory_name);
  if (!place.directory) return system_error(errno);
  return place;
}

Result<Descriptor> OutputPlace::opened_directory() const {
  Descriptor again(::openat(directory.number(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!again) return system_error(errno);
  return again;
}

Result<void> StreamSink::write(Bytes bytes) {
  output_.write(bytes);
  if (output_.good()) return {};
  return system_error(EPIPE);
}

}  // namespace recordfs
