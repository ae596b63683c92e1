#include "core/output/file_linker.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <string>

#include <gtest/gtest.h>

#include "tests/unit/support/temp_folder.h"

namespace recordfs {
namespace {

TEST(FileLinkerTest, LinksOnlyIntoItsDirectory) {
  const testing::TempFolder folder;
  folder.write("source", "content");
  std::filesystem::create_directory(folder / "out");
  const std::string source = (folder / "source").string();
  struct stat status {};
  ASSERT_EQ(::stat(source.c_str(), &status), 0);
  const Descriptor directory(::open((folder / "out").c_str(), O_RDONLY | O_DIRECTORY));
  const auto linker = FileLinker::into(directory, true);
  ASSERT_TRUE(linker);
  for (const std::string& name : {std::string("../x"), (folder / "x").string(), std::string(), std::string("."),
                                  std::string(".."), std::string("x\0y", 3), std::string("x/../../y")}) {
    EXPECT_EQ(linker->link(source, status, name).error().os_error, EINVAL) << name;
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder / "out"));
  EXPECT_FALSE(std::filesystem::exists(folder / "x"));
  std::filesystem::create_directory_symlink("..", folder / "out" / "up");
  for (const char* const name : {"up/x", "missing/x"}) EXPECT_FALSE(linker->link(source, status, name)) << name;
  std::filesystem::remove(folder / "out" / "up");
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(linker->link(source, status, "x"));
  EXPECT_EQ(std::filesystem::hard_link_count(source), 2u);
}

}  // namespace
}  // namespace recordfs
