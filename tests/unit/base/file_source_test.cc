#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "core/base/source.h"
#include "tests/unit/support/temp_file.h"

namespace recordfs {
namespace {

using testing::TempFile;

// Longer than the ends that are compared, and with varying content.
std::string long_text() {
  std::string text;
  for (int i = 0; text.size() < 20000; ++i) text += std::to_string(i) + ' ';
  return text;
}

std::shared_ptr<const FileSource> open_source(const TempFile& file) {
  auto source = FileSource::open(file.path());
  EXPECT_TRUE(source) << to_string(source.error());
  return source ? *source : nullptr;
}

std::string bytes_read(const Source& source, Position at, std::size_t size) {
  std::string out(size, '?');
  auto got = source.read_at({}, at, std::as_writable_bytes(std::span(out)));
  return got ? out.substr(0, *got) : std::string(to_string(got.error().code));
}

TEST(FileSource, ReadsAnyRangeAndStopsAtTheEnd) {
  const std::string text = long_text();
  const TempFile file(text);
  const auto source = open_source(file);
  ASSERT_TRUE(source);
  EXPECT_EQ(source->size(), text.size());
  EXPECT_EQ(bytes_read(*source, 0, text.size()), text);
  EXPECT_EQ(bytes_read(*source, 5000, 100), text.substr(5000, 100));
  EXPECT_EQ(bytes_read(*source, text.size() - 3, 100), text.substr(text.size() - 3));
  EXPECT_EQ(bytes_read(*source, text.size(), 100), "");
  EXPECT_EQ(bytes_read(*source, ~Position{0}, 100), "");
  EXPECT_EQ(source->generation(), 0u);
  EXPECT_FALSE(source->has_grown());
}

TEST(FileSource, AlreadyOpenFileIsReadFromItsDescriptor) {
  const TempFile file("text");
  Descriptor descriptor(::open(file.path().c_str(), O_RDONLY | O_CLOEXEC));
  std::filesystem::remove(file.path());
  const auto source = FileSource::of(std::move(descriptor), "name").value();
  EXPECT_FALSE(descriptor) << "it is the source's now";
  EXPECT_EQ(bytes_read(*source, 0, 10), "text");
  EXPECT_EQ(source->name(), "name");
  EXPECT_EQ(FileSource::of(Descriptor(::open("/", O_RDONLY | O_CLOEXEC)), "").error().os_error, EISDIR);
}

TEST(FileSource, ReturnsModeOwnerAndTimeOfTheFile) {
  TempFile file("text");
  file.set_mtime(1000);
  ::chmod(file.path().c_str(), 0640);
  const auto source = open_source(file);
  ASSERT_TRUE(source);
  EXPECT_EQ(source->owner()->mode, static_cast<unsigned>(S_IFREG | 0640));
  EXPECT_EQ(source->owner()->uid, ::geteuid());
  EXPECT_EQ(source->modified()->tv_sec, 1000);
}

TEST(FileSource, MissingFileIsAnOperatingSystemError) {
  const TempFile file("text");
  auto source = FileSource::open(file.path() + "-that-is-not-there");
  ASSERT_FALSE(source);
  EXPECT_EQ(source.error().code, Code::kIo);
  EXPECT_EQ(source.error().os_error, ENOENT);
  EXPECT_EQ(source.error().detail, "cannot open: No such file or directory");
}

TEST(FileSource, DirectoryIsNotAContainer) {
  const TempFile file("text");
  auto source = FileSource::open(file.directory());
  ASSERT_FALSE(source);
  EXPECT_EQ(source.error().code, Code::kIo);
  EXPECT_EQ(source.error().os_error, EISDIR);
}

TEST(FileSource, PipeIsRefusedWithoutWaitingForAWriter) {
  const TempFile file("text");
  const std::string pipe = file.path() + "-pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  auto source = FileSource::open(pipe);
  ASSERT_FALSE(source);
  EXPECT_EQ(source.error().code, Code::kIo);
  EXPECT_EQ(source.error().os_error, EINVAL);
}

TEST(FileSource, TruncationFailsReadsOfRemovedAndRemainingBytes) {
  const std::string text = long_text();
  for (const Position at : {Position{0}, Position{9990}, Position{15000}}) {
    TempFile file(text);
    const auto source = open_source(file);
    ASSERT_TRUE(source);
    file.resize(10000);
    EXPECT_EQ(bytes_read(*source, at, 100), "changed") << at;
  }
}

TEST(FileSource, RewritingIsReportedAfterAFewReadsOfAPassOrAtTheEnd) {
  const std::string text(5u << 20, 'a');
  for (const Position from : {Position{0}, Position{text.size() - (256u << 10)}}) {
    TempFile file(text);
    const auto source = open_source(file);
    ASSERT_TRUE(source);
    file.write_at(0, "b");
    std::vector<std::byte> piece(256u << 10);
    Position at = from;
    while (at < text.size() && source->read_next({}, at, piece)) at += piece.size();
    EXPECT_LT(at, text.size()) << from;
    EXPECT_LT(at - from, 2u << 20) << from;
  }
}

// A truncated file was rewritten later, whatever its ends look like now.
TEST(FileSource, DetectedTruncationIsRememberedWhenTheFileGrowsAgain) {
  const std::string text = long_text();
  TempFile file(text);
  const auto source = open_source(file);
  ASSERT_TRUE(source);
  file.resize(10000);
  ASSERT_EQ(bytes_read(*source, 15000, 100), "changed");
  file.write_at(10000, text.substr(10000));
  EXPECT_EQ(bytes_read(*source, 15000, 100), "changed");
  EXPECT_EQ(bytes_read(*source, 0, 100), "changed");
}

TEST(FileSource, RewriteOfTheSameSizeIsDetectedAtEitherEnd) {
  const std::string text = long_text();
  for (const std::size_t where : {std::size_t{0}, text.size() - 1}) {
    TempFile file(text);
    const auto source = open_source(file);
    ASSERT_TRUE(source);
    file.write_at(where, "!");
    file.set_mtime(1000);
    EXPECT_EQ(bytes_read(*source, 9000, 100), "changed") << where;
    EXPECT_EQ(source->generation(), 0u);
  }
}

TEST(FileSource, RewriteThatRestoresTheModificationTimeIsDetected) {
  TempFile file("0123456789");
  file.set_mtime(1000);
  const auto source = open_source(file);
  ASSERT_TRUE(source);
  std::this_thread::sleep_for(std::chrono::milliseconds(30));  // longer than a tick of the file system's clock
  file.write_at(0, "9876543210");
  file.set_mtime(1000);
  EXPECT_EQ(bytes_read(*source, 0, 10), "changed");
}

// A mapped file, whose bytes change without a new time stamp. The kernel's writes do the same, since it updates the
// time stamp first.
class Mapped {
 public:
  explicit Mapped(const TempFile& file)
      : file_(::open(file.path().c_str(), O_RDWR | O_CLOEXEC)),
        bytes_(static_cast<char*>(::mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_SHARED, file_, 0))) {}
  ~Mapped() {
    ::munmap(bytes_, kSize);
    ::close(file_);
  }
  Mapped(const Mapped&) = delete;
  Mapped& operator=(const Mapped&) = delete;
  void put(std::string_view text) { std::ranges::copy(text, bytes_); }

 private:
  static constexpr std::size_t kSize = 10;
  const int file_;
  char* const bytes_;
};

TEST(FileSource, RewriteWithinOneTimestampIsDetected) {
  constexpr auto kSure =
      // within the window in which a time stamp is not trusted; a slower run proves nothing
      std::chrono::milliseconds(20);
  for (bool is_sure = false; !is_sure;) {
    TempFile file("0123456789");
    Mapped mapped(file);
    mapped.put("0123456789");
    const auto source = open_source(file);
    ASSERT_TRUE(source);
    const auto begin = std::chrono::steady_clock::now();
    ASSERT_EQ(::utimensat(AT_FDCWD, file.path().c_str(), nullptr, 0), 0);
    EXPECT_EQ(bytes_read(*source, 0, 10), "0123456789");
    mapped.put("9876543210");
    const std::string seen = bytes_read(*source, 0, 10);
    is_sure = std::chrono::steady_clock::now() - begin < kSure;
    if (is_sure) {
      EXPECT_EQ(seen, "changed");
    }
  }
}

TEST(FileSource, GrowthKeepsTheSnapshotAndIsReported) {
  const std::string text = long_text();
  TempFile file(text);
  const auto source = open_source(file);
  ASSERT_TRUE(source);
  file.write_at(text.size(), "more");
  EXPECT_EQ(bytes_read(*source, text.size() - 4, 100), text.substr(text.size() - 4));
  EXPECT_EQ(source->size(), text.size());
  EXPECT_TRUE(source->has_grown());
  EXPECT_EQ(source->generation(), 1u);
}

TEST(FileSource, GrowthOfAnEmptyFileIsReported) {
  TempFile file("");
  const auto source = open_source(file);
  ASSERT_TRUE(source);
  file.write_at(0, "more");
  EXPECT_EQ(bytes_read(*source, 0, 4), "");
  EXPECT_TRUE(source->has_grown());
}

TEST(FileSource, TouchWithoutChangeIsOneNewGeneration) {
  TempFile file("0123456789");
  const auto source = open_source(file);
  ASSERT_TRUE(source);
  file.set_mtime(1000);
  EXPECT_EQ(bytes_read(*source, 2, 3), "234");
  EXPECT_EQ(source->generation(), 1u);
  EXPECT_EQ(bytes_read(*source, 2, 3), "234");
  EXPECT_EQ(source->generation(), 1u);
  EXPECT_FALSE(source->has_grown());
}

TEST(FileSource, GrownFileIsReopenedEvenIfItWasRenamed) {
  const std::string text = long_text();
  TempFile file(text);
  const auto source = open_source(file);
  EXPECT_EQ(source->grown({}).value(), nullptr);
  file.write_at(text.size(), "appended");
  const std::string path = file.path();
  ASSERT_EQ(::rename(path.c_str(), (path + ".1").c_str()), 0);
  const auto longer = source->grown({}).value();
  ASSERT_TRUE(longer);
  EXPECT_EQ(longer->size(), text.size() + 8);
  EXPECT_EQ(bytes_read(*longer, text.size(), 100), "appended");
  EXPECT_EQ(longer->name(), source->name());
  EXPECT_EQ(longer->grown({}).value(), nullptr);
}

TEST(FileSource, RewrittenFileHasNotGrown) {
  TempFile file(long_text());
  const auto source = open_source(file);
  file.write_at(0, "something else");
  file.write_at(30000, "and longer");
  EXPECT_EQ(source->grown({}).error().code, Code::kChanged);
}

TEST(FileSource, GrowthIsNoNewGenerationForAFollowedFile) {
  TempFile file(long_text());
  const auto followed = FileSource::open_followed(file.path()).value();
  const auto other = open_source(file);
  file.write_at(30000, "appended");
  bytes_read(*followed, 0, 10);
  bytes_read(*other, 0, 10);
  EXPECT_EQ(followed->generation(), 0u);
  EXPECT_EQ(other->generation(), 1u);
  const auto longer = followed->grown({}).value();
  ASSERT_TRUE(longer);
  file.write_at(40000, "appended");
  bytes_read(*longer, 0, 10);
  EXPECT_EQ(longer->generation(), 0u) << "what it grew to is followed too";
  file.set_mtime(1000000000);
  bytes_read(*longer, 0, 10);
  EXPECT_EQ(longer->generation(), 1u) << "any other change touches it";
}

constexpr std::uint64_t kLarge = 8u << 20;

// Whether the filesystem of temporary files reports holes.
bool knows_holes(const std::string& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  return ::lseek(file.number(), 1 << 20, SEEK_DATA) != 1 << 20;
}

TEST(FileSource, DataAfterAHoleIsFound) {
  TempFile file(long_text());
  file.write_at(kLarge, "data");
  file.resize(2 * kLarge);
  const auto source = open_source(file);
  const bool is_told = knows_holes(file.path());
  EXPECT_EQ(source->next_data({}, 0).value(), 0u);
  EXPECT_EQ(source->next_data({}, kLarge + 1).value(), kLarge + 1);
  EXPECT_EQ(source->next_data({}, 1 << 20).value(), is_told ? kLarge : 1 << 20);
  EXPECT_EQ(source->next_data({}, kLarge + (1 << 20)).value(), is_told ? 2 * kLarge : kLarge + (1 << 20));
  EXPECT_EQ(source->next_data({}, 2 * kLarge).value(), 2 * kLarge);
  EXPECT_EQ(source->next_data({}, ~Position{0}).value(), 2 * kLarge);
}

TEST(FileSource, HoleEndsAtTheSnapshotEvenIfTheFileGrows) {
  TempFile file("data");
  file.resize(kLarge);
  const auto source = open_source(file);
  file.write_at(2 * kLarge, "appended");
  EXPECT_EQ(source->next_data({}, 1 << 20).value(), knows_holes(file.path()) ? kLarge : 1 << 20);
}

TEST(FileSource, FilledHoleBecomesData) {
  TempFile file("data");
  file.resize(kLarge);
  const auto source = open_source(file);
  ASSERT_TRUE(source->next_data({}, 1 << 20));
  file.write_at(kLarge / 2, "filled in");
  EXPECT_LE(source->next_data({}, 1 << 20).value(), kLarge / 2);
  EXPECT_EQ(source->generation(), 1u);
}

TEST(FileSource, TruncatedFileHasNoHoleAfterItsEnd) {
  TempFile file("data");
  file.resize(kLarge);
  const auto source = open_source(file);
  file.resize(100);
  EXPECT_EQ(source->next_data({}, 1 << 20).error().code, Code::kChanged);
}

TEST(FileSource, UnseekableSourceIsAllData) {
  const auto source = FileSource::open("/proc/self/stat");
  ASSERT_TRUE(source);
  EXPECT_EQ((*source)->next_data({}, 0).value(), 0u);
  const MemorySource memory(Buffer::copy_of({}, as_bytes(std::string_view("\0\0\0", 3))).value());
  EXPECT_EQ(memory.next_data({}, 1).value(), 1u);
  EXPECT_EQ(memory.next_data({}, 7).value(), 3u);
}

TEST(FileSource, SearchSkipsAHoleOnlyAfterReadingZeros) {
  TempFile file(std::string(4096, '\0'));
  file.resize(kLarge);
  const auto source = open_source(file);
  const std::string zeros(100, '\0');
  const std::string others = zeros + "x";
  const bool is_told = knows_holes(file.path());
  EXPECT_EQ(data_after_hole({}, *source, 1 << 20, as_bytes(zeros)).value(), is_told ? kLarge : 1 << 20);
  EXPECT_EQ(data_after_hole({}, *source, 1 << 20, as_bytes(others)).value(), 1u << 20);
  EXPECT_EQ(data_after_hole({}, *source, 1 << 20, as_bytes("x" + zeros)).value(), 1u << 20);
}

TEST(FileSource, ThreadsReadingAGrowingFileSeeOneSnapshot) {
  const std::string text = long_text();
  TempFile file(text);
  const auto source = open_source(file);
  ASSERT_TRUE(source);
  std::atomic<int> wrong{0};
  std::vector<std::thread> readers;
  for (int reader = 0; reader < 4; ++reader) {
    readers.emplace_back([&] {
      for (std::size_t at = 0; at + 100 <= text.size(); at += 100) {
        if (bytes_read(*source, at, 100) != text.substr(at, 100)) ++wrong;
      }
    });
  }
  for (std::size_t i = 0; i < 50; ++i) file.write_at(text.size() + i, "+");
  for (auto& reader : readers) reader.join();
  EXPECT_EQ(wrong, 0);
  bytes_read(*source, 0, 1);
  EXPECT_TRUE(source->has_grown());
}

// Returns the state of a file that was last changed so long ago, by a clock with or without fractions of a second.
FileState changed_before(std::chrono::nanoseconds age, bool has_fractions) {
  const auto changed = std::chrono::system_clock::now().time_since_epoch() - age;
  const auto seconds = std::chrono::floor<std::chrono::seconds>(changed);
  const std::int64_t nanoseconds =
      has_fractions ? std::max<std::int64_t>((changed - seconds) / std::chrono::nanoseconds(1), 1) : 0;
  const timespec time{seconds.count(), nanoseconds};
  return {.modified = time, .changed = time};
}

TEST(FileState, IdIsSettledAfterTheTimeThatItNames) {
  const FileState file = changed_before(std::chrono::nanoseconds(0), true);
  EXPECT_FALSE(file.id().is_settled);
  EXPECT_EQ(file.id().touch, "");
  std::this_thread::sleep_for(file.unsettled_for());
  EXPECT_TRUE(file.id().is_settled);
  EXPECT_NE(file.id().touch, "");
  EXPECT_EQ(file.unsettled_for().count(), 0);
}

TEST(FileState, TimeWithoutFractionsIsUnsettledForSeconds) {
  const FileState file = changed_before(std::chrono::milliseconds(500), false);
  EXPECT_FALSE(file.id().is_settled);
  EXPECT_GT(file.unsettled_for(), std::chrono::milliseconds(100));
  EXPECT_LE(file.unsettled_for(), std::chrono::seconds(2));
}

TEST(FileState, TimeInTheFutureIsNotWaitedFor) {
  const FileState file = changed_before(-std::chrono::hours(1), true);
  EXPECT_FALSE(file.id().is_settled);
  EXPECT_EQ(file.unsettled_for().count(), 0);
}

TEST(FileState, IdIsEqualForTheSameBytesOnly) {
  const FileState file{.device = 1, .inode = 2, .size = 3, .modified = {4, 5}, .changed = {6, 7}};
  FileState renamed = file;
  renamed.changed = {8, 9};
  EXPECT_EQ(file.id(), renamed.id());
  EXPECT_NE(file.id().touch, renamed.id().touch);
  FileState written = file;
  written.modified.tv_nsec = 6;
  EXPECT_NE(file.id(), written.id());
  FileState other = file;
  other.inode = 3;
  EXPECT_NE(file.id(), other.id());
  EXPECT_EQ(file.id().version, other.id().version);
}

}  // namespace
}  // namespace recordfs
