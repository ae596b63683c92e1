// What a mount has shown for each of its paths, for comparison with later answers.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace recordfs::soak {

inline constexpr std::size_t kPage = 4096;
inline constexpr std::size_t kNowhere = ~std::size_t{0};

struct Status {
  mode_t mode = 0;
  std::uint64_t inode = 0;
  std::uint64_t size = 0;
  std::uint64_t links = 0;
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  std::int64_t modified = 0;  // nanoseconds
  bool operator==(const Status&) const = default;
};

// An entry of a directory, in the order of the listing.
struct Entry {
  std::string name;
  std::uint64_t inode = 0;
  std::uint8_t type = 0;  // DT_*
  std::int64_t next = 0;  // where the listing continues after it
  bool operator==(const Entry&) const = default;
};

struct Listing {
  int error = 0;  // an errno that ended the listing early
  std::vector<Entry> entries;
};

// A file's bytes. `failed` holds the numbers of unreadable pages and their errno.
struct Content {
  std::size_t begin = 0;   // in Knowledge::bytes
  std::size_t length = 0;  // of what was read, which may be less than the file
  std::map<std::size_t, int> failed;
};

struct Known {
  std::size_t parent = kNowhere;  // number of the parent directory
  std::string name;               // in the parent; empty: the root
  bool in_container = false;      // below a container's directory
  int error = 0;                  // of lstat; then all other members are empty
  Status status{};
  std::string target{};                                           // of a symbolic link
  std::vector<std::pair<std::string, std::string>> attributes{};  // extended ones
  Content content{};
  Listing listing{};
};

struct Knowledge {
  std::vector<Known> paths;
  std::string bytes;
  // Groups of paths for a visit to choose from: those in one container, or in one directory outside of all containers.
  std::vector<std::vector<std::size_t>> places;

  // Returns a path relative to the mount's root, without a leading "/"; "." for the root.
  std::string path(std::size_t number) const;
  std::string_view content(const Known& known) const {
    return std::string_view(bytes).substr(known.content.begin, known.content.length);
  }
};

}  // namespace recordfs::soak
