// Reads everything that a mount shows of a file through the mount's tree, and compares two such readings.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "fusefs/tree/view.h"

namespace recordfs::faults {

// The content of a file (bytes), a link (target) or a directory (names, one per line), or a failure.
struct Shown {
  FileType type = FileType::kRegular;
  std::string text;
  std::uint64_t size = 0;  // st_size
  std::optional<Error> failure;

  bool operator==(const Shown& other) const;
};

struct Entry {
  std::string path;           // "" is the container's own directory
  std::size_t directory = 0;  // position in the WholeTree of the directory that contains it
  Shown shown;
};

// Entries in reading order, beginning with the container's own directory.
using WholeTree = std::vector<Entry>;

// Reads all files, links and directories.
WholeTree read_whole(const ContainerTree& tree);

struct Difference {
  std::vector<std::string> wrong;   // descriptions of entries that differ, or fail with a permanent error
  std::vector<std::string> failed;  // paths that fail with a temporary error
  std::vector<Error> failures;      // the errors of `failed`
};

// Reads each path of `whole` again and returns the differences.
Difference read_again(const ContainerTree& tree, const WholeTree& whole);

}  // namespace recordfs::faults
