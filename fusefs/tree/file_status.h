// What a mount tells of its files: who owns them, what they are, and for how long that is true.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <ctime>
#include <optional>
#include <string_view>

#include "fusefs/tree/container_tree.h"
#include "fusefs/tree/node.h"

namespace recordfs {

// Who owns the nodes of a container, and what they may do.
struct Ownership {
  uid_t uid = 0;
  gid_t gid = 0;
  mode_t file_mode = 0400;       // permission bits
  mode_t directory_mode = 0500;  // the same with x where there is r
  timespec modified{};
};

// What may change although nothing was unmounted: the source of a mirrored directory is no snapshot, and a file that is
// followed has a later one.
enum class CachePolicy : std::uint8_t {
  kPermanent,
  kSnapshot,  // until a later snapshot is shown, which the kernel is told of
  kNumber,    // another number may be found by the name at any time; what was told of this one stays true
  kNone,      // its attributes too may change
};

struct FileStatus {
  std::uint64_t number = 0;
  std::uint64_t inode = 0;  // what stat() shows: the number where that is a computed one
  FileType type = FileType::kRegular;
  std::uint64_t size = 0;
  Ownership ownership{};
  CachePolicy cache_policy = CachePolicy::kPermanent;
};

struct ContainerNode;

struct MountEntry {
  std::string_view name;
  std::uint64_t inode = 0;
  FileType type = FileType::kRegular;
  std::optional<std::uint64_t> size{};
  std::uint64_t next = 0;
  const ContainerNode* container =
      nullptr;  // the following for MountTree::look_up_and_reference; null: it can't be looked up so
  Node node{};
};

}  // namespace recordfs
