#include "core/base/source.h"

#include <fcntl.h>
#include <sys/mman.h>

#include <gtest/gtest.h>

#include "core/base/descriptor.h"

namespace recordfs {
namespace {

TEST(Filesystem, MemoryFileNeverHangs) {
  const Descriptor file(::memfd_create("memory", MFD_CLOEXEC));
  ASSERT_TRUE(file);
  EXPECT_EQ(filesystem_that_may_hang(file.number(), 7), 0u);
}

TEST(Filesystem, FilesystemNotKnownToBeLocalMayHang) {
  const Descriptor file(::open("/proc/self/status", O_RDONLY | O_CLOEXEC));
  ASSERT_TRUE(file);
  EXPECT_EQ(filesystem_that_may_hang(file.number(), 7), 7u);
}

}  // namespace
}  // namespace recordfs
