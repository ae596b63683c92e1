// Reads everything that a mount shows of a file through the mount's tree, and compares two such readings.
#pragma once

#include <map>
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

// Entries by path, in reading order. "" is the container's own directory.
using WholeTree = std::vector<std::pair<std::string, Shown>>;

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
