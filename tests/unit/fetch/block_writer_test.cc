// Blocks that are written to the disk cache by a thread.
#include "core/fetch/block_writer.h"

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/remote/protocol.h"

namespace recordfs::testing {
namespace {

using fetch::BlockSums;
using fetch::BlockWriter;
using fetch::CachedObject;
using fetch::Clock;
using fetch::DiskCache;
using remote::kBlock;

class BlockWriterTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string folder = ::testing::TempDir() + "recordfs-blocks-XXXXXX";
    ASSERT_NE(::mkdtemp(folder.data()), nullptr);
    folder_ = folder;
    auto cache = DiskCache::open(folder_, 1u << 30);
    ASSERT_TRUE(cache);
    cache_ = std::move(*cache);
    object_ = cache_->object("http://host/x", "1", bytes_.size());
    ASSERT_NE(object_, nullptr);
    sums_.append(bytes_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  // Returns how many blocks the cache has.
  std::size_t stored() {
    std::size_t count = 0;
    std::vector<std::byte> block(kBlock);
    for (std::uint64_t i = 0; i < object_->blocks(); ++i) count += object_->read(i, block) ? 1 : 0;
    return count;
  }

  static constexpr std::size_t kBlocks = 8;
  const std::vector<std::byte> bytes_ = std::vector<std::byte>(kBlocks * kBlock, std::byte{'x'});
  std::string folder_;
  std::unique_ptr<DiskCache> cache_;
  std::shared_ptr<CachedObject> object_;
  BlockSums sums_{0};
};

TEST_F(BlockWriterTest, LargePartIsWrittenByAThreadWhichWakesTheCaller) {
  std::promise<void> woken;
  BlockWriter writer([&] { woken.set_value(); });
  const auto write = writer.write(object_, 0, bytes_, sums_);
  ASSERT_NE(write, nullptr);
  woken.get_future().wait();
  EXPECT_TRUE(writer.is_over(*write, Clock::time_point::min()));
  EXPECT_EQ(stored(), kBlocks);
}

TEST_F(BlockWriterTest, SmallPartIsWrittenAtOnce) {
  BlockWriter writer([] { ADD_FAILURE(); });
  BlockSums sums(0);
  sums.append(Bytes(bytes_).first(kBlock));
  EXPECT_EQ(writer.write(object_, 0, Bytes(bytes_).first(kBlock), sums), nullptr);
  EXPECT_EQ(stored(), 1u);
}

TEST_F(BlockWriterTest, PartsAreLeftOutAfterOneThatTookLong) {
  std::promise<void> woken;
  BlockWriter writer([&] { woken.get_future().wait(); });
  const auto first = writer.write(object_, 0, bytes_, sums_);
  const auto second = writer.write(object_, 0, bytes_, sums_);
  ASSERT_NE(second, nullptr);
  EXPECT_FALSE(writer.is_over(*second, Clock::time_point::min()));
  EXPECT_TRUE(writer.is_over(*second, BlockWriter::end(*second)));
  EXPECT_EQ(writer.write(object_, 0, bytes_, sums_), nullptr);
  woken.set_value();
}

TEST_F(BlockWriterTest, BytesThatChangeAreNotUsed) {
  std::vector<std::byte> changing = bytes_;
  changing[kBlock + 5] = std::byte{'y'};
  std::promise<void> woken;
  BlockWriter writer([&] { woken.set_value(); });
  ASSERT_NE(writer.write(object_, 0, changing, sums_), nullptr);
  woken.get_future().wait();
  EXPECT_EQ(stored(), kBlocks - 1);
}

}  // namespace
}  // namespace recordfs::testing
