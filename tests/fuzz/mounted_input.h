// An input mounted as a container, without a kernel.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "core/store/record_store.h"
#include "fusefs/tree/mount_tree.h"
#include "tests/fuzz/mutator.h"
#include "tests/unit/support/waited.h"

namespace recordfs::fuzz {

using testing::waited;

class MountedInput {
 public:
  // Returns null if the input is not a container. `options`, from options_of(), select the limits.
  static std::unique_ptr<MountedInput> open(Bytes input, std::uint64_t options);

  // The same input, opened once more.
  const Container& container() const { return *container_; }
  const RecordStore& store() const { return *store_; }
  const MountTree& tree() const { return *tree_; }

  Result<std::uint64_t> child(std::uint64_t directory, std::string_view name) const {
    return waited([&] { return tree_->lookup({}, directory, name); });
  }
  // Returns the inode number of a path such as "a/b/c".
  Result<std::uint64_t> find(std::string_view path) const;
  Result<FileStatus> status(std::uint64_t number) const {
    return waited([&] { return tree_->subtree(number).status({}, number); });
  }
  Result<Slice> read(std::uint64_t number, std::uint64_t offset, std::uint64_t length) const {
    return waited([&] { return tree_->subtree(number).read({}, number, offset, length); });
  }
  // Returns the whole content of a file, as many bytes as its status states.
  Result<std::string> content(std::uint64_t number) const;

 private:
  MountedInput(std::shared_ptr<const Source> source, std::unique_ptr<Container> container,
               std::unique_ptr<Container> again, std::uint64_t options);

  const std::unique_ptr<const Container> container_;
  StoreResources services_;
  std::shared_ptr<const RecordStore> store_;
  std::unique_ptr<const MountTree> tree_;
};

// Returns the mutator of the input's format, or null if it has none.
const Mutator* mutator_by_format(Bytes input);

}  // namespace recordfs::fuzz
