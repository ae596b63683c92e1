// RemoteFolder: what a server has listed of a directory.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>

namespace recordfs {

// What a listing or a status tells of an object or a directory.
struct RemoteEntry {
  std::string name;
  bool is_directory = false;
  std::uint64_t size = 0;
  timespec modified{};
  std::uint64_t version = 0;  // a hash of ListedEntry::version
  std::uint64_t place = 0;    // in the listing: the number of entries before it
};

// The entries of a directory, each name once, as far as they were listed.
class RemoteFolder {
 public:
  using Clock = std::chrono::steady_clock;

  explicit RemoteFolder(Clock::time_point read_at) : read_at_(read_at) {}

  // Adds an entry, unless there is one of this name. A directory replaces an object. Returns whether it is a new name.
  bool add(RemoteEntry entry);
  // Announces that there are no more entries.
  void complete() { is_complete_ = true; }
  // Adds time that requests have taken.
  void spend(Clock::duration time) { took_ += time; }

  // In the order of the server.
  const std::deque<RemoteEntry>& entries() const { return entries_; }
  // Returns null if there is none.
  const RemoteEntry* find(std::string_view name) const;
  bool is_complete() const { return is_complete_; }
  Clock::time_point read_at() const { return read_at_; }
  // Returns how long its requests have taken.
  Clock::duration took() const { return took_; }
  std::uint64_t bytes() const { return bytes_; }

 private:
  const Clock::time_point read_at_;
  std::deque<RemoteEntry> entries_;
  std::unordered_map<std::string_view, std::size_t> by_name_;  // keys point into the entries
  bool is_complete_ = false;
  Clock::duration took_{};
  std::uint64_t bytes_ = 0;
};

}  // namespace recordfs
