#include "fusefs/tree/mirror/rooted_dir.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include <gtest/gtest.h>

#include "tests/unit/support/temp_folder.h"

namespace recordfs::testing {
namespace {

class BeneathTest : public ::testing::Test {
 protected:
  const RootedDir& rooted_dir() {
    if (!beneath_) beneath_ = RootedDir::open(folder.path()).value();
    return *beneath_;
  }
  std::string read(const std::string& path) {
    const auto file = rooted_dir().open({}, path, rooted_dir().state());
    if (!file) return std::string(to_string(file.error().code));
    Buffer bytes = Buffer::allocate({}, 100).value();
    bytes.truncate((*file)->read({}, 0, bytes.span()).value());
    return std::string(as_text(bytes.view()));
  }
  Code failure(const std::string& path) { return rooted_dir().look({}, path).error().code; }

  const TempFolder folder;

 private:
  std::shared_ptr<const RootedDir> beneath_;
};

TEST_F(BeneathTest, FindsExistingFiles) {
  folder.write("a/b/file", "text");
  EXPECT_EQ(rooted_dir().look({}, "a/b/file")->state.size, 4u);
  EXPECT_TRUE(S_ISDIR(rooted_dir().look({}, "a/b")->state.mode));
  EXPECT_TRUE(S_ISDIR(rooted_dir().look({}, "")->state.mode));
  EXPECT_EQ(read("a/b/file"), "text");
  EXPECT_EQ(failure("a/none"), Code::kNotFound);
  EXPECT_EQ(failure("a/b/file/below"), Code::kNotFound);
}

TEST_F(BeneathTest, LinksAreNotFollowedAnywhereInAPath) {
  folder.write("a/file", "text");
  folder.link("link", "a");
  folder.link("out", "/");
  folder.link("a/file_link", "file");
  EXPECT_EQ(failure("link/file"), Code::kNotFound);
  EXPECT_EQ(failure("out/etc/passwd"), Code::kNotFound);
  EXPECT_EQ(read("a/file_link"), "not found");
  EXPECT_EQ(read("link/file"), "not found");
  const auto link = rooted_dir().look({}, "link");
  EXPECT_TRUE(S_ISLNK(link->state.mode));
  EXPECT_EQ(RootedDir::target(*link).value(), "a");
  EXPECT_FALSE(RootedDir::open_directory(*link));
}

TEST_F(BeneathTest, PathsCannotLeaveItsDirectory) {
  folder.write("a/file", "text");
  const auto inner = RootedDir::open(folder / "a").value();
  EXPECT_EQ(inner->look({}, "file")->state.size, 4u);
  EXPECT_FALSE(inner->look({}, "../a/file"));
  EXPECT_FALSE(inner->look({}, "/etc/passwd"));
}

TEST_F(BeneathTest, MovedDirectoryIsStillUsed) {
  folder.write("a/file", "text");
  const auto inner = RootedDir::open(folder / "a").value();
  std::filesystem::rename(folder / "a", folder / "b");
  folder.write("a/other", "");
  EXPECT_TRUE(inner->look({}, "file"));
  EXPECT_FALSE(inner->look({}, "other"));
}

TEST_F(BeneathTest, PathMayBeLongerThanPathMax) {
  const std::string name(200, 'x');
  std::string path;
  Descriptor at(::open(folder.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  for (int depth = 0; depth < 30; ++depth) {
    ASSERT_EQ(::mkdirat(at.number(), name.c_str(), 0700), 0);
    at = Descriptor(::openat(at.number(), name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    path += (depth == 0 ? "" : "/") + name;
  }
  const Descriptor file(::openat(at.number(), "file", O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  ASSERT_EQ(::write(file.number(), "deep", 4), 4);
  EXPECT_EQ(read(path + "/file"), "deep");
  EXPECT_EQ(failure(path + "/none"), Code::kNotFound);
}

TEST_F(BeneathTest, SpecialFilesAreListedAndDoNotBlock) {
  ASSERT_EQ(::mkfifo((folder / "fifo").c_str(), 0600), 0);
  EXPECT_TRUE(S_ISFIFO(rooted_dir().look({}, "fifo")->state.mode));
  EXPECT_EQ(read("fifo"), "not found");
}

TEST_F(BeneathTest, OnlyDirectoriesAreOpened) {
  folder.write("file", "");
  EXPECT_EQ(RootedDir::open(folder / "file").error().code, Code::kNotFound);
  EXPECT_EQ(RootedDir::open(folder / "none").error().code, Code::kNotFound);
}

TEST_F(BeneathTest, DirectoryStreamResumesAtEachOffsetItReturned) {
  for (int i = 0; i < 200; ++i) folder.write("file" + std::to_string(i), "");
  const auto open = [&] {
    return DirectoryStream::of(RootedDir::open_directory(*rooted_dir().look({}, "")).value()).value();
  };
  const auto stream = open();
  std::vector<std::pair<std::string, std::uint64_t>> all;
  ASSERT_TRUE(stream->read({}, 0, [&](const MirroredListing::Name& entry) {
    all.emplace_back(entry.name, entry.next);
    return true;
  }));
  EXPECT_EQ(all.size(), 202u);
  for (std::size_t i = 0; i + 1 < all.size(); i += 7) {
    for (const auto& from : {stream, open()}) {
      std::string next;
      ASSERT_TRUE(from->read({}, all[i].second, [&](const MirroredListing::Name& entry) {
        next = entry.name;
        return false;
      }));
      EXPECT_EQ(next, all[i + 1].first);
    }
  }
  EXPECT_TRUE(stream->read({}, all.back().second, [](const MirroredListing::Name&) { return ADD_FAILURE(), false; }));
}

TEST_F(BeneathTest, RejectedEntryIsReturnedAgain) {
  for (const char* name : {"a", "b", "c"}) folder.write(name, "");
  const auto stream = DirectoryStream::of(RootedDir::open_directory(*rooted_dir().look({}, "")).value()).value();
  std::vector<std::string> names;
  std::uint64_t place = 0;
  for (bool more = true; more;) {
    more = false;
    bool is_full = false;
    ASSERT_TRUE(stream->read({}, place, [&](const MirroredListing::Name& entry) {
      if (is_full) return false;
      names.emplace_back(entry.name);
      place = entry.next;
      return more = is_full = true;
    }));
  }
  std::ranges::sort(names);
  EXPECT_EQ(names, (std::vector<std::string>{".", "..", "a", "b", "c"}));
}

}  // namespace
}  // namespace recordfs::testing
