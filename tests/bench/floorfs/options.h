// The command line of the floor filesystem: what it shows, and a switch for each thing that costs or saves messages.
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
  unsigned threads = 8;  // 0: a loop without threads
  unsigned push = 256;   // files pushed ahead of a reader in order; 0: none
  double timeout = 1e8;  // of entries and attributes, in seconds
  bool read_only = true;
};

// What the command line says; nullopt where it makes no sense, said on stderr.
std::optional<FloorOptions> parse_floor_options(int argc, char** argv);

}  // namespace recordfs::bench
