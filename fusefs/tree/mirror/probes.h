// Which regular files are containers, asked of their heads and remembered.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string_view>
#include <unordered_map>

#include "core/base/source.h"
#include "fusefs/tree/mirror/file_state.h"

namespace recordfs {

// Whether a format knows the head of a source. Fails only as Source does.
using ProbeHead = std::function<Result<bool>(const Source& source, std::string_view file_name)>;

// Any thread. Answers are remembered by the state of the file, some 100,000 to 200,000 of them in 10 MiB: whichever
// were asked for last.
class Probes {
 public:
  explicit Probes(ProbeHead probe) : probe_(std::move(probe)) {}

  // What is remembered; nullopt: nothing.
  std::optional<bool> find(const FileState& state, std::string_view name) const;
  // Reads the head of an open file that was found in `state` at the time `now`. A file that can't be read is none.
  // Throws std::bad_alloc where there is no memory to ask.
  bool ask(const Descriptor& file, const FileState& state, std::string_view name, const timespec& now);

 private:
  struct Key {
    std::uint64_t first = 0;
    std::uint64_t second = 0;
    bool operator==(const Key&) const = default;
  };
  struct Hash {
    std::size_t operator()(const Key& key) const { return static_cast<std::size_t>(key.first); }
  };
  using Answers = std::unordered_map<Key, bool, Hash>;

  static Key key_of(const FileState& state, std::string_view name);

  const ProbeHead probe_;
  mutable std::mutex mutex_;
  mutable Answers recent_;
  mutable Answers earlier_;  // those that were recent before
};

}  // namespace recordfs
