#include "tests/soak/answers.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace recordfs::soak {
namespace {

constexpr std::size_t kRoom = 65536;

// The kernel's layout (getdents64(2)).
struct DirectoryRecord {
  std::uint64_t inode;
  std::int64_t next;
  std::uint16_t length;
  std::uint8_t type;
};
constexpr std::size_t kNameAt = 19;

}  // namespace

Descriptor opened(int directory, const std::string& name, int flags) {
  return Descriptor(::openat(directory, name.c_str(), flags | O_CLOEXEC | O_NOFOLLOW));
}

Answer<Status> status_of(int directory, const std::string& name) {
  struct statx st {};
  const int flags = AT_SYMLINK_NOFOLLOW | AT_STATX_FORCE_SYNC;
  if (::statx(directory, name.c_str(), flags, STATX_BASIC_STATS, &st) != 0) return errno;
  return Status{.mode = st.stx_mode,
                .inode = st.stx_ino,
                .size = st.stx_size,
                .links = st.stx_nlink,
                .uid = st.stx_uid,
                .gid = st.stx_gid,
                .modified = st.stx_mtime.tv_sec * 1'000'000'000 + st.stx_mtime.tv_nsec};
}

Answer<std::string> target_of(int directory, const std::string& name) {
  std::string target(kRoom, '\0');
  const ssize_t length = ::readlinkat(directory, name.c_str(), target.data(), target.size());
  if (length < 0) return errno;
  return target.substr(0, static_cast<std::size_t>(length));  // does not keep the spare capacity
}

Answer<Attributes> attributes_of(const std::string& path) {
  std::string names(kRoom, '\0');
  const ssize_t length = ::llistxattr(path.c_str(), names.data(), names.size());
  if (length < 0 && errno == EOPNOTSUPP) return Attributes();
  if (length < 0) return errno;
  Attributes attributes;
  for (std::size_t at = 0; at < static_cast<std::size_t>(length); at += attributes.back().first.size() + 1) {
    const std::string name = names.c_str() + at;
    std::string value(kRoom, '\0');
    const ssize_t size = ::lgetxattr(path.c_str(), name.c_str(), value.data(), value.size());
    // An attribute that is listed but missing on this node is an answer too.
    value = size < 0 ? std::to_string(errno) : value.substr(0, static_cast<std::size_t>(size));
    attributes.emplace_back(name, std::move(value));
  }
  return attributes;
}

void forget_pages(int descriptor) { ::posix_fadvise(descriptor, 0, 0, POSIX_FADV_DONTNEED); }

Answer<std::vector<Entry>> entries_of(int directory, std::size_t room) {
  std::vector<char> buffer(room);
  const long got = ::syscall(SYS_getdents64, directory, buffer.data(), buffer.size());
  if (got < 0) return errno;
  std::vector<Entry> entries;
  DirectoryRecord record{};
  for (std::size_t at = 0; at < static_cast<std::size_t>(got); at += record.length) {
    std::memcpy(&record, buffer.data() + at, kNameAt);
    entries.push_back({buffer.data() + at + kNameAt, record.inode, record.type, record.next});
  }
  return entries;
}

}  // namespace recordfs::soak
