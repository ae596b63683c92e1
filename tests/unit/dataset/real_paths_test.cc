// Absolute paths of files.
#include "core/dataset/real_paths.h"

#include <filesystem>

#include <gtest/gtest.h>

#include "tests/unit/support/temp_folder.h"

namespace recordfs::testing {
namespace {

TEST(RealPaths, DirectoriesAreResolvedAndNamesAreNot) {
  const TempFolder folder;
  folder.make("real");
  folder.link("link", "real");
  folder.link("real/name", "elsewhere");
  const std::string top = std::filesystem::canonical(folder.path()).string();
  RealPaths paths;
  EXPECT_EQ(paths.of(folder / "link/name"), top + "/real/name");
  EXPECT_EQ(paths.of(folder / "link/../real/name"), top + "/real/name");
  EXPECT_EQ(paths.of(folder / "nothing/name"), (folder / "nothing/name").string());
  EXPECT_EQ(paths.of("name"), (std::filesystem::current_path() / "name").string());
  EXPECT_EQ(paths.of("/name"), "/name");
}

}  // namespace
}  // namespace recordfs::testing
