// Which source, in which state, and whose.
#pragma once

#include <sys/types.h>

#include <string>

namespace recordfs {

// The owner of a source, and the permissions of its mode.
struct SourceOwner {
  uid_t uid = 0;
  gid_t gid = 0;
  mode_t mode = 0;
};

// Identifies a source and the state of its bytes. The parts are opaque text without spaces: what a storage tells of the
// source, to be compared, hashed and saved. Those of a local file come from its inode and times.
struct SourceId {
  std::string source;   // the same in all states
  std::string version;  // of the bytes
  // Of everything, such as names and permissions: equal only if nothing at all was changed. Empty: not known.
  std::string touch{};
  bool is_settled = false;  // any change from now on gives another version
  // The part of the version that the same bytes have by any name: a strong ETag. Empty: none.
  std::string portable_version{};

  // Returns whether both are the same source with the same bytes, as far as the version shows.
  bool operator==(const SourceId& other) const { return source == other.source && version == other.version; }
};

}  // namespace recordfs
