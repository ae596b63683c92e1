// The nodes of mirrored directories that the kernel knows: what each of their numbers means.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "fusefs/tree/mirror/file_state.h"
#include "fusefs/tree/node.h"

namespace recordfs {

enum class MirroredType : std::uint8_t {
  kDirectory,
  kFile,       // passes through
  kLink,       // passes through
  kContainer,  // a regular file, shown as a directory
  kRecordfs,   // a mount of recordfs, shown as an empty directory
};

// A place of the source, and what stood there. Immutable.
struct MirroredNode {
  std::uint64_t number = 0;
  std::size_t source = 0;  // which of the mirrored directories
  std::string path;        // relative to it
  MirroredType type = MirroredType::kDirectory;
  FileState state;
  bool is_settled = false;  // a change of it would have shown in `state`
};

// Any thread.
//
// A number stands for one state of what it names, so that what the kernel keeps of it stays true: when a file is
// replaced or written to, its path gets another number, and the old one goes on meaning the old file. Only a directory
// stays the same while it is changed. Numbers are not used again.
class KnownNodes {
 public:
  using Pointer = std::shared_ptr<const MirroredNode>;

  static bool is_mirrored(std::uint64_t number) {
    return number >> kValueBits == static_cast<unsigned>(NodeKind::kMirrored);
  }

  // Adds the directory `source` itself, for ever. `number`: the one that it has; nullopt: a new one.
  std::uint64_t add_source(std::size_t source, const FileState& state, std::optional<std::uint64_t> number);

  // The node of a path where something of this type was found in this state, looked up once more.
  Pointer look_up_and_reference(std::size_t source, const std::string& path, MirroredType type, const FileState& state,
                                const timespec& now);

  // Null: the number was never given out, or was forgotten.
  Pointer find(std::uint64_t number) const;

  // Something in the container of a number was looked up: its row stays until that is forgotten too.
  void reference_inside(std::uint64_t number);

  // Takes lookups of a number, or in its container, back. Returns whether nothing is known of it any more.
  bool forget(std::uint64_t number, std::uint64_t lookups) { return take_back(number, &Row::lookups, lookups); }
  bool forget_inside(std::uint64_t number, std::uint64_t lookups) { return take_back(number, &Row::inside, lookups); }

  std::size_t size() const;

 private:
  struct Row {
    Pointer node;
    std::uint64_t lookups = 0;
    std::uint64_t inside = 0;  // lookups in its container
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
  std::unordered_map<SourcePath, Pointer, Hash> newest_;  // the key points into the node
  std::uint64_t next_ = 0;
};

}  // namespace recordfs
