#include "core/store/saved_index.h"

#include <sys/stat.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "core/hash/highway.h"
#include "tests/unit/store/toy_store.h"
#include "tests/unit/support/temp_file.h"

namespace recordfs::testing {
namespace {

namespace fs = std::filesystem;

constexpr Catalog::Bounds kSmallBounds{.anchors = 8, .chunks_per_anchor = 2, .cached_chunks = 4, .damage_rows = 30};
constexpr std::uint64_t kChunks = 60;

// A file on disk, and a directory for its saved index. Each mount is a separate store.
struct Disk {
  explicit Disk(toy::Shape of = {.chunks = kChunks}) : shape(std::move(of)), temp(toy::make_file(shape).bytes) {
    temp.set_mtime(1'000'000'000);
  }

  std::string directory() const { return temp.directory() + "/above/saved"; }
  std::vector<fs::path> saved() const {
    std::vector<fs::path> files;
    if (!fs::exists(directory())) return files;
    for (const auto& entry : fs::directory_iterator(directory())) files.push_back(entry.path());
    return files;
  }
  // Overwrites the file with another shape, in the same inode.
  void rewrite(const toy::Shape& other, std::int64_t mtime) {
    const std::string bytes = toy::make_file(other).bytes;
    temp.resize(bytes.size());
    temp.write_at(0, bytes);
    temp.set_mtime(mtime);
  }

  toy::Shape shape;
  TempFile temp;
};

struct Mounted {
  explicit Mounted(const Disk& disk, std::string settings = "test", std::chrono::milliseconds least = {},
                   std::string program = "one build") {
    services.index = IndexLocation{disk.directory(), std::move(settings), least, std::move(program)};
    source = FileSource::open(disk.temp.path()).value();
    store = std::make_shared<RecordStore>("toy", source, toy::open(source, Limits{}, watch).value(), services,
                                          kSmallBounds);
  }
  PrefixSums counts() const {
    return waited([&] { return store->index().totals(ScanDetail::kCounts); }).value();
  }
  std::uint64_t scans() const { return watch->scans; }
  Result<std::string> record(std::uint64_t ordinal) const {
    ASSIGN_OR_RETURN(const auto indexed, waited([&] { return store->index().find({}, SearchKey::kRecords, ordinal); }));
    ASSIGN_OR_RETURN(const auto slice,
                     store->records().read({}, {indexed.chunk, ordinal - indexed.before.records}, 0, UINT64_MAX));
    return text_of(slice);
  }
  // Expects the content of the file itself.
  void expect_whole(const toy::File& file) const {
    ASSERT_EQ(counts().records, file.records.size());
    for (std::uint64_t i = 0; i < file.records.size(); ++i) {
      const auto text = record(i);
      ASSERT_TRUE(text) << i << ": " << to_string(text.error());
      ASSERT_EQ(*text, file.records[i]) << i;
    }
  }

  std::shared_ptr<toy::Watch> watch = std::make_shared<toy::Watch>();
  Lines lines;
  Services services{64u << 20, 2, lines.log()};
  std::shared_ptr<const FileSource> source;
  std::shared_ptr<RecordStore> store;
};

// Scans and saves.
void mount_once(const Disk& disk) { EXPECT_GT(Mounted(disk).counts().chunks, 0u); }

TEST(SavedIndex, SecondMountDoesNotScan) {
  const Disk disk;
  mount_once(disk);
  ASSERT_EQ(disk.saved().size(), 1u);
  const Mounted again(disk);
  EXPECT_EQ(again.counts().chunks, kChunks);
  EXPECT_TRUE(again.store->index().state().complete);
  EXPECT_EQ(again.scans(), 0u);
  again.expect_whole(toy::make_file(disk.shape));
  EXPECT_TRUE(again.lines.all().empty());
}

TEST(SavedIndex, DetailsReportTheOutcomeOfTheScan) {
  const Disk disk;
  const auto details = [&] {
    Mounted mounted(disk);
    EXPECT_EQ(mounted.counts().chunks, kChunks);
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
  const Disk disk;
  const auto texts = [&] {
    const std::uint64_t scans = disk.saved().empty() ? kChunks : 0;
    const Mounted mounted(disk);
    EXPECT_EQ(mounted.counts().chunks, kChunks);
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
  const Disk disk({.chunks = kChunks, .counts_in_header = false, .small_layout = false});
  const auto size = [](const Mounted& mounted) {
    return waited([&] { return mounted.store->streams().size(Stream::kConcat); }).value();
  };
  const std::uint64_t walked = size(Mounted(disk));
  const Mounted again(disk);
  EXPECT_EQ(size(again), walked);
  EXPECT_EQ(again.watch->layouts + again.watch->decodes + again.scans(), 0u);
}

TEST(SavedIndex, SequentialReadWithAnIndexDecodesEachChunkOnce) {
  const Disk disk({.chunks = kChunks, .counts_in_header = false, .small_layout = false});
  const auto text = [](const Mounted& mounted) {
    return text_of(waited([&] { return mounted.store->streams().read({}, Stream::kConcat, 0, 1u << 20); }).value());
  };
  const std::string walked = text(Mounted(disk));
  const Mounted again(disk);
  EXPECT_EQ(text(again), walked);
  EXPECT_EQ(again.watch->decodes, kChunks);
  EXPECT_EQ(again.watch->layouts, 0u);
}

TEST(SavedIndex, DamageIsReportedAndLoggedAsDuringAScan) {
  const Disk disk({.chunks = kChunks, .broken_headers = {3, 4, 20, 59}});
  const auto told = [&] {
    const Mounted mounted(disk);
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
  const Disk disk;
  EXPECT_EQ(Mounted(disk, "test", std::chrono::hours(1)).counts().chunks, kChunks);
  EXPECT_TRUE(disk.saved().empty());
  Disk fresh;
  fresh.temp.set_mtime(
      std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch()).count());
  mount_once(fresh);
  EXPECT_TRUE(fresh.saved().empty());
}

TEST(SavedIndex, GrownFileContinuesFromTheIndex) {
  Disk disk;
  mount_once(disk);
  const toy::Shape longer{.chunks = kChunks + 7};
  disk.rewrite(longer, 1'000'000'100);
  {
    const Mounted grown(disk);
    EXPECT_EQ(grown.counts().chunks, kChunks + 7);
    EXPECT_GT(grown.scans(), 0u);
    EXPECT_LT(grown.scans(), kChunks);
    grown.expect_whole(toy::make_file(longer));
  }
  const Mounted again(disk);
  EXPECT_EQ(again.counts().chunks, kChunks + 7);
  EXPECT_EQ(again.scans(), 0u);
}

TEST(SavedIndex, FileCutInAChunkAndCompletedIsScannedToTheEnd) {
  Disk disk;
  const std::string bytes = toy::make_file(disk.shape).bytes;
  disk.temp.resize(bytes.size() - 5);
  disk.temp.set_mtime(1'000'000'000);
  mount_once(disk);
  ASSERT_EQ(disk.saved().size(), 1u);
  disk.temp.write_at(bytes.size() - 5, std::string_view(bytes).substr(bytes.size() - 5));
  const Mounted grown(disk);
  grown.expect_whole(toy::make_file(disk.shape));
  EXPECT_TRUE(waited([&] { return grown.store->index().damage(); }).value()->empty());
}

TEST(SavedIndex, GrownFileWithDamageAtItsBeginningIsRescanned) {
  Disk disk({.chunks = kChunks, .broken_headers = {3}});
  mount_once(disk);
  disk.rewrite({.chunks = kChunks + 7, .broken_headers = {3}}, 1'000'000'100);
  const Mounted grown(disk);
  EXPECT_EQ(grown.counts().chunks, kChunks + 6);
  EXPECT_GT(grown.scans(), kChunks);
}

TEST(SavedIndex, AnotherFileWithTheSameInodeIsRescanned) {
  const toy::Shape other{.chunks = kChunks, .record_size = [](std::uint64_t ordinal) { return 26 - ordinal % 7; }};
  for (const bool same_mtime : {true, false}) {
    for (const std::uint64_t chunks : {kChunks, kChunks + 5, kChunks - 5}) {
      Disk disk;
      mount_once(disk);
      toy::Shape replaced = other;
      replaced.chunks = chunks;
      disk.rewrite(replaced, same_mtime ? 1'000'000'000 : 1'000'000'200);
      const Mounted mounted(disk);
      EXPECT_EQ(mounted.counts().chunks, chunks);
      EXPECT_GE(mounted.scans(), chunks);
      mounted.expect_whole(toy::make_file(replaced));
    }
  }
}

TEST(SavedIndex, IndexOfAnotherBuildIsReplaced) {
  const Disk disk;
  mount_once(disk);
  for (const std::uint64_t scans : {kChunks, std::uint64_t{0}}) {
    const Mounted other(disk, "test", {}, "another build");
    EXPECT_EQ(other.counts().chunks, kChunks);
    EXPECT_EQ(other.scans(), scans);
  }
  EXPECT_EQ(disk.saved().size(), 1u);
  const Mounted mounted(disk);
  EXPECT_EQ(mounted.counts().chunks, kChunks);
  EXPECT_EQ(mounted.scans(), kChunks);
}

TEST(SavedIndex, IndexWithAnotherTimestampOrSettingIsIgnored) {
  Disk disk;
  mount_once(disk);
  EXPECT_EQ(Mounted(disk, "another limit").counts().chunks, kChunks);
  EXPECT_EQ(disk.saved().size(), 2u);
  disk.temp.set_mtime(1'000'000'001);
  const Mounted touched(disk);
  EXPECT_EQ(touched.counts().chunks, kChunks);
  EXPECT_GE(touched.scans(), kChunks);
}

TEST(SavedIndex, BrokenIndexIsIgnoredAndReplaced) {
  const Disk disk;
  mount_once(disk);
  const fs::path file = disk.saved().at(0);
  const auto size = fs::file_size(file);
  for (std::uintmax_t length = 0; length < size; length += 37) {
    fs::resize_file(file, length);
    const Mounted mounted(disk);
    EXPECT_EQ(mounted.counts().chunks, kChunks);
    EXPECT_GE(mounted.scans(), kChunks);
  }
  EXPECT_EQ(fs::file_size(file), size);
}

SavedCatalog read_index(const fs::path& file) {
  std::string bytes(fs::file_size(file), '\0');
  std::ifstream(file, std::ios::binary).read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  return decode_index(as_bytes(bytes), {kSmallBounds.anchors, kSmallBounds.chunks_per_anchor, kSmallBounds.damage_rows,
                                        kSmallBounds.cached_sizes})
      .value();
}

void write_index(const fs::path& file, const SavedCatalog& saved) {
  std::ofstream(file, std::ios::binary) << encode_index(saved.key, saved.snapshot);
}

// With a correct checksum and consistent numbers that are not those of the file.
TEST(SavedIndex, WrongEntriesAreDetectedWhenHeadersAreRead) {
  const Disk disk;
  mount_once(disk);
  const fs::path file = disk.saved().at(0);
  auto saved = read_index(file);
  for (std::size_t i = 3; i < saved.snapshot.anchors.size(); ++i) saved.snapshot.anchors[i].before.records += 1;
  saved.snapshot.anchors[4].key.state = UINT64_MAX;
  saved.snapshot.anchors[5].key.position += 1;
  saved.snapshot.totals.records += 1;
  write_index(file, saved);
  {
    const Mounted mounted(disk);
    EXPECT_EQ(mounted.counts().records, kChunks * 3 + 1);
    const std::uint64_t before = saved.snapshot.anchors[3].before.records - 2;
    EXPECT_EQ(mounted.record(before).error().code, Code::kChanged);
    EXPECT_FALSE(fs::exists(file));
  }
  Mounted(disk).expect_whole(toy::make_file(disk.shape));
}

TEST(SavedIndex, WrongLayoutEntriesAreDetectedWhenAChunkIsRead) {
  const Disk disk({.chunks = kChunks, .counts_in_header = false});
  mount_once(disk);
  const fs::path file = disk.saved().at(0);
  auto saved = read_index(file);
  ASSERT_EQ(saved.snapshot.cached_sizes.size(), kChunks);
  saved.snapshot.cached_sizes[0].size += 1;
  saved.snapshot.cached_sizes[1].size -= 1;
  write_index(file, saved);
  EXPECT_EQ(Mounted(disk).record(6).value(), toy::make_file(disk.shape).records[6]);
  EXPECT_TRUE(fs::exists(file));
  EXPECT_EQ(Mounted(disk).record(0).error().code, Code::kChanged);
  EXPECT_FALSE(fs::exists(file));
  Mounted(disk).expect_whole(toy::make_file(disk.shape));
}

std::string read_bytes(const fs::path& file) {
  std::ostringstream text;
  text << std::ifstream(file, std::ios::binary).rdbuf();
  return std::move(text).str();
}

// Every number of the index, with a correct checksum after it. Whatever someone with the user's permissions writes
// there, a readable record is the file's. A wrong number is detected, and the file is scanned again.
TEST(SavedIndex, ForgedNumbersYieldNoWrongRecord) {
  const toy::Shape shape{.chunks = 12, .counts_in_header = false};
  const Disk disk(shape);
  const toy::File truth = toy::make_file(shape);
  mount_once(disk);
  const fs::path file = disk.saved().at(0);
  const std::string whole = read_bytes(file);
  for (std::size_t at = 0; at + 16 <= whole.size(); at += 4) {
    for (const std::uint64_t forged : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{1} << 31, UINT64_MAX}) {
      std::string bytes = whole.substr(0, whole.size() - 8);
      std::memcpy(bytes.data() + at, &forged, 8);
      const std::uint64_t hash = highway_hash(as_bytes(bytes));
      bytes.append(reinterpret_cast<const char*>(&hash), 8);
      std::ofstream(file, std::ios::binary) << bytes;
      const Mounted mounted(disk);
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
  Mounted(disk).expect_whole(truth);
}

TEST(SavedIndex, FilesAndDirectoriesAreAccessibleToTheirOwnerOnly) {
  const Disk disk;
  mount_once(disk);
  struct stat st {};
  ASSERT_EQ(::stat(disk.directory().c_str(), &st), 0);
  EXPECT_EQ(st.st_mode & 0777, 0700u);
  ASSERT_EQ(::stat(disk.saved().at(0).c_str(), &st), 0);
  EXPECT_EQ(st.st_mode & 0777, 0600u);
}

TEST(SavedIndex, IndexThatOthersMayWriteIsIgnored) {
  const Disk disk;
  mount_once(disk);
  fs::permissions(disk.saved().at(0), fs::perms::others_write, fs::perm_options::add);
  EXPECT_EQ(Mounted(disk).counts().chunks, kChunks);
  fs::permissions(disk.directory(), fs::perms::group_write, fs::perm_options::add);
  const Mounted mounted(disk);
  EXPECT_EQ(mounted.counts().chunks, kChunks);
  EXPECT_EQ(mounted.scans(), kChunks);
}

TEST(SavedIndex, SymbolicLinksAreNotFollowed) {
  const Disk disk;
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
  const Mounted mounted(disk);
  EXPECT_EQ(mounted.counts().chunks, kChunks);
  EXPECT_EQ(mounted.scans(), kChunks);
  EXPECT_EQ(fs::file_size(elsewhere / "kept"), size);
}

TEST(SavedIndex, WriteFailureIsOneLogLine) {
  const Disk disk;
  std::ofstream(disk.temp.directory() + "/above") << "not a directory";
  Lines* lines = nullptr;
  {
    Mounted mounted(disk);
    EXPECT_EQ(mounted.counts().chunks, kChunks);
    mounted.store.reset();
    lines = &mounted.lines;
    ASSERT_EQ(lines->all().size(), 1u);
    EXPECT_NE(lines->all()[0].find("cannot save"), std::string::npos);
  }
}

TEST(SavedIndex, ConcurrentSavesForOneFileSucceed) {
  const Disk disk;
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
  const Mounted again(disk);
  EXPECT_EQ(again.counts().chunks, kChunks);
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
