// Probes: which regular files are containers, from their first bytes, with a cache.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "core/base/source.h"
#include "fusefs/tree/file_status.h"
#include "fusefs/tree/inode_table.h"
#include "fusefs/tree/mirror/file_state.h"
#include "fusefs/tree/mirror/rooted_dir.h"

namespace recordfs {

// Returns whether a format recognizes the first bytes of a source. Fails only as Source does.
using ProbeHead =
    std::function<Result<bool>(const RequestContext& context, const Source& source, std::string_view file_name)>;

// Thread-safe. Caches the answer for each state of a file: at most 200,000 answers in 10 MiB, and then none again.
class Probes {
 public:
  explicit Probes(ProbeHead probe) : probe_(std::move(probe)) {}

  // Returns what an entry of an open directory is shown as; nullopt for one that is not shown, and in a listing for one
  // that no longer exists. `now` is before the lookup. Reads the head of a regular file whose state is new.
  std::optional<MirroredType> type_of(const Looked& found, int directory, const std::string& name, const timespec& now);
  std::optional<FileType> listed_type(int directory, const DirectoryStream::Name& entry, const timespec& now);

  // Returns the cached answer, or nullopt.
  std::optional<bool> find(const FileState& state, std::string_view name) const;
  // Reads the head of a file that was in `state` at a time after `now`. Returns false for an unreadable file. Blocks
  // regardless of RequestContext. Throws std::bad_alloc if there is no memory to read it.
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
  bool is_container(int directory, const std::string& name, const FileState& state, const timespec& now);
  static Key key_of(const FileState& state, std::string_view name);

  const ProbeHead probe_;
  mutable std::mutex mutex_;
  std::unordered_map<Key, bool, Hash> answers_;
};

}  // namespace recordfs
