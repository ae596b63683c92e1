// All that a mount shows of a file, read through the tree as the mount reads it, to be held against another reading.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "fusefs/tree/container_tree.h"

namespace recordfs::faults {

// What a file, a link or a directory gave: its bytes, its target, or the names in it, one a line. Or a failure.
struct Shown {
  FileType type = FileType::kRegular;
  std::string text;
  std::uint64_t size = 0;  // as stat() has it
  std::optional<Error> failure;

  bool operator==(const Shown& other) const;
};

// By path; "" is the container's own directory. In the order in which they are read.
using WholeTree = std::vector<std::pair<std::string, Shown>>;

// Reads all that is there.
WholeTree read_whole(const ContainerTree& tree);

struct Difference {
  std::vector<std::string> wrong;   // what is something else than it was, or fails though it did not, in words
  std::vector<std::string> failed;  // the paths that fail for a reason that may pass
  std::vector<Error> failures;      // the reasons
};

// Asks for each path of `whole` again: what gives something else, and what fails now.
Difference read_again(const ContainerTree& tree, const WholeTree& whole);

}  // namespace recordfs::faults
