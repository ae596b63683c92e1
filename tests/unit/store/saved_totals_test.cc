// Totals of saved indexes, without the file.
#include <sys/stat.h>

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <thread>

#include "core/base/storage.h"
#include "core/store/saved_index.h"
#include "tests/unit/store/indexed_store.h"
#include "tests/unit/support/read_file.h"

namespace recordfs::testing {
namespace {

namespace fs = std::filesystem;

IndexLocation location_of(const IndexedDisk& disk) { return {disk.directory(), "test", {}, "one build"}; }

SourceStatus state_of(const IndexedDisk& disk) { return *status_of({}, disk.temp.path()); }

std::optional<SavedTotals> totals_of(const IndexedDisk& disk) {
  return saved_totals({}, location_of(disk), state_of(disk).id, ScanDetail::kCounts);
}

void wait_until_settled(const IndexedDisk& disk) { std::this_thread::sleep_for(state_of(disk).settles_in); }

TEST(SavedTotals, AreKnownWithoutTheFile) {
  const IndexedDisk disk({.chunks = kIndexedChunks, .broken_headers = {7}});
  wait_until_settled(disk);
  EXPECT_FALSE(totals_of(disk));
  PrefixSums sums;
  {
    const IndexedStore mounted(disk);
    sums = mounted.counts();
  }
  const auto saved = totals_of(disk);
  ASSERT_TRUE(saved);
  EXPECT_EQ(saved->format, hash_of_format("toy"));
  EXPECT_EQ(saved->sums.records, sums.records);
  EXPECT_EQ(saved->sums.chunks, sums.chunks);
  EXPECT_EQ(saved->sums.bytes, sums.bytes);
  EXPECT_EQ(saved->damaged_regions, 1u);
  EXPECT_FALSE(saved_totals({}, location_of(disk), state_of(disk).id, ScanDetail::kSizes));
  for (const auto& other : {IndexLocation{disk.directory(), "other", {}, "one build"},
                            IndexLocation{disk.directory(), "test", {}, "another build"}}) {
    EXPECT_FALSE(saved_totals({}, other, state_of(disk).id, ScanDetail::kCounts));
  }
}

TEST(SavedTotals, AreOfTheFileInItsPresentState) {
  IndexedDisk disk;
  wait_until_settled(disk);
  mount_once(disk);
  ASSERT_TRUE(totals_of(disk));
  SourceId other = state_of(disk).id;
  other.version += "1";
  EXPECT_FALSE(saved_totals({}, location_of(disk), other, ScanDetail::kCounts));
  disk.temp.write_at(fs::file_size(disk.temp.path()) / 2, "changed");
  disk.temp.set_mtime(1'000'000'000);
  EXPECT_FALSE(totals_of(disk)) << "only the change time differs";
}

TEST(SavedTotals, AreKnownAgainOnceAFileWithNewPermissionsWasOpened) {
  const IndexedDisk disk;
  wait_until_settled(disk);
  mount_once(disk);
  ASSERT_EQ(::chmod(disk.temp.path().c_str(), 0600), 0);
  wait_until_settled(disk);
  EXPECT_FALSE(totals_of(disk));
  const IndexedStore again(disk);
  EXPECT_EQ(again.counts().chunks, kIndexedChunks);
  EXPECT_EQ(again.scans(), 0u);
  EXPECT_TRUE(totals_of(disk));
  EXPECT_EQ(IndexedStore(disk).counts().chunks, kIndexedChunks);
  EXPECT_EQ(disk.saved().size(), 1u);
}

TEST(SavedTotals, BrokenAreIgnored) {
  const IndexedDisk disk;
  wait_until_settled(disk);
  mount_once(disk);
  const fs::path file = disk.saved().at(0);
  const std::string bytes = testing::read_file(file);
  constexpr std::size_t kHead = 160;
  for (std::size_t i = 0; i < kHead; ++i) {
    std::string other = bytes;
    other[i] = static_cast<char>(other[i] ^ 0x40);
    std::ofstream(file, std::ios::binary) << other;
    EXPECT_FALSE(totals_of(disk)) << i;
    std::ofstream(file, std::ios::binary) << bytes.substr(0, i);
    EXPECT_FALSE(totals_of(disk)) << i;
  }
  std::ofstream(file, std::ios::binary) << bytes;
  EXPECT_TRUE(totals_of(disk));
  fs::permissions(file, fs::perms::others_write, fs::perm_options::add);
  EXPECT_FALSE(totals_of(disk));
}

}  // namespace
}  // namespace recordfs::testing
