// Wanderer: sends a mounted tree random requests like a kernel, and ends the program if two answers contradict each
// other.
#pragma once

#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "tests/fuzz/mounted_input.h"

namespace recordfs::fuzz {

class Wanderer {
 public:
  Wanderer(const MountedInput& mounted, std::uint64_t seed);

  void wander();

 private:
  // The properties of a node that must not change.
  struct Seen {
    std::uint64_t number = 0;
    std::uint64_t parent = 0;
    std::string name;
    FileType type = FileType::kDirectory;
  };
  struct Entry {
    std::string name;
    std::uint64_t number = 0;
    FileType type = FileType::kRegular;
    std::optional<std::uint64_t> size;
    std::uint64_t inode = 0;
    std::uint64_t next = 0;
  };
  struct Listing {
    std::vector<Entry> entries;
    bool is_cut = false;  // not all entries were read
  };

  std::uint64_t pick(std::uint64_t below) { return random_() % below; }
  const Seen& any(bool (*wanted)(const Seen&));
  void step();
  void note(const Seen& seen);

  Listing list(std::uint64_t directory, std::uint64_t place, std::size_t most);
  void check_listing(const Seen& directory);
  void check_names(const std::vector<Entry>& entries, std::uint64_t place);
  void check_goes_on(const Seen& directory, const Listing& whole);
  void check_entry(const Seen& directory, const Entry& entry);

  void look_up_any_name(const Seen& directory);
  std::string any_name();
  void check_found(std::uint64_t directory, std::string_view name, const FileStatus& found);
  void check_same(const FileStatus& status);
  void check_file(const Seen& file);
  void check_pieces(const Seen& file, std::string_view whole);
  void check_link(const Seen& link);
  void check_extended(const Seen& node);
  void ask_of_any_number();
  void forget(std::size_t place);
  void forget_all();

  const MountedInput& mounted_;
  const MountTree& tree_;
  std::mt19937_64 random_;
  std::vector<Seen> seen_;                          // the root is the first
  std::map<std::uint64_t, std::uint64_t> lookups_;  // lookups of each inode number
  std::map<std::uint64_t, FileStatus> statuses_;    // the last status of each inode number
};

}  // namespace recordfs::fuzz
