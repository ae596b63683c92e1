// The search for containers before a directory is mounted.
#include "fusefs/mount_sources.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <iterator>
#include <string>

#include "tests/unit/support/read_file.h"
#include "tests/unit/support/temp_folder.h"

namespace recordfs::testing {
namespace {

constexpr SearchBounds kUnhurried{.entries = 256, .time = std::chrono::hours(1)};

// The bytes of a container without records.
std::string container() { return testing::read_file("tests/corpus/riegeli/no_records.riegeli"); }

TEST(ContainerSearch, EmptyDirectoryHasNoContainer) {
  const TempFolder folder;
  EXPECT_FALSE(may_have_containers(folder.path(), kUnhurried));
}

TEST(ContainerSearch, OtherFilesAreNotContainers) {
  const TempFolder folder;
  folder.write("a/b/words.txt", "words\n");
  folder.write("notes", "");
  folder.write("000003.log", "");  // an empty file is shown as a file
  EXPECT_FALSE(may_have_containers(folder.path(), kUnhurried));
}

TEST(ContainerSearch, ContainerInASubdirectoryIsFound) {
  const TempFolder folder;
  folder.write("words.txt", "words\n");
  folder.write("a/b/data", container());
  EXPECT_TRUE(may_have_containers(folder.path(), kUnhurried));
}

TEST(ContainerSearch, OnlyTheDirectoryItselfMayBeASymbolicLink) {
  const TempFolder folder;
  folder.write("full/data", container());
  folder.make("bare");
  folder.link("bare/link", "../full");
  folder.link("bare/data", "../full/data");
  folder.link("to-full", "full");
  EXPECT_FALSE(may_have_containers((folder / "bare").string(), kUnhurried));
  EXPECT_TRUE(may_have_containers((folder / "to-full").string(), kUnhurried));
}

TEST(ContainerSearch, SearchBeyondItsBoundsHasNoAnswer) {
  const TempFolder folder;
  for (int i = 0; i < 3; ++i) folder.write(std::to_string(i), "words\n");
  EXPECT_FALSE(may_have_containers(folder.path(), {.entries = 3, .time = std::chrono::hours(1)}));
  EXPECT_TRUE(may_have_containers(folder.path(), {.entries = 2, .time = std::chrono::hours(1)}));
  EXPECT_TRUE(may_have_containers(folder.path(), {.entries = 3, .time = std::chrono::milliseconds(-1)}));
}

TEST(ContainerSearch, MissingDirectoryHasNoAnswer) {
  const TempFolder folder;
  EXPECT_TRUE(may_have_containers((folder / "none").string(), kUnhurried));
}

}  // namespace
}  // namespace recordfs::testing
