#include "fusefs/mount_point.h"

#include <sys/stat.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace recordfs {
namespace {

namespace fs = std::filesystem;

// Each test runs in its own folder, as its current directory.
class MountPointTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = ::testing::TempDir() + "mount_point_XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
    before_ = fs::current_path();
    fs::current_path(folder_);
  }
  void TearDown() override {
    fs::current_path(before_);
    fs::remove_all(folder_);
  }

  static void touch(const fs::path& path) { std::ofstream(path).put('x'); }

  static Options mount_of(std::vector<std::string> sources, std::string mountpoint = {}) {
    Options options;
    options.form = Form::kCommand;
    options.sources = std::move(sources);
    options.mountpoint = std::move(mountpoint);
    return options;
  }

  // Returns the chosen name, errors in brackets, and a given mount point unchanged.
  static std::string chosen(std::vector<std::string> sources, std::string mountpoint = {}) {
    Options options = mount_of(std::move(sources), std::move(mountpoint));
    const auto here = choose_mount_point(options);
    return here ? options.mountpoint : "[" + here.error().detail + "]";
  }

  fs::path folder_;
  fs::path before_;
};

TEST_F(MountPointTest, DataSetIsNamedAfterWhatItsShardsHaveInCommon) {
  const auto named = [](std::vector<std::string> sources, std::string last = {}) {
    Options options = mount_of(std::move(sources), std::move(last));
    options.join = true;
    const auto here = choose_mount_point(options);
    return here ? options.mountpoint : "[" + here.error().detail + "]";
  };
  EXPECT_EQ(named({"/srv/train@128.tfrecord"}), "train");
  EXPECT_EQ(named({"train-\?\?\?\?\?-of-00128.tfrecord"}), "train");
  EXPECT_EQ(named({"train-00000-of-00002.tfrecord", "train-00001-of-00002.tfrecord"}), "train");
  EXPECT_EQ(named({"train-00000-of-00002"}), "train.mnt");
  EXPECT_EQ(named({"/srv/train-*.tfrecord"}), "train.mnt");
  EXPECT_EQ(named({"a.log", "b.log"}), "a");
  EXPECT_EQ(named({"a.log"}, "b@4.log"), "a");
  EXPECT_EQ(named({"a.log"}, "mnt"), "mnt");
  fs::create_directory("here");
  EXPECT_EQ(named({"a.log"}, "here"), "here");
  EXPECT_EQ(named({"here"}), "here.mnt");
}

TEST_F(MountPointTest, IsNamedAfterTheFile) {
  EXPECT_EQ(chosen({"/srv/data.riegeli"}), "data");
  EXPECT_EQ(chosen({"data.tar.log"}), "data.tar");
  EXPECT_EQ(chosen({"../data"}), "data.mnt");
  EXPECT_EQ(chosen({".hidden"}), ".hidden.mnt");
  EXPECT_EQ(chosen({"folder/"}), "folder.mnt");
  EXPECT_EQ(chosen({"a.log", "b.log"}), "a");
}

TEST_F(MountPointTest, AnotherNameIsUsedIfTheFirstIsTaken) {
  fs::create_directory("data");
  EXPECT_EQ(chosen({"data.log"}), "data") << "it is empty";
  touch("data/x");
  EXPECT_EQ(chosen({"data.log"}), "data.mnt");
  touch("other");
  EXPECT_EQ(chosen({"other.log"}), "other.mnt");
  touch("other.mnt");
  EXPECT_NE(chosen({"other.log"}).find("taken"), std::string::npos);
  fs::create_symlink("nowhere", "link");
  EXPECT_EQ(chosen({"link.log"}), "link.mnt");
  EXPECT_NE(chosen({"/"}).find("taken"), std::string::npos);
}

TEST_F(MountPointTest, IsTheLastArgumentUnlessThatIsAFile) {
  touch("b.log");
  EXPECT_EQ(chosen({"a.log"}, "somewhere"), "somewhere");
  EXPECT_EQ(chosen({"a.log"}, "b.log"), "a");
  Options options = mount_of({"a.log"}, "b.log");
  EXPECT_EQ(choose_mount_point(options).value(), true);
  EXPECT_EQ(options.sources, (std::vector<std::string>{"a.log", "b.log"}));
}

TEST_F(MountPointTest, OtherInvocationsRequireAMountPoint) {
  touch("b.log");
  for (const Form form : {Form::kProgram, Form::kMount8}) {
    Options options = mount_of({"a.log"}, "b.log");
    options.form = form;
    EXPECT_EQ(choose_mount_point(options).value(), false);
    EXPECT_EQ(options.mountpoint, "b.log");
    EXPECT_EQ(MountPoint::at(options).error().detail, "not a directory");
  }
}

TEST_F(MountPointTest, IsCreatedAndRemoved) {
  {
    const auto point = MountPoint::at(mount_of({"a"}, "new"));
    ASSERT_TRUE(point);
    EXPECT_EQ(point->path(), fs::canonical("new"));
    EXPECT_TRUE(fs::is_directory("new"));
    fs::current_path("/");  // as a daemon does
  }
  EXPECT_FALSE(fs::exists(folder_ / "new"));
}

TEST_F(MountPointTest, IsNotRemovedIfItExistedBefore) {
  fs::create_directory("old");
  EXPECT_TRUE(MountPoint::at(mount_of({"a"}, "old")));
  EXPECT_TRUE(fs::is_directory("old"));
  {
    const auto point = MountPoint::at(mount_of({"a"}, "new"));
    touch("new/x");
  }
  EXPECT_TRUE(fs::is_directory("new")) << "it is not empty";
}

TEST_F(MountPointTest, ParentDirectoryIsNotCreated) {
  const auto point = MountPoint::at(mount_of({"a"}, "above/new"));
  ASSERT_FALSE(point);
  EXPECT_NE(point.error().detail.find("No such file"), std::string::npos);
}

TEST_F(MountPointTest, IsNotCreatedForMount8) {
  Options options = mount_of({"a"}, "new");
  options.form = Form::kMount8;
  EXPECT_FALSE(MountPoint::at(options));
  EXPECT_FALSE(fs::exists("new"));
}

TEST_F(MountPointTest, MustBeEmpty) {
  fs::create_directory("full");
  touch("full/x");
  EXPECT_FALSE(MountPoint::at(mount_of({"a"}, "full")));
  Options options = mount_of({"a"}, "full");
  options.nonempty = true;
  EXPECT_TRUE(MountPoint::at(options));
}

TEST_F(MountPointTest, OpenDeviceIsUnchanged) {
  EXPECT_EQ(MountPoint::at(mount_of({"a"}, "/dev/fd/77")).value().path(), "/dev/fd/77");
}

}  // namespace
}  // namespace recordfs
