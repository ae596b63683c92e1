// DatabaseNodes: the keys, versions and texts of a mounted database that the kernel refers to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>

#include "core/database/database.h"

namespace recordfs {

// A node that a name was found to mean. Immutable, so what the kernel caches of it stays true.
struct DatabaseNode {
  enum class Kind : std::uint8_t {
    kKey,      // a file in keys/: the newest value when it was looked up
    kHistory,  // the directory of a key in history/
    kVersion,  // a file in it
    kInfo,     // info.json: its text is `key`
    kNames,    // names.tsv of a family: its text is `key`
  };
  Kind kind = Kind::kKey;
  bool is_in_families = false;  // of kHistory: it is below column-families/
  std::uint32_t family = 0;
  std::string key{};
  database::Version version{};  // of kKey and kVersion
  std::uint64_t size = 0;       // of a file, in bytes; 1 if the value is unreadable
  bool is_readable = true;
};

// Gives each node a number that lasts until the kernel has forgotten it. Thread-safe.
class DatabaseNodes {
 public:
  using Pointer = std::shared_ptr<const DatabaseNode>;

  // Returns the number of an equal node, or a new one, and adds a reference. Numbers are not reused.
  std::uint64_t reference(DatabaseNode node);
  // Returns null if the number has no references.
  Pointer find(std::uint64_t number) const;
  // Removes references. Returns whether the number has none left.
  bool forget(std::uint64_t number, std::uint64_t lookups);
  std::size_t size() const;

 private:
  // What makes two nodes equal; the last one points to a row's key.
  using Identity = std::tuple<DatabaseNode::Kind, bool, bool, std::uint32_t, std::uint64_t, database::Operation,
                              std::uint64_t, std::string_view>;
  struct Row {
    Pointer node;
    std::uint64_t lookups = 0;
  };
  static Identity identity_of(const DatabaseNode& node);

  mutable std::shared_mutex mutex_;  // guards the following
  std::unordered_map<std::uint64_t, Row> rows_;
  std::map<Identity, std::uint64_t> numbers_;
  std::uint64_t next_ = 0;
};

}  // namespace recordfs
