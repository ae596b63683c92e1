#include "fusefs/mount_sources.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "fusefs/tree/inode_table.h"

namespace recordfs {
namespace {

TEST(MountSources, AnyNumberOfContainersOfAllAddressesHaveInodes) {
  for (std::size_t count = 2; count <= 40; ++count) {
    Options options;
    for (std::size_t i = 0; i < count; ++i) options.sources.push_back("/no/source/" + std::to_string(i));
    InodeTable inodes;
    for (std::size_t i = 0; i < count; ++i) {
      const auto wanted = InodeTable::wanted(options.sources[i], std::uint64_t{1} << address_bits(options));
      EXPECT_TRUE(inodes.add(i, wanted)) << i << " of " << count;
    }
  }
}

}  // namespace
}  // namespace recordfs
