#include "core/output/output_file.h"

#include <fcntl.h>
#include <sys/resource.h>

#include <cerrno>
#include <filesystem>
#include <iterator>
#include <string>

#include <gtest/gtest.h>

#include "tests/unit/support/read_file.h"
#include "tests/unit/support/temp_folder.h"

namespace recordfs {
namespace {

class OutputFileTest : public ::testing::Test {
 protected:
  Descriptor directory() const { return Descriptor(::open(folder_.path().c_str(), O_RDONLY | O_DIRECTORY)); }
  OutputFile file(bool replaces = false) const { return {directory(), "out", {.replaces = replaces}}; }
  std::string content() const { return testing::read_file(folder_ / "out"); }
  std::ptrdiff_t entries() const {
    return std::distance(std::filesystem::directory_iterator(folder_.path()), std::filesystem::directory_iterator());
  }

  const testing::TempFolder folder_;
};

TEST_F(OutputFileTest, PublishedFileHasEverythingThatWasWritten) {
  const std::string large(3u << 20, 'x');
  OutputFile out = file();
  ASSERT_TRUE(out.create());
  for (const std::string_view piece : {std::string_view("a"), std::string_view(large), std::string_view("z")}) {
    ASSERT_TRUE(out.write(as_bytes(piece)));
  }
  EXPECT_FALSE(std::filesystem::exists(folder_ / "out"));
  ASSERT_TRUE(out.publish());
  EXPECT_EQ(content(), "a" + large + "z");
  EXPECT_EQ(entries(), 1);
}

TEST_F(OutputFileTest, FileThatIsNotPublishedLeavesNothing) {
  {
    OutputFile out = file();
    ASSERT_TRUE(out.create() && out.write(as_bytes("a")) && out.flush());
    EXPECT_EQ(entries(), 1);
  }
  EXPECT_EQ(entries(), 0);
}

TEST_F(OutputFileTest, ExistingFileIsReplacedOnlyIfThatIsWanted) {
  folder_.write("out", "old");
  EXPECT_EQ(file().create().error().os_error, EEXIST);
  OutputFile out = file(true);
  ASSERT_TRUE(out.create() && out.write(as_bytes("new")));
  EXPECT_EQ(content(), "old");
  ASSERT_TRUE(out.publish());
  EXPECT_EQ(content(), "new");
}

TEST_F(OutputFileTest, NameThatIsTakenMeanwhileIsAnError) {
  {
    OutputFile out = file();
    ASSERT_TRUE(out.create() && out.write(as_bytes("new")));
    folder_.write("out", "old");
    EXPECT_EQ(out.publish().error().os_error, EEXIST);
  }
  EXPECT_EQ(content(), "old");
  EXPECT_EQ(entries(), 1);
}

TEST_F(OutputFileTest, LimitOfTheFileSizeIsAnError) {
  OutputFile out = file();
  ASSERT_TRUE(out.create());
  struct rlimit before {};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const struct rlimit small { 4096, before.rlim_max };
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const auto written = out.write(as_bytes(std::string(2u << 20, 'x')));
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().os_error, EFBIG);
}

}  // namespace
}  // namespace recordfs
