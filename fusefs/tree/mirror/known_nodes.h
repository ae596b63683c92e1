// KnownNodes: the numbers of nodes in mirrored directories that the kernel has references to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "fusefs/tree/inode_table.h"
#include "fusefs/tree/mirror/file_state.h"

namespace recordfs {

enum class MirroredType : std::uint8_t {
  kDirectory,
  kFile,       // passed through
  kLink,       // passed through
  kContainer,  // a regular file that the mount shows as a directory
  kRecordfs,   // a mount of recordfs, shown as an empty directory
};

// A path of the source and what was there. Immutable.
struct MirroredNode {
  std::uint64_t number = 0;
  std::size_t source = 0;  // index of the mirrored directory
  std::string path;        // relative to it
  MirroredType type = MirroredType::kDirectory;
  FileState state;
  bool is_settled = false;  // any change after the lookup would show in `state`
};

// Thread-safe.
//
// A number means one state of a file, so that what the kernel caches for it stays true. When a file is replaced or
// written to, its path gets a new number, and the old number continues to mean the old file. Only directories keep
// their number when they change. Numbers are not reused.
class KnownNodes {
 public:
  using Pointer = std::shared_ptr<const MirroredNode>;

  static bool is_mirrored(std::uint64_t number) {
    return number >> kValueBits == static_cast<unsigned>(NodeKind::kMirrored);
  }

  // Adds the mirrored directory `source` itself, permanently. Returns its number: `number`, or a new one for nullopt.
  std::uint64_t add_source(std::size_t source, const FileState& state, std::optional<std::uint64_t> number);

  // Returns the node of a path and adds a reference. `now` is a time before `state` was read. Makes a node with a new
  // number if the path has none, or if the file may have changed.
  Pointer look_up_and_reference(std::size_t source, const std::string& path, MirroredType type, const FileState& state,
                                const timespec& now);

  // Returns null if the number has no references.
  Pointer find(std::uint64_t number) const;

  // Adds a reference to a container for a node inside it. The container keeps its number while it has either kind.
  void reference_inside(std::uint64_t number);

  // Removes references to a node, or those of nodes inside it. Returns true if this has removed the last one.
  bool forget(std::uint64_t number, std::uint64_t lookups) { return take_back(number, &Row::lookups, lookups); }
  bool forget_inside(std::uint64_t number, std::uint64_t lookups) { return take_back(number, &Row::inside, lookups); }

  std::size_t size() const;

 private:
  struct Row {
    Pointer node;
    std::uint64_t lookups = 0;
    std::uint64_t inside = 0;  // references of nodes inside the container
  };
  struct SourcePath {
    std::size_t source = 0;
    std::string_view path;
    bool operator==(const SourcePath&) const = default;
  };
  struct Hash {
    std::size_t operator()(const SourcePath& at) const { return std::hash<std::string_view>{}(at.path) + at.source; }
  };

  static SourcePath source_path(const MirroredNode& node) { return {node.source, node.path}; }
  Pointer add(MirroredNode node);
  bool take_back(std::uint64_t number, std::uint64_t Row::*count, std::uint64_t lookups);

  mutable std::mutex mutex_;
  std::unordered_map<std::uint64_t, Row> rows_;
  std::unordered_map<SourcePath, Pointer, Hash> newest_;  // keys point into the nodes
  std::uint64_t next_ = 0;
};

}  // namespace recordfs
