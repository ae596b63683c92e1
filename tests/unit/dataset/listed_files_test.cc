#include "core/dataset/listed_files.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/unit/support/temp_folder.h"

namespace recordfs {
namespace {

// Returns the paths, with "+" before those that were found below a directory, and "!" before those that failed.
std::vector<std::string> listed(const std::vector<std::string>& paths, bool descends, std::size_t most = 100) {
  std::vector<std::string> found;
  each_file(paths, descends, [&](const ListedFile& file) {
    found.push_back((file.failure ? "!" : file.was_found ? "+" : "") + file.path);
    return found.size() < most;
  });
  return found;
}

TEST(EachFile, FilesBelowDirectoriesAreSortedAndLinksAreNotFollowed) {
  const testing::TempFolder folder;
  folder.write("d/b", "");
  folder.write("d/a/2", "");
  folder.write("d/a/1", "");
  folder.link("d/link", "b");
  folder.link("to-d", "d");
  const std::string d = folder / "d";
  const std::string link = folder / "to-d";
  const std::string absent = folder / "absent";
  using Paths = std::vector<std::string>;
  EXPECT_EQ(listed({d, absent}, true), (Paths{"+" + d + "/a/1", "+" + d + "/a/2", "+" + d + "/b", absent}));
  EXPECT_EQ(listed({link}, true, 1), (Paths{"+" + link + "/a/1"}));
  EXPECT_EQ(listed({d, absent}, false), (Paths{d, absent}));
}

}  // namespace
}  // namespace recordfs
