#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <thread>

#include <gtest/gtest.h>

#include "fusefs/tree/mount_tree.h"
#include "tests/unit/store/toy_store.h"
#include "tests/unit/support/temp_folder.h"

namespace recordfs::testing {
namespace {

using Names = std::vector<std::string>;

// A mirrored folder in which toy files are containers, accessed by path. FileHandle up inodes stay known until the test
// forgets them by name.
class MirrorTest : public ::testing::Test {
 protected:
  const MountTree& tree() {
    if (!tree_) tree_ = new_tree(false);
    return *tree_;
  }
  std::unique_ptr<MountTree> new_tree(bool nested) {
    std::vector<MountSource> sources;
    sources.emplace_back(MirroredDirectory{"folder", RootedDir::open(folder.path()).value()});
    const auto probe = [this](const RequestContext& context, const Source& source, std::string_view) -> Result<bool> {
      ++probes;
      ASSIGN_OR_RETURN(const auto head, read_up_to(context, source, 0, 8));
      return as_text(head.view()) == "toyfile\n";
    };
    const auto open = [this](const RequestContext&, std::shared_ptr<const Source> source,
                             const std::string& path) -> Result<std::shared_ptr<const RecordStore>> {
      ++opens;
      ASSIGN_OR_RETURN(auto container, toy::open(source, Limits{}));
      return std::shared_ptr<const RecordStore>(
          std::make_shared<RecordStore>(path, source, std::move(container), services));
    };
    return std::make_unique<MountTree>(std::move(sources), nested, MirrorSettings{probe, open, {}});
  }

  Result<FileStatus> look_up(std::string_view path) {
    Result<FileStatus> found = FileStatus{.number = MountTree::kRootNumber, .type = FileType::kDirectory};
    while (found && !path.empty()) {
      const std::size_t slash = path.find('/');
      const std::string name(path.substr(0, slash));
      const std::uint64_t directory = found->number;
      found = waited([&] { return tree().look_up_and_reference({}, directory, name); });
      path = slash == std::string_view::npos ? std::string_view() : path.substr(slash + 1);
    }
    return found;
  }
  std::uint64_t number(std::string_view path) { return look_up(path).value().number; }
  Code failure(std::string_view path) { return look_up(path).error().code; }

  std::string read(std::uint64_t number) {
    const auto slice = waited([&] { return tree().subtree(number).read({}, number, 0, 1u << 20); });
    if (slice) return text_of(*slice);
    return slice.error().os_error == ESTALE ? "stale" : std::string(to_string(slice.error().code));
  }
  std::string read(std::string_view path) { return read(number(path)); }

  Names names(std::uint64_t directory) {
    Names names;
    const std::uint64_t opened = tree().subtree(directory).open_directory({}, directory)->handle;
    EXPECT_TRUE(tree().mirror()->list({}, directory, opened, 0, [&](const MountEntry& entry) {
      if (entry.name != "." && entry.name != "..") names.emplace_back(entry.name);
      return true;
    }));
    tree().mirror()->close_directory(opened);
    std::ranges::sort(names);
    return names;
  }

  // Waits until another change of the files just written would change their times.
  static void settle() {
    const FileState written{.changed = current_time()};
    while (!written.is_settled(current_time())) std::this_thread::yield();
  }

  const TempFolder folder;
  const toy::File toy = toy::make_file({});
  StoreResources services{64u << 20, 2, Log{[](Severity, const std::string&) {}}};
  std::atomic<int> probes{0};
  std::atomic<int> opens{0};

 private:
  std::unique_ptr<MountTree> tree_;
};

TEST_F(MirrorTest, ShowsFilesLinksFoldersAndContainers) {
  folder.write("sub/file", "text");
  folder.write("sub/toy", toy.bytes);
  folder.link("sub/link", "file");
  ASSERT_EQ(::mkfifo((folder / "sub/fifo").c_str(), 0600), 0);
  EXPECT_EQ(names(number("sub")), (Names{"file", "link", "toy"}));
  EXPECT_EQ(read("sub/file"), "text");
  EXPECT_EQ(tree().subtree(number("sub/link")).target({}, number("sub/link")).value(), "file");
  EXPECT_EQ(look_up("sub/toy")->type, FileType::kDirectory);
  EXPECT_EQ(read("sub/toy/records/5"), toy.records[5]);
  EXPECT_EQ(failure("sub/fifo"), Code::kNotFound);
  EXPECT_EQ(failure("sub/none"), Code::kNotFound);
  for (const char* name : {"..", ".", "", "sub/../sub"}) {
    EXPECT_EQ(tree().look_up_and_reference({}, MountTree::kRootNumber, name).error().code, Code::kNotFound) << name;
  }
}

TEST_F(MirrorTest, FilesAreNotReadBeforeALookup) {
  for (int i = 0; i < 20; ++i) folder.write("toy" + std::to_string(i), toy.bytes);
  EXPECT_EQ(names(MountTree::kRootNumber).size(), 20u);
  settle();
  for (int i = 0; i < 20; ++i) number("toy" + std::to_string(i));
  EXPECT_EQ(opens, 0);
  number("toy7/records");
  number("toy7/records/3");
  EXPECT_EQ(opens, 1);
}

TEST_F(MirrorTest, HeadIsReadOncePerFileState) {
  folder.write("toy", toy.bytes);
  folder.write("file", "text");
  settle();
  for (int turn = 0; turn < 3; ++turn) {
    names(MountTree::kRootNumber);
    number("toy");
    number("file");
  }
  EXPECT_EQ(probes, 2);
  folder.replace("toy", toy.bytes);
  number("toy");
  EXPECT_EQ(probes, 3);
}

TEST_F(MirrorTest, ProbePastTheEndOfAShortFileGetsNoBytes) {
  folder.write("file", "short");
  Probes short_file([](const RequestContext& context, const Source& source, std::string_view) -> Result<bool> {
    const auto behind = read_up_to(context, source, 64, 8);
    return behind && behind->size() == 0 && source.size() == 5;
  });
  const auto directory = RootedDir::open(folder.path()).value();
  const auto file = RootedDir::open_file_in(directory->look({}, "")->descriptor.number(), "file");
  ASSERT_TRUE(file);
  EXPECT_TRUE(short_file.ask(*file, FileState{.size = 5}, "file", current_time()));
}

TEST_F(MirrorTest, ReplacedContainerIsReopenedAndTheOldOneIsStale) {
  folder.write("toy", toy.bytes);
  const std::uint64_t records = number("toy/records");
  const std::uint64_t record = number("toy/records/2");
  const auto other = toy::make_file({.chunks = 2, .record_size = [](std::uint64_t) { return 3u; }});
  folder.replace("toy", other.bytes);
  EXPECT_EQ(read(record), toy.records[2]) << "as long as it is open";
  EXPECT_EQ(read("toy/records/2"), other.records[2]);
  for (int i = 0; i < 70; ++i) {
    folder.write("more" + std::to_string(i), toy.bytes);
    number("more" + std::to_string(i) + "/records");
  }
  EXPECT_EQ(read(record), "stale");
  EXPECT_EQ(tree().lookup({}, records, "2").error().os_error, ESTALE);
  EXPECT_EQ(read("toy/records/2"), other.records[2]);
}

TEST_F(MirrorTest, ClosedContainerIsReopenedWithTheSameNumbers) {
  folder.write("toy", toy.bytes);
  const std::uint64_t record = number("toy/records/2");
  for (int i = 0; i < 70; ++i) {
    folder.write("more" + std::to_string(i), toy.bytes);
    number("more" + std::to_string(i) + "/records");
  }
  const int before = opens;
  EXPECT_EQ(read(record), toy.records[2]);
  EXPECT_EQ(opens, before + 1);
}

TEST_F(MirrorTest, ReplacedFileIsStale) {
  folder.write("file", "text");
  const std::uint64_t file = number("file");
  folder.replace("file", "other");
  EXPECT_EQ(read(file), "stale");
  EXPECT_EQ(read("file"), "other");
  std::filesystem::remove(folder / "file");
  EXPECT_EQ(failure("file"), Code::kNotFound);
}

TEST_F(MirrorTest, ReplacedDirectoryIsStale) {
  folder.write("sub/file", "text");
  const std::uint64_t directory = number("sub");
  std::filesystem::rename(folder / "sub", folder / "moved");
  folder.write("sub/file", "other");
  EXPECT_EQ(tree().look_up_and_reference({}, directory, "file").error().os_error, ESTALE);
  EXPECT_EQ(tree().subtree(directory).status({}, directory).error().os_error, ESTALE);
  EXPECT_EQ(tree().subtree(directory).open_directory({}, directory).error().os_error, ESTALE);
  EXPECT_EQ(read("sub/file"), "other");
}

TEST_F(MirrorTest, ForgottenNodeHasNoNumber) {
  folder.write("toy", toy.bytes);
  const std::uint64_t container = number("toy");
  const std::uint64_t records = waited([&] { return tree().lookup({}, container, "records"); }).value();
  tree().forget(container, 1);
  EXPECT_TRUE(tree().subtree(records).status({}, records)) << "its container is known by it";
  tree().forget(records, 1);
  EXPECT_EQ(tree().subtree(records).status({}, records).error().code, Code::kNotFound);
  EXPECT_EQ(tree().subtree(container).status({}, container).error().os_error, ESTALE);
  EXPECT_EQ(read("toy/records/2"), toy.records[2]);
}

TEST_F(MirrorTest, InodeIsAFunctionOfThePathInTheMount) {
  folder.write("sub/toy", toy.bytes);
  folder.write("sub/file", "text");
  const auto other = new_tree(false);
  for (const char* path : {"sub", "sub/file", "sub/toy", "sub/toy/records", "sub/toy/records/4"}) {
    const auto here = look_up(path).value();
    std::uint64_t at = MountTree::kRootNumber;
    std::uint64_t inode = 0;
    for (const auto& name : std::filesystem::path(path)) {
      const auto found = waited([&] { return other->look_up_and_reference({}, at, name.string()); }).value();
      at = found.number;
      inode = found.inode;
    }
    EXPECT_EQ(here.inode, inode) << path;
  }
  EXPECT_EQ(tree().subtree(number("sub/toy/records")).parent_inode({}, number("sub/toy/records")),
            look_up("sub/toy")->inode);
  EXPECT_EQ(tree().subtree(number("sub/toy")).parent_inode({}, number("sub/toy")), look_up("sub")->inode);
  EXPECT_EQ(tree().subtree(number("sub")).parent_inode({}, number("sub")), MountTree::kRootNumber);
}

TEST_F(MirrorTest, LifetimeOfEachNodeIsReported) {
  folder.write("toy", toy.bytes);
  folder.write("file", "text");
  EXPECT_EQ(look_up("file")->cache_policy, CachePolicy::kNone);
  EXPECT_EQ(look_up("toy")->cache_policy, CachePolicy::kNumber);
  EXPECT_EQ(look_up("toy/records/1")->cache_policy, CachePolicy::kPermanent);
  EXPECT_TRUE(tree().subtree(MountTree::kRootNumber).may_gain_names({}, MountTree::kRootNumber));
  EXPECT_FALSE(tree().subtree(number("toy")).may_gain_names({}, number("toy")));
}

TEST_F(MirrorTest, FollowingRecordsAreVisitedInsideContainers) {
  folder.write("toy", toy.bytes);
  settle();
  const std::uint64_t record = number("toy/records/4");
  EXPECT_TRUE(is_record(record));
  EXPECT_FALSE(is_record(number("toy")));
  EXPECT_FALSE(is_record(MountTree::kRootNumber));
  std::size_t ordinal = 4;
  MountTree::BatchCursor following;
  tree().for_each_following({}, record, following, [&](std::uint64_t next, Bytes bytes) {
    ++ordinal;
    EXPECT_EQ(next, number("toy/records/" + std::to_string(ordinal)));
    EXPECT_EQ(as_text(bytes), toy.records[ordinal]);
    return true;
  });
  EXPECT_EQ(ordinal, toy.records.size() - 1);
}

TEST_F(MirrorTest, MirrorAndContainerHaveADirectoryEach) {
  folder.write("toy", toy.bytes);
  ToyStore alone({});
  std::vector<MountSource> sources;
  sources.emplace_back(MountedContainer{"alone", alone.store, Ownership{.uid = 7}});
  sources.emplace_back(MirroredDirectory{"folder", RootedDir::open(folder.path()).value()});
  const MountTree mixed(
      std::move(sources), false,
      MirrorSettings{[](const RequestContext&, const Source&, std::string_view) { return false; }, {}, {}});
  Names found;
  ASSERT_TRUE(mixed.subtree(MountTree::kRootNumber).list({}, MountTree::kRootNumber, 0, [&](const MountEntry& entry) {
    EXPECT_EQ(mixed.look_up_and_reference({}, MountTree::kRootNumber, entry.name)->inode, entry.inode);
    found.emplace_back(entry.name);
    return true;
  }));
  EXPECT_EQ(found, (Names{"alone", "folder"}));
  const std::uint64_t mirrored = mixed.lookup({}, MountTree::kRootNumber, "folder").value();
  EXPECT_EQ(mixed.look_up_and_reference({}, mirrored, "toy")->size, toy.bytes.size());
  EXPECT_FALSE(mixed.subtree(MountTree::kRootNumber).may_gain_names({}, MountTree::kRootNumber));
  EXPECT_TRUE(mixed.subtree(mirrored).may_gain_names({}, mirrored));
}

TEST_F(MirrorTest, ManyThreadsReadManyContainers) {
  for (int i = 0; i < 100; ++i) folder.write(std::to_string(i), toy.bytes);
  tree();
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&, thread] {
      for (int i = 0; i < 100; ++i) {
        const std::string path = std::to_string((i * 7 + thread * 13) % 100);
        const auto container = look_up(path);
        const auto record = look_up(path + "/records/5");
        if (!record || read(record->number) != toy.records[5]) ++wrong;
        if (record) tree().forget(record->number, 1);
        if (container) tree().forget(container->number, 1);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace recordfs::testing
