// The attributes of files in the mount, and how long they are valid.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <ctime>
#include <functional>
#include <optional>
#include <string_view>

#include "fusefs/tree/node_types.h"

namespace recordfs {

// Owner, permissions and time of the nodes of a container.
struct Ownership {
  uid_t uid = 0;
  gid_t gid = 0;
  mode_t file_mode = 0400;       // permission bits
  mode_t directory_mode = 0700;  // directory_mode_for() those bits
  timespec modified{};
};

// Returns a time later than `before`, so that a comparison of times shows a change: `now`, or the next nanosecond.
inline timespec later(timespec before, timespec now) {
  constexpr std::int64_t kSecond = 1000000000;
  if (now.tv_sec > before.tv_sec || (now.tv_sec == before.tv_sec && now.tv_nsec > before.tv_nsec)) return now;
  if (++before.tv_nsec == kSecond) before = {.tv_sec = before.tv_sec + 1, .tv_nsec = 0};
  return before;
}

// Returns the permissions of a directory whose files have these read permissions: each may search it too, and the owner
// may write, so that the owner of a copy can remove it. (In the mount itself the kernel refuses that with EROFS.)
constexpr mode_t directory_mode_for(mode_t read_bits) { return read_bits | read_bits >> 2 | (read_bits & 0400u) >> 1; }

// Returns that of a container file with such a mode: its read permissions.
inline Ownership container_ownership(uid_t uid, gid_t gid, mode_t mode, timespec modified) {
  const mode_t read_bits = mode & 0444u;
  return {uid, gid, read_bits, directory_mode_for(read_bits), modified};
}

// How long the kernel may cache a name and its attributes.
enum class CachePolicy : std::uint8_t {
  kPermanent,
  kSnapshot,  // until the mount shows a later snapshot and notifies the kernel
  kNumber,    // attributes permanently, the name not at all: it may get another number at any time
  kNone,      // neither
};

struct FileStatus {
  std::uint64_t number = 0;
  std::uint64_t inode = 0;  // as `stat` shows it
  FileType type = FileType::kRegular;
  std::uint64_t size = 0;
  Ownership ownership{};
  CachePolicy cache_policy = CachePolicy::kPermanent;
};

// Bytes and files, as statfs shows them.
struct Usage {
  std::uint64_t bytes = 0;
  std::uint64_t files = 0;
};

struct ContainerNode;

// A directory entry, valid during the call that emits it.
struct MountEntry {
  std::string_view name;
  std::uint64_t inode = 0;
  FileType type = FileType::kRegular;
  std::optional<std::uint64_t> size{};
  std::uint64_t next = 0;
  const ContainerNode* container = nullptr;  // with `node`, for look_up_and_reference(); null if not available
  Node node{};
};

// Returns false to reject the entry and to stop the listing.
using EmitEntry = std::function<bool(const MountEntry&)>;

}  // namespace recordfs
