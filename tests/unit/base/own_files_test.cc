#include "core/base/own_files.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "tests/unit/support/temp_folder.h"

namespace recordfs::testing {
namespace {

TEST(OwnFiles, FileBesideTheProgramIsFound) {
  const auto program = std::filesystem::read_symlink("/proc/self/exe");
  EXPECT_EQ(find_own_file(program.filename().string()), program.string());
}

TEST(OwnFiles, FileOfTheCurrentFolderIsNotFound) {
  const TempFolder folder;
  folder.write("helper", "");
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(folder.path());
  const std::string found = find_own_file("helper");
  std::filesystem::current_path(before);
  EXPECT_EQ(found, "");
}

}  // namespace
}  // namespace recordfs::testing
