// The tree of mounted toy files, accessed by path.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "core/decoding/file_names.h"
#include "fusefs/tree/mount_tree.h"
#include "tests/unit/store/toy_store.h"

namespace recordfs::testing {

struct Listed {
  std::uint64_t number = 0;  // 0: the listing does not tell it
  std::uint64_t inode = 0;
  FileType type = FileType::kRegular;
  std::optional<std::uint64_t> size{};
  std::uint64_t next = 0;
};
using Listing = std::vector<std::pair<std::string, Listed>>;

class ToyTree {
 public:
  // Mounts one container as the root.
  explicit ToyTree(ToyStore& toy, std::string record_suffix = {})
      : tree_(containers({{"toy", &toy}}), false, {}, std::move(record_suffix)) {}
  // Mounts each container as a directory.
  explicit ToyTree(const std::vector<std::pair<std::string, ToyStore*>>& toys) : tree_(containers(toys), true) {}

  // Mounts a data set.
  explicit ToyTree(DataSetSource source, std::string record_suffix = {})
      : tree_({std::move(source)}, false, {}, std::move(record_suffix)) {}

  // Mounts a database. Containers in its files/ cannot be opened.
  explicit ToyTree(DatabaseSource source)
      : tree_({std::move(source)}, false, {.probe = [](const auto&...) { return false; }, .open = {}, .adjust = {}}) {}

  const MountTree& operator*() const { return tree_; }
  const MountTree* operator->() const { return &tree_; }

  Result<std::uint64_t> child(std::uint64_t directory, std::string_view name) const {
    return waited([&] { return tree_.lookup({}, directory, name); });
  }

  // Returns the number of the inode at a path such as "a/b/c". Does not follow links: a path through one gives
  // kNotFound.
  Result<std::uint64_t> find(std::string_view path) const {
    Result<std::uint64_t> number = MountTree::kRootNumber;
    while (number && !path.empty()) {
      const std::size_t slash = path.find('/');
      number = child(*number, path.substr(0, slash));
      path = slash == std::string_view::npos ? std::string_view() : path.substr(slash + 1);
    }
    return number;
  }
  bool exists(std::string_view path) const {
    const auto number = find(path);
    EXPECT_TRUE(number || number.error().code == Code::kNotFound);
    return number.has_value();
  }

  FileStatus status(std::uint64_t number) const {
    return waited([&] { return tree_.subtree(number).status({}, number); }).value();
  }
  FileStatus status(std::string_view path) const { return status(find(path).value()); }

  // Returns the content of a file, read by its size; or the code of the failure.
  std::string read(std::uint64_t number) const { return read(number, status(number).size + 1); }
  // Returns at most the first `most` bytes: of a file that may grow before it is read.
  std::string read(std::uint64_t number, std::uint64_t most) const {
    const auto slice = waited([&] { return tree_.subtree(number).read({}, number, 0, most); });
    return slice ? text_of(*slice) : "error: " + std::string(to_string(slice.error().code));
  }
  std::string read(std::string_view path) const { return read(find(path).value()); }
  std::string target(std::string_view path) const {
    return tree_.subtree(find(path).value()).target({}, find(path).value()).value();
  }

  // Returns at most `most` entries of a directory, from `place` on.
  Listing list(std::uint64_t directory, std::uint64_t place = 0, std::size_t most = SIZE_MAX) const {
    Listing listing;
    for (bool more = true; more && listing.size() < most;) {
      more = false;
      const auto emit = [&](const MountEntry& entry) {
        if (listing.size() >= most) return false;
        const std::uint64_t number = entry.container == nullptr ? 0 : tree_.look_up_and_reference(entry);
        listing.emplace_back(entry.name, Listed{number, entry.inode, entry.type, entry.size, entry.next});
        place = entry.next;
        return more = true;
      };
      EXPECT_TRUE(waited([&] { return tree_.subtree(directory).list({}, directory, place, emit); }));
    }
    return listing;
  }
  std::vector<std::string> names(std::string_view path) const {
    std::vector<std::string> names;
    for (const auto& [name, entry] : list(find(path).value())) names.push_back(name);
    return names;
  }

 private:
  static std::vector<MountSource> containers(const std::vector<std::pair<std::string, ToyStore*>>& toys) {
    std::vector<MountSource> list;
    for (const auto& [name, toy] : toys) list.push_back(MountedContainer{name, toy->store, Ownership{.uid = 7}});
    return list;
  }
  MountTree tree_;
};

}  // namespace recordfs::testing
