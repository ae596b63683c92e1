#include "core/fetch/disk_cache.h"

#include <gtest/gtest.h>

#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "core/fetch/block_sums.h"
#include "core/remote/protocol.h"
#include "tests/unit/support/temp_folder.h"

namespace recordfs::fetch {
namespace {

using recordfs::testing::TempFolder;
using remote::kBlock;

std::vector<std::byte> some_bytes(std::size_t size, unsigned seed = 1) {
  std::vector<std::byte> bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>((i * 31 + i / 251 + seed * 97) % 253);
  return bytes;
}

std::unique_ptr<DiskCache> open_cache(const TempFolder& folder, std::uint64_t limit = DiskCache::kDefaultLimit) {
  auto cache = DiskCache::open((folder / "cache/blocks").string(), limit);
  return cache ? std::move(*cache) : nullptr;
}

void store(CachedObject& object, std::uint64_t begin, Bytes bytes, bool to_end = false) {
  BlockSums sums(begin);
  sums.append(bytes);
  if (to_end) sums.end();
  object.write(begin, bytes, sums);
}

// Returns a block of the object; empty: missing.
std::vector<std::byte> block_of(CachedObject& object, std::uint64_t block) {
  std::vector<std::byte> out(static_cast<std::size_t>(object.size_of(block)));
  return object.read(block, out) ? out : std::vector<std::byte>();
}

std::vector<std::filesystem::path> files_in(const TempFolder& folder) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder / "cache/blocks")) files.push_back(entry.path());
  return files;
}

TEST(BlockSums, WholeBlocksHaveSumsWhateverThePieces) {
  const auto bytes = some_bytes(3 * kBlock + 100);
  BlockSums at_once(0);
  at_once.append(bytes);
  BlockSums in_pieces(0);
  for (std::size_t at = 0; at < bytes.size(); at += 1000) {
    in_pieces.append(Bytes(bytes).subspan(at, std::min<std::size_t>(1000, bytes.size() - at)));
  }
  EXPECT_EQ(at_once.sums(), in_pieces.sums());
  EXPECT_EQ(at_once.sums().size(), 3u);
  EXPECT_EQ(at_once.sums().at(1), block_sum(1, Bytes(bytes).subspan(kBlock, kBlock)));
  at_once.end();
  EXPECT_EQ(at_once.sums().size(), 4u);
}

TEST(BlockSums, PartsOfBlocksHaveNone) {
  const auto bytes = some_bytes(2 * kBlock);
  BlockSums sums(100);
  sums.append(bytes);
  ASSERT_EQ(sums.sums().size(), 1u);
  EXPECT_EQ(sums.sums().begin()->first, 1u);
  sums.give_up();
  sums.append(bytes);
  EXPECT_TRUE(sums.sums().empty());
}

TEST(BlockSums, SumCoversTheNumberOfTheBlock) {
  const auto bytes = some_bytes(kBlock);
  EXPECT_NE(block_sum(0, bytes), block_sum(1, bytes));
}

TEST(DiskCache, BlocksAreThereAfterReopening) {
  const TempFolder folder;
  const auto bytes = some_bytes(2 * kBlock + 5);
  {
    const auto cache = open_cache(folder);
    ASSERT_TRUE(cache);
    const auto object = cache->object("http://h/x", "etag:1", bytes.size());
    ASSERT_TRUE(object);
    EXPECT_TRUE(block_of(*object, 0).empty());
    store(*object, 0, bytes, true);
  }
  const auto cache = open_cache(folder);
  const auto object = cache->object("http://h/x", "etag:1", bytes.size());
  ASSERT_TRUE(object);
  for (std::uint64_t block = 0; block < 3; ++block) {
    const auto found = block_of(*object, block);
    ASSERT_EQ(found.size(), object->size_of(block));
    EXPECT_TRUE(std::equal(found.begin(), found.end(), bytes.begin() + static_cast<std::ptrdiff_t>(block * kBlock)));
  }
}

TEST(DiskCache, OtherVersionsNamesAndSizesHaveOtherBlocks) {
  const TempFolder folder;
  const auto cache = open_cache(folder);
  const auto bytes = some_bytes(kBlock);
  store(*cache->object("x", "1", kBlock), 0, bytes);
  EXPECT_FALSE(block_of(*cache->object("x", "1", kBlock), 0).empty());
  EXPECT_TRUE(block_of(*cache->object("x", "2", kBlock), 0).empty());
  EXPECT_TRUE(block_of(*cache->object("y", "1", kBlock), 0).empty());
  EXPECT_TRUE(block_of(*cache->object("x", "1", kBlock + 1), 0).empty());
}

TEST(DiskCache, BytesThatDifferFromTheirSumAreNotUsed) {
  const TempFolder folder;
  const auto cache = open_cache(folder);
  const auto object = cache->object("x", "1", kBlock);
  auto bytes = some_bytes(kBlock);
  BlockSums sums(0);
  sums.append(bytes);
  bytes[kBlock / 2] ^= std::byte{1};  // as a client could do
  object->write(0, bytes, sums);
  EXPECT_TRUE(block_of(*object, 0).empty());
}

TEST(DiskCache, EveryFlippedByteMakesABlockMissing) {
  const TempFolder folder;
  const auto bytes = some_bytes(kBlock);
  store(*open_cache(folder)->object("x", "1", kBlock), 0, bytes);
  const auto file = files_in(folder).at(0);
  const auto size = std::filesystem::file_size(file);
  for (std::uint64_t at = 0; at < size; at += at < 8192 ? 997 : 50'021) {
    const auto flip = [&] {
      std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
      stream.seekg(static_cast<std::streamoff>(at));
      const int byte = stream.get();
      stream.seekp(static_cast<std::streamoff>(at));
      stream.put(static_cast<char>(byte ^ 0x40));
    };
    flip();
    const auto cache = open_cache(folder);
    const auto found = block_of(*cache->object("x", "1", kBlock), 0);
    EXPECT_TRUE(found.empty() || found == bytes) << at;
    store(*cache->object("x", "1", kBlock), 0, bytes);
    EXPECT_EQ(block_of(*cache->object("x", "1", kBlock), 0), bytes) << at;
  }
}

TEST(DiskCache, TruncatedFilesAreUsedAgain) {
  const TempFolder folder;
  const auto cache = open_cache(folder);
  const auto bytes = some_bytes(kBlock);
  store(*cache->object("x", "1", kBlock), 0, bytes);
  for (const std::uint64_t size : {0u, 1u, 20u, 100u, 4096u, 4100u, 5000u, 100'000u}) {
    std::filesystem::resize_file(files_in(folder).at(0), size);
    const auto object = cache->object("x", "1", kBlock);
    ASSERT_TRUE(object) << size;
    EXPECT_TRUE(block_of(*object, 0).empty()) << size;
    store(*object, 0, bytes);
    EXPECT_EQ(block_of(*object, 0), bytes) << size;
  }
}

TEST(DiskCache, TwoProcessesShareAFile) {
  const TempFolder folder;
  const auto one = open_cache(folder), other = open_cache(folder);
  const auto bytes = some_bytes(2 * kBlock);
  const auto first = one->object("x", "1", 2 * kBlock), second = other->object("x", "1", 2 * kBlock);
  store(*first, 0, Bytes(bytes).first(kBlock));
  store(*second, kBlock, Bytes(bytes).subspan(kBlock));
  EXPECT_FALSE(block_of(*first, 1).empty());
  EXPECT_FALSE(block_of(*second, 0).empty());
  EXPECT_EQ(files_in(folder).size(), 1u);
}

TEST(DiskCache, FilesUsedLeastRecentlyAreRemoved) {
  const TempFolder folder;
  const auto bytes = some_bytes(2 * kBlock);
  const auto cache = open_cache(folder, 16 * kBlock);
  for (int i = 0; i < 40; ++i) {
    const auto object = cache->object("x" + std::to_string(i), "1", 2 * kBlock);
    ASSERT_TRUE(object) << i;
    store(*object, 0, bytes);
  }
  std::uint64_t total = 0;
  for (const auto& file : files_in(folder)) {
    struct stat st {};
    ASSERT_EQ(::stat(file.c_str(), &st), 0);
    total += static_cast<std::uint64_t>(st.st_blocks) * 512;
  }
  EXPECT_LE(total, 20 * kBlock);
  EXPECT_FALSE(block_of(*cache->object("x39", "1", 2 * kBlock), 0).empty());
  EXPECT_TRUE(block_of(*cache->object("x0", "1", 2 * kBlock), 0).empty());
}

TEST(DiskCache, OneObjectTakesHalfAtMost) {
  const TempFolder folder;
  const auto cache = open_cache(folder, 16 * kBlock);
  const auto object = cache->object("x", "1", 64 * kBlock);
  const auto bytes = some_bytes(kBlock);
  for (std::uint64_t block = 0; block < 64; ++block) store(*object, block * kBlock, bytes);
  std::uint64_t present = 0;
  for (std::uint64_t block = 0; block < 64; ++block) present += block_of(*object, block).empty() ? 0 : 1;
  EXPECT_GE(present, 6u);
  EXPECT_LE(present, 8u);
}

TEST(DiskCache, FilesAreForTheirOwnerAndHaveNoNamesInThem) {
  const TempFolder folder;
  const auto cache = open_cache(folder);
  store(*cache->object("http://host/secret-name", "etag:secret-version", kBlock), 0, some_bytes(kBlock));
  struct stat st {};
  ASSERT_EQ(::stat((folder / "cache/blocks").c_str(), &st), 0);
  EXPECT_EQ(st.st_mode & 0777, 0700u);
  const auto file = files_in(folder).at(0);
  ASSERT_EQ(::stat(file.c_str(), &st), 0);
  EXPECT_EQ(st.st_mode & 0777, 0600u);
  std::ifstream stream(file, std::ios::binary);
  const std::string content((std::istreambuf_iterator<char>(stream)), std::istreambuf_iterator<char>());
  EXPECT_EQ(content.find("secret"), std::string::npos);
  EXPECT_EQ(file.string().find("secret"), std::string::npos);
}

TEST(DiskCache, OpenFolderIsClosed) {
  const TempFolder folder;
  folder.make("cache/blocks");
  std::filesystem::permissions(folder / "cache/blocks", std::filesystem::perms::all);
  ASSERT_TRUE(open_cache(folder));
  struct stat st {};
  ASSERT_EQ(::stat((folder / "cache/blocks").c_str(), &st), 0);
  EXPECT_EQ(st.st_mode & 0777, 0700u);
}

TEST(DiskCache, FolderOfOthersIsRefused) {
  const TempFolder folder;
  folder.make("cache/blocks");
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a folder away";
  ASSERT_EQ(::chown((folder / "cache/blocks").c_str(), 12345, 12345), 0);
  EXPECT_FALSE(DiskCache::open((folder / "cache/blocks").string(), 1 << 20));
}

TEST(DiskCache, LinksInTheFolderAreNotFollowed) {
  const TempFolder folder;
  const auto cache = open_cache(folder);
  store(*cache->object("x", "1", kBlock), 0, some_bytes(kBlock));
  const auto file = files_in(folder).at(0);
  folder.write("victim", "untouched");
  std::filesystem::remove(file);
  std::filesystem::create_symlink(folder / "victim", file);
  const auto object = cache->object("x", "1", kBlock);
  ASSERT_TRUE(object);
  store(*object, 0, some_bytes(kBlock));
  std::ifstream stream(folder / "victim");
  std::string content;
  std::getline(stream, content);
  EXPECT_EQ(content, "untouched");
}

}  // namespace
}  // namespace recordfs::fetch
