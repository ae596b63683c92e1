#include "core/store/saved_index.h"

#include <sys/stat.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>

#include "core/base/append.h"
#include "core/hash/highway.h"
#include "tests/unit/store/indexed_store.h"
#include "tests/unit/support/read_file.h"

namespace recordfs::testing {
namespace {

namespace fs = std::filesystem;

TEST(SavedIndex, SecondMountDoesNotScan) {
  const IndexedDisk disk;
  mount_once(disk);
  ASSERT_EQ(disk.saved().size(), 1u);
  const IndexedStore again(disk);
  EXPECT_EQ(again.counts().chunks, kIndexedChunks);
  EXPECT_TRUE(again.store->index().state().complete);
  EXPECT_EQ(again.scans(), 0u);
  again.expect_whole(toy::make_file(disk.shape));
  EXPECT_TRUE(again.lines.all().empty());
}

TEST(SavedIndex, DetailsReportTheOutcomeOfTheScan) {
  const IndexedDisk disk;
  const auto details = [&] {
    IndexedStore mounted(disk);
    EXPECT_EQ(mounted.counts().chunks, kIndexedChunks);
    mounted.store.reset();
    return mounted.lines.details();
  };
  const auto walked = details();
  ASSERT_EQ(walked.size(), 2u);
  EXPECT_TRUE(walked[0].starts_with("toy: scanned its headers in ")) << walked[0];
  EXPECT_TRUE(walked[1].starts_with("toy: saved the index " + disk.directory())) << walked[1];
  const auto restored = details();
  ASSERT_EQ(restored.size(), 1u);
  EXPECT_TRUE(restored[0].starts_with("toy: found the saved index " + disk.directory())) << restored[0];
}

TEST(SavedIndex, RowsAndStreamsAreTheSameFromTheIndex) {
  const IndexedDisk disk;
  const auto texts = [&] {
    const std::uint64_t scans = disk.saved().empty() ? kIndexedChunks : 0;
    const IndexedStore mounted(disk);
    EXPECT_EQ(mounted.counts().chunks, kIndexedChunks);
    EXPECT_EQ(mounted.scans(), scans);
    const auto rows =
        waited([&] { return mounted.store->streams().read({}, Stream::kChunkRows, 0, 1u << 20); }).value();
    const auto lines = waited([&] { return mounted.store->streams().read({}, Stream::kLines, 0, 1u << 20); }).value();
    return text_of(rows) + text_of(lines);
  };
  const std::string walked = texts();
  ASSERT_FALSE(disk.saved().empty());
  EXPECT_EQ(texts(), walked);
}

TEST(SavedIndex, SizesThatNeedAFullScanAreKnownAtOnce) {
  const IndexedDisk disk({.chunks = kIndexedChunks, .counts_in_header = false, .small_layout = false});
  const auto size = [](const IndexedStore& mounted) {
    return waited([&] { return mounted.store->streams().size(Stream::kConcat); }).value();
  };
  const std::uint64_t walked = size(IndexedStore(disk));
  const IndexedStore again(disk);
  EXPECT_EQ(size(again), walked);
  EXPECT_EQ(again.watch->layouts + again.watch->decodes + again.scans(), 0u);
}

TEST(SavedIndex, SequentialReadWithAnIndexDecodesEachChunkOnce) {
  const IndexedDisk disk({.chunks = kIndexedChunks, .counts_in_header = false, .small_layout = false});
  const auto text = [](const IndexedStore& mounted) {
    return text_of(waited([&] { return mounted.store->streams().read({}, Stream::kConcat, 0, 1u << 20); }).value());
  };
  const std::string walked = text(IndexedStore(disk));
  const IndexedStore again(disk);
  EXPECT_EQ(text(again), walked);
  EXPECT_EQ(again.watch->decodes, kIndexedChunks);
  EXPECT_EQ(again.watch->layouts, 0u);
}

TEST(SavedIndex, DamageIsReportedAndLoggedAsDuringAScan) {
  const IndexedDisk disk({.chunks = kIndexedChunks, .broken_headers = {3, 4, 20, 59}});
  const auto told = [&] {
    const IndexedStore mounted(disk);
    std::vector<std::string> texts;
    for (const DamageRow& row : *waited([&] { return mounted.store->index().damage(); }).value()) {
      texts.push_back(row.region.reason + std::to_string(row.region.begin) + " " + std::to_string(row.first_ordinal));
    }
    const auto lines = mounted.lines.all();
    texts.insert(texts.end(), lines.begin(), lines.end());
    return texts;
  };
  const auto walked = told();
  EXPECT_EQ(walked.size(), 6u);
  EXPECT_EQ(told(), walked);
}

TEST(SavedIndex, ShortScansAndRecentlyWrittenFilesAreNotSaved) {
  const IndexedDisk disk;
  EXPECT_EQ(IndexedStore(disk, "test", std::chrono::hours(1)).counts().chunks, kIndexedChunks);
  EXPECT_TRUE(disk.saved().empty());
  IndexedDisk fresh;
  fresh.temp.set_mtime(
      std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch()).count());
  mount_once(fresh);
  EXPECT_TRUE(fresh.saved().empty());
}

TEST(SavedIndex, GrownFileContinuesFromTheIndex) {
  IndexedDisk disk;
  mount_once(disk);
  const toy::Shape longer{.chunks = kIndexedChunks + 7};
  disk.rewrite(longer, 1'000'000'100);
  {
    const IndexedStore grown(disk);
    EXPECT_EQ(grown.counts().chunks, kIndexedChunks + 7);
    EXPECT_GT(grown.scans(), 0u);
    EXPECT_LT(grown.scans(), kIndexedChunks);
    grown.expect_whole(toy::make_file(longer));
  }
  const IndexedStore again(disk);
  EXPECT_EQ(again.counts().chunks, kIndexedChunks + 7);
  EXPECT_EQ(again.scans(), 0u);
}

TEST(SavedIndex, FileCutInAChunkAndCompletedIsScannedToTheEnd) {
  IndexedDisk disk;
  const std::string bytes = toy::make_file(disk.shape).bytes;
  disk.temp.resize(bytes.size() - 5);
  disk.temp.set_mtime(1'000'000'000);
  mount_once(disk);
  ASSERT_EQ(disk.saved().size(), 1u);
  disk.temp.write_at(bytes.size() - 5, std::string_view(bytes).substr(bytes.size() - 5));
  const IndexedStore grown(disk);
  grown.expect_whole(toy::make_file(disk.shape));
  EXPECT_TRUE(waited([&] { return grown.store->index().damage(); }).value()->empty());
}

TEST(SavedIndex, GrownFileWithDamageAtItsBeginningIsRescanned) {
  IndexedDisk disk({.chunks = kIndexedChunks, .broken_headers = {3}});
  mount_once(disk);
  disk.rewrite({.chunks = kIndexedChunks + 7, .broken_headers = {3}}, 1'000'000'100);
  const IndexedStore grown(disk);
  EXPECT_EQ(grown.counts().chunks, kIndexedChunks + 6);
  EXPECT_GT(grown.scans(), kIndexedChunks);
}

TEST(SavedIndex, AnotherFileWithTheSameInodeIsRescanned) {
  const toy::Shape other{.chunks = kIndexedChunks,
                         .record_size = [](std::uint64_t ordinal) { return 26 - ordinal % 7; }};
  for (const bool same_mtime : {true, false}) {
    for (const std::uint64_t chunks : {kIndexedChunks, kIndexedChunks + 5, kIndexedChunks - 5}) {
      IndexedDisk disk;
      mount_once(disk);
      toy::Shape replaced = other;
      replaced.chunks = chunks;
      disk.rewrite(replaced, same_mtime ? 1'000'000'000 : 1'000'000'200);
      const IndexedStore mounted(disk);
      EXPECT_EQ(mounted.counts().chunks, chunks);
      EXPECT_GE(mounted.scans(), chunks);
      mounted.expect_whole(toy::make_file(replaced));
    }
  }
}

TEST(SavedIndex, IndexOfAnotherBuildIsReplaced) {
  const IndexedDisk disk;
  mount_once(disk);
  for (const std::uint64_t scans : {kIndexedChunks, std::uint64_t{0}}) {
    const IndexedStore other(disk, "test", {}, "another build");
    EXPECT_EQ(other.counts().chunks, kIndexedChunks);
    EXPECT_EQ(other.scans(), scans);
  }
  EXPECT_EQ(disk.saved().size(), 1u);
  const IndexedStore mounted(disk);
  EXPECT_EQ(mounted.counts().chunks, kIndexedChunks);
  EXPECT_EQ(mounted.scans(), kIndexedChunks);
}

TEST(SavedIndex, IndexWithAnotherTimestampOrSettingIsIgnored) {
  IndexedDisk disk;
  mount_once(disk);
  EXPECT_EQ(IndexedStore(disk, "another limit").counts().chunks, kIndexedChunks);
  EXPECT_EQ(disk.saved().size(), 2u);
  disk.temp.set_mtime(1'000'000'001);
  const IndexedStore touched(disk);
  EXPECT_EQ(touched.counts().chunks, kIndexedChunks);
  EXPECT_GE(touched.scans(), kIndexedChunks);
}

TEST(SavedIndex, BrokenIndexIsIgnoredAndReplaced) {
  const IndexedDisk disk;
  mount_once(disk);
  const fs::path file = disk.saved().at(0);
  const auto size = fs::file_size(file);
  for (std::uintmax_t length = 0; length < size; length += 37) {
    fs::resize_file(file, length);
    const IndexedStore mounted(disk);
    EXPECT_EQ(mounted.counts().chunks, kIndexedChunks);
    EXPECT_GE(mounted.scans(), kIndexedChunks);
  }
  EXPECT_EQ(fs::file_size(file), size);
}

SavedCatalog read_index(const fs::path& file) {
  const std::string bytes = read_file(file);
  return decode_index(as_bytes(bytes), {kIndexBounds.anchors, kIndexBounds.chunks_per_anchor, kIndexBounds.damage_rows,
                                        kIndexBounds.cached_sizes})
      .value();
}

void write_index(const fs::path& file, const SavedCatalog& saved) {
  std::ofstream(file, std::ios::binary) << encode_index(saved.key, saved.snapshot);
}

// With a correct checksum and consistent numbers that are not those of the file.
TEST(SavedIndex, WrongEntriesAreDetectedWhenHeadersAreRead) {
  const IndexedDisk disk;
  mount_once(disk);
  const fs::path file = disk.saved().at(0);
  auto saved = read_index(file);
  for (std::size_t i = 3; i < saved.snapshot.anchors.size(); ++i) saved.snapshot.anchors[i].before.records += 1;
  saved.snapshot.anchors[4].key.state = UINT64_MAX;
  saved.snapshot.anchors[5].key.position += 1;
  saved.snapshot.totals.records += 1;
  saved.snapshot.places = {};  // which would show it at once
  write_index(file, saved);
  {
    const IndexedStore mounted(disk);
    EXPECT_EQ(mounted.counts().records, kIndexedChunks * 3 + 1);
    const std::uint64_t before = saved.snapshot.anchors[3].before.records - 2;
    EXPECT_EQ(mounted.record(before).error().code, Code::kChanged);
    EXPECT_FALSE(fs::exists(file));
  }
  IndexedStore(disk).expect_whole(toy::make_file(disk.shape));
}

TEST(SavedIndex, WrongLayoutEntriesAreDetectedWhenAChunkIsRead) {
  const IndexedDisk disk({.chunks = kIndexedChunks, .counts_in_header = false});
  mount_once(disk);
  const fs::path file = disk.saved().at(0);
  auto saved = read_index(file);
  ASSERT_EQ(saved.snapshot.cached_sizes.size(), kIndexedChunks);
  saved.snapshot.cached_sizes[0].size += 1;
  saved.snapshot.cached_sizes[1].size -= 1;
  write_index(file, saved);
  EXPECT_EQ(IndexedStore(disk).record(6).value(), toy::make_file(disk.shape).records[6]);
  EXPECT_TRUE(fs::exists(file));
  EXPECT_EQ(IndexedStore(disk).record(0).error().code, Code::kChanged);
  EXPECT_FALSE(fs::exists(file));
  IndexedStore(disk).expect_whole(toy::make_file(disk.shape));
}

// Every number of the index, with a correct checksum after it. Whatever someone with the user's permissions writes
// there, a readable record is the file's. A wrong number is detected, and the file is scanned again.
TEST(SavedIndex, ForgedNumbersYieldNoWrongRecord) {
  const toy::Shape shape{.chunks = 12, .counts_in_header = false};
  const IndexedDisk disk(shape);
  const toy::File truth = toy::make_file(shape);
  mount_once(disk);
  const fs::path file = disk.saved().at(0);
  const std::string whole = read_file(file);
  for (std::size_t at = 0; at + 16 <= whole.size(); at += 4) {
    for (const std::uint64_t forged : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{1} << 31, UINT64_MAX}) {
      std::string bytes = whole.substr(0, whole.size() - 8);
      std::string number;
      append_le(number, forged);
      bytes.replace(at, number.size(), number);
      append_le(bytes, highway_hash(as_bytes(bytes)));
      std::ofstream(file, std::ios::binary) << bytes;
      const IndexedStore mounted(disk);
      for (std::uint64_t i = 0; i < truth.records.size(); ++i) {
        const auto record = mounted.record(i);
        if (record) {
          EXPECT_EQ(*record, truth.records[i]) << "at " << at << ": " << forged;
        } else {
          EXPECT_TRUE(record.error().code == Code::kChanged || record.error().code == Code::kNotFound)
              << "at " << at << ": " << forged << ": " << to_string(record.error());
        }
      }
    }
  }
  fs::remove(file);
  IndexedStore(disk).expect_whole(truth);
}

TEST(SavedIndex, FilesAndDirectoriesAreAccessibleToTheirOwnerOnly) {
  const IndexedDisk disk;
  mount_once(disk);
  struct stat st {};
  ASSERT_EQ(::stat(disk.directory().c_str(), &st), 0);
  EXPECT_EQ(st.st_mode & 0777, 0700u);
  ASSERT_EQ(::stat(disk.saved().at(0).c_str(), &st), 0);
  EXPECT_EQ(st.st_mode & 0777, 0600u);
}

TEST(SavedIndex, IndexThatOthersMayWriteIsIgnored) {
  const IndexedDisk disk;
  mount_once(disk);
  fs::permissions(disk.saved().at(0), fs::perms::others_write, fs::perm_options::add);
  EXPECT_EQ(IndexedStore(disk).counts().chunks, kIndexedChunks);
  fs::permissions(disk.directory(), fs::perms::group_write, fs::perm_options::add);
  const IndexedStore mounted(disk);
  EXPECT_EQ(mounted.counts().chunks, kIndexedChunks);
  EXPECT_EQ(mounted.scans(), kIndexedChunks);
}

TEST(SavedIndex, SymbolicLinksAreNotFollowed) {
  const IndexedDisk disk;
  const fs::path elsewhere = disk.temp.directory() + "/elsewhere";
  fs::create_directories(elsewhere);
  fs::permissions(elsewhere, fs::perms::owner_all);
  fs::create_directories(fs::path(disk.directory()).parent_path());
  fs::create_directory_symlink(elsewhere, disk.directory());
  mount_once(disk);
  EXPECT_TRUE(fs::is_empty(elsewhere));
  fs::remove(disk.directory());
  mount_once(disk);
  const fs::path file = disk.saved().at(0);
  fs::rename(file, elsewhere / "kept");
  fs::create_symlink(elsewhere / "kept", file);
  const auto size = fs::file_size(elsewhere / "kept");
  const IndexedStore mounted(disk);
  EXPECT_EQ(mounted.counts().chunks, kIndexedChunks);
  EXPECT_EQ(mounted.scans(), kIndexedChunks);
  EXPECT_EQ(fs::file_size(elsewhere / "kept"), size);
}

TEST(SavedIndex, WriteFailureIsOneLogLine) {
  const IndexedDisk disk;
  std::ofstream(disk.temp.directory() + "/above") << "not a directory";
  Lines* lines = nullptr;
  {
    IndexedStore mounted(disk);
    EXPECT_EQ(mounted.counts().chunks, kIndexedChunks);
    mounted.store.reset();
    lines = &mounted.lines;
    ASSERT_EQ(lines->all().size(), 1u);
    EXPECT_NE(lines->all()[0].find("cannot save"), std::string::npos);
  }
}

TEST(SavedIndex, ConcurrentSavesForOneFileSucceed) {
  const IndexedDisk disk;
  mount_once(disk);
  const auto saved = read_index(disk.saved().at(0));
  const auto source = FileSource::open(disk.temp.path()).value();
  Lines lines;
  std::vector<std::thread> writers;
  for (int i = 0; i < 2; ++i) {
    writers.emplace_back([&] {
      SavedIndex index({disk.directory(), "test", {}, "one build"}, *source, "toy", ScanDetail::kCounts, {},
                       lines.log());
      index.read({});
      for (int round = 0; round < 300; ++round) index.write({}, saved.snapshot, std::chrono::seconds(1));
    });
  }
  for (std::thread& writer : writers) writer.join();
  EXPECT_TRUE(lines.all().empty());
  EXPECT_EQ(disk.saved().size(), 1u);
  const IndexedStore again(disk);
  EXPECT_EQ(again.counts().chunks, kIndexedChunks);
  EXPECT_EQ(again.scans(), 0u);
}

TEST(SavedIndex, SourceWithoutAFileHasNoIndex) {
  ToyStore toy({.chunks = 5});
  toy.services.index = IndexLocation{"/nowhere", "test", {}};
  RecordStore store("toy", toy.source, toy::open(toy.source, Limits{}).value(), toy.services);
  EXPECT_EQ(waited([&] { return store.index().totals(ScanDetail::kCounts); })->chunks, 5u);
  EXPECT_TRUE(toy.lines.all().empty());
}

}  // namespace
}  // namespace recordfs::testing
