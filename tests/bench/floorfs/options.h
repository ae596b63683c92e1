// The command line of the floor filesystem: its content, and a switch for each feature that affects the number of
// messages.
#pragma once

#include <optional>
#include <string>

#include "tests/bench/data/records.h"
#include "tests/bench/floorfs/tree.h"

namespace recordfs::bench {

enum class Listing : std::uint8_t { kPlus, kAuto, kNames };

struct FloorOptions {
  std::string mountpoint;
  std::uint64_t records = 100'000;
  Kind kind = Kind::kLines;
  Layout layout = Layout::kFlat;
  Listing listing = Listing::kPlus;
  bool open = false;     // answer open and opendir instead of ENOSYS
  bool clone_fd = true;  // a descriptor for each thread
  bool foreground = false;
  unsigned threads = 8;  // 0: single-threaded loop
  unsigned push = 256;   // files pushed ahead of a sequential reader; 0: none
  double timeout = 1e8;  // of entries and attributes, in seconds
  bool read_only = true;
};

// Parses the command line. Returns nullopt if it is invalid, and prints why to stderr.
std::optional<FloorOptions> parse_floor_options(int argc, char** argv);

}  // namespace recordfs::bench
