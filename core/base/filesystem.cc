#include "core/base/filesystem.h"

#include <sys/vfs.h>

#include <algorithm>
#include <iterator>

namespace recordfs {
namespace {

// See statfs(2). Excludes overlayfs, whose layers may be on any filesystem.
constexpr std::uint64_t kLocal[] = {
    0xEF53,      // ext2, ext3, ext4
    0x58465342,  // XFS
    0x9123683E,  // Btrfs
    0xF2F52010,  // F2FS
    0x2FC12FC1,  // ZFS
    0xCA451A4E,  // bcachefs
    0x01021994,  // tmpfs
    0x858458F6,  // ramfs
    0x73717368,  // SquashFS
    0xE0F5E1E2,  // EROFS
    0x4D44,      // FAT
    0x2011BAB0,  // exFAT
    0x7366746E,  // NTFS
    0x9660,      // ISO 9660
    0x15013346,  // UDF
};

}  // namespace

std::uint64_t filesystem_that_may_hang(int descriptor, std::uint64_t device) {
  struct statfs st {};
  if (::fstatfs(descriptor, &st) != 0) return device;
  return std::ranges::find(kLocal, static_cast<std::uint64_t>(st.f_type)) == std::end(kLocal) ? device : 0;
}

}  // namespace recordfs
