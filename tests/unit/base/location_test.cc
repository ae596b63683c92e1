// Names of sources, and the storages that they select.
#include "core/base/location.h"

#include <cerrno>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "core/base/storage.h"
#include "tests/unit/support/temp_folder.h"

namespace recordfs::testing {
namespace {

// Has one file, "mem:file".
class MemoryStorage final : public Storage {
 public:
  Result<std::shared_ptr<const Source>> open(const RequestContext&, const Location& location, Use) const override {
    if (location.text() != "mem:file") return system_error(ENOENT);
    auto bytes = Buffer::allocate({}, 4);
    return std::shared_ptr<const Source>(std::make_shared<MemorySource>(std::move(*bytes)));
  }
  Result<SourceStatus> status(const RequestContext&, const Location& location) const override {
    if (location.text() == "mem:") return SourceStatus{.kind = SourceKind::kDirectory};
    if (location.text() != "mem:file") return system_error(ENOENT);
    return SourceStatus{.kind = SourceKind::kFile, .size = 4};
  }
  Result<void> list(const RequestContext&, const Location&, const Wanted&, const TakeEntry& take) const override {
    return take({"file", SourceKind::kFile, 4});
  }
  std::uint64_t filesystem(const Location&, std::uint64_t) const override { return 7; }
};

Location in_memory(const std::string& word) {
  static const bool is_added = [] {
    add_storage("mem", std::make_unique<MemoryStorage>());
    return true;
  }();
  return is_added ? Location(word) : Location("");
}

TEST(Location, WordWithAKnownSchemeIsAUrl) {
  EXPECT_FALSE(in_memory("mem:file").is_local());
  for (const char* const word : {"file", "/mem:file", "other:file", "mem", "", "mem/file"}) {
    EXPECT_TRUE(in_memory(word).is_local()) << word;
  }
}

TEST(Location, ExistingLocalFileIsNoUrl) {
  const TempFolder folder;
  folder.write("mem:file", "local");
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(folder.path());
  EXPECT_TRUE(in_memory("mem:file").is_local());
  std::filesystem::current_path(before);
  EXPECT_FALSE(in_memory("mem:file").is_local());
}

TEST(Location, HasANameChildrenAndAnAbsoluteForm) {
  const Location url = in_memory("mem:dir/file");
  EXPECT_EQ(url.name(), "file");
  EXPECT_EQ(url.absolute(), url);
  EXPECT_EQ(in_memory("mem:dir").child("file"), url);
  EXPECT_EQ(Location("dir/").child("file").text(), "dir/file");
  EXPECT_EQ(Location("file").absolute().text(), (std::filesystem::current_path() / "file").string());
  EXPECT_EQ(Location("/a/b").absolute().text(), "/a/b");
}

TEST(Location, SelectsItsStorage) {
  EXPECT_EQ(open_source({}, in_memory("mem:file")).value()->size(), 4u);
  EXPECT_TRUE(is_not_there(open_source({}, in_memory("mem:other")).error()));
  EXPECT_TRUE(is_directory(in_memory("mem:")));
  EXPECT_FALSE(is_directory(in_memory("mem:file")));
  EXPECT_EQ(in_memory("mem:file").storage().local_path(in_memory("mem:file")), "");
}

TEST(LocalStorage, TellsWhatStatTells) {
  const TempFolder folder;
  folder.write("file", "12345");
  const auto file = status_of({}, folder.path() + "/file");
  ASSERT_TRUE(file);
  EXPECT_TRUE(file->is_file());
  EXPECT_EQ(file->size, 5u);
  ASSERT_TRUE(file->owner);
  EXPECT_EQ(open_source({}, folder.path() + "/file").value()->id()->source, file->id.source);
  EXPECT_TRUE(is_not_there(status_of({}, folder.path() + "/nothing").error()));
  EXPECT_TRUE(is_not_there(status_of({}, folder.path() + "/file/below").error()));
  EXPECT_TRUE(is_not_there(open_source({}, folder.path() + "/nothing").error()));
}

TEST(LocalStorage, ListsWantedEntriesOfEachKind) {
  const TempFolder folder;
  folder.write("a-file", "12345");
  folder.write("a-folder/inner", "");
  folder.write("other", "");
  folder.link("a-link", "a-file");
  folder.link("a-dangling", "nothing");
  std::map<std::string, std::pair<SourceKind, std::uint64_t>> found;
  const Location directory(folder.path());
  const auto wanted = [](const std::string& name) { return name.starts_with("a-"); };
  ASSERT_TRUE(local_storage().list({}, directory, wanted, [&](const ListedEntry& entry) -> Result<void> {
    found[entry.name] = {entry.kind, entry.size};
    return {};
  }));
  EXPECT_EQ(found.size(), 4u);
  EXPECT_EQ(found["a-file"], std::pair(SourceKind::kFile, std::uint64_t{5}));
  EXPECT_EQ(found["a-link"], std::pair(SourceKind::kFile, std::uint64_t{5}));
  EXPECT_EQ(found["a-folder"].first, SourceKind::kDirectory);
  EXPECT_EQ(found["a-dangling"].first, SourceKind::kOther);
  const auto fail = [](const ListedEntry&) -> Result<void> { return Error{.code = Code::kLimit, .detail = "full"}; };
  EXPECT_EQ(local_storage().list({}, directory, {}, fail).error().code, Code::kLimit);
  EXPECT_EQ(local_storage().list({}, directory.child("nothing"), {}, fail).error().os_error, ENOENT);
}

}  // namespace
}  // namespace recordfs::testing
