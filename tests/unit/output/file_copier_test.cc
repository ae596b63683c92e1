#include "core/output/file_copier.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>

#include <gtest/gtest.h>

#include "tests/unit/support/read_file.h"
#include "tests/unit/support/temp_folder.h"

namespace recordfs {
namespace {

constexpr std::size_t kMiB = 1u << 20;

// A source of random bytes with a lasting id, whose reads fail from a position on.
class FailingSource final : public Source {
 public:
  FailingSource() {
    std::uint32_t state = 1;
    for (char& byte : bytes_) byte = static_cast<char>((state = state * 1664525u + 1013904223u) >> 24);
  }
  std::uint64_t size() const override { return bytes_.size(); }
  Result<std::size_t> read_at(const RequestContext&, Position at, MutableBytes out) const override {
    if (at >= fails_at) return system_error(EIO);
    first_read = std::min(first_read, at);
    const std::size_t size = std::min(out.size(), bytes_.size() - at);
    copy_bytes(as_bytes(std::string_view(bytes_).substr(at, size)), out);
    return size;
  }
  std::optional<SourceId> id() const override { return SourceId{.source = "s", .version = "1", .is_settled = true}; }
  const std::string& bytes() const { return bytes_; }

  mutable Position first_read = UINT64_MAX;
  Position fails_at = UINT64_MAX;

 private:
  std::string bytes_ = std::string(5 * kMiB + 7, '\0');
};

class FileCopierTest : public ::testing::Test {
 protected:
  std::optional<FileCopier::Failure> copy() {
    source_.first_read = UINT64_MAX;
    return FileCopier(Descriptor(::open(folder_.path().c_str(), O_RDONLY | O_DIRECTORY)), false)
        .copy(source_, "out", [](std::uint64_t) {});
  }
  // Leaves an unfinished copy of 4 MiB. Returns its path.
  std::filesystem::path leave_unfinished() {
    source_.fails_at = 4 * kMiB;
    const auto failure = copy();
    EXPECT_TRUE(failure && failure->is_of_source && failure->can_continue);
    source_.fails_at = UINT64_MAX;
    for (const auto& entry : std::filesystem::directory_iterator(folder_.path())) {
      if (entry.path().extension() == ".part") return entry.path();
    }
    ADD_FAILURE() << "no unfinished copy";
    return {};
  }
  void expect_whole_copy() {
    EXPECT_FALSE(copy());
    EXPECT_TRUE(testing::read_file(folder_ / "out") == source_.bytes());
    const std::filesystem::directory_iterator entries(folder_.path());
    EXPECT_EQ(std::distance(entries, std::filesystem::directory_iterator()), 1);
  }

  const testing::TempFolder folder_;
  FailingSource source_;
};

TEST_F(FileCopierTest, IntactBytesAreNotCopiedAgain) {
  leave_unfinished();
  expect_whole_copy();
  EXPECT_EQ(source_.first_read, 4 * kMiB);
}

TEST_F(FileCopierTest, ChangedBytesAreCopiedAgain) {
  std::fstream part(leave_unfinished(), std::ios::in | std::ios::out | std::ios::binary);
  part.seekp(2 * kMiB + 5);
  part << "other" << std::flush;
  expect_whole_copy();
  EXPECT_EQ(source_.first_read, 2 * kMiB);
}

TEST_F(FileCopierTest, ZerosInPlaceOfBytesAreCopiedAgain) {
  for (const auto& [begin, first_read] : {std::pair<std::size_t, Position>{0, 0}, {3 * kMiB, 3 * kMiB}}) {
    const auto part = leave_unfinished();
    std::filesystem::resize_file(part, begin);
    std::filesystem::resize_file(part, 5 * kMiB + 7);
    expect_whole_copy();
    EXPECT_EQ(source_.first_read, first_read);
    std::filesystem::remove(folder_ / "out");
  }
}

TEST_F(FileCopierTest, ZerosInPlaceOfSumsMatchNoBytes) {
  auto sums = leave_unfinished().replace_extension(".sums");
  std::filesystem::resize_file(sums, 0);
  std::filesystem::resize_file(sums, 4 * sizeof(std::uint64_t));
  expect_whole_copy();
  EXPECT_EQ(source_.first_read, 0);
}

TEST_F(FileCopierTest, NothingIsWrittenToAFileThatHasAnotherName) {
  const testing::TempFolder elsewhere;
  const auto part = leave_unfinished();
  std::filesystem::create_hard_link(part, elsewhere / "other");
  expect_whole_copy();
  EXPECT_EQ(source_.first_read, 0);
  EXPECT_EQ(std::filesystem::file_size(elsewhere / "other"), 4 * kMiB);

  std::filesystem::remove(folder_ / "out");
  leave_unfinished();
  std::filesystem::remove(part);
  std::filesystem::create_symlink(elsewhere / "other", part);
  expect_whole_copy();
  EXPECT_EQ(std::filesystem::file_size(elsewhere / "other"), 4 * kMiB);

  std::filesystem::remove(folder_ / "out");
  std::filesystem::create_directory(part);
  const auto failure = copy();
  ASSERT_TRUE(failure && !failure->is_of_source);
  EXPECT_EQ(failure->why.detail, part.filename().string() + ": Is a directory");
}

}  // namespace
}  // namespace recordfs
