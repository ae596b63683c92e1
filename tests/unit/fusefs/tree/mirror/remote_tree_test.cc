#include "fusefs/tree/mirror/remote_tree.h"

#include <cerrno>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "core/base/storage.h"

namespace recordfs {
namespace {

using Names = std::vector<std::string>;

class StringSource final : public Source {
 public:
  StringSource(std::string bytes, std::string version, bool is_settled)
      : bytes_(std::move(bytes)), id_{.source = "s", .version = std::move(version), .is_settled = is_settled} {}

  std::uint64_t size() const override { return bytes_.size(); }
  Result<std::size_t> read_at(const RequestContext&, Position at, MutableBytes out) const override {
    const std::string_view rest = std::string_view(bytes_).substr(std::min<std::size_t>(at, bytes_.size()));
    const std::size_t size = std::min(rest.size(), out.size());
    std::ranges::copy(as_bytes(rest.substr(0, size)), out.begin());
    return size;
  }
  std::optional<SourceId> id() const override { return id_; }

 private:
  const std::string bytes_;
  const SourceId id_;
};

// Objects and directories with a page of two entries, and a count of what is requested.
class PagedStorage final : public Storage {
 public:
  struct Object {
    std::string bytes{};
    std::string version = "1";
    bool is_directory = false;
    std::uint64_t listed_size = UINT64_MAX;  // what listings say; UINT64_MAX: the truth
  };

  Result<std::shared_ptr<const Source>> open(const RequestContext&, const Location& location, Use) const override {
    ++opens;
    const auto found = find(location);
    if (!found) return system_error(ENOENT);
    return std::shared_ptr<const Source>(std::make_shared<StringSource>(found->bytes, found->version, are_settled));
  }
  Result<SourceStatus> status(const RequestContext&, const Location& location) const override {
    ++statuses;
    const auto found = find(location);
    if (!found) return system_error(ENOENT);
    return SourceStatus{.kind = found->is_directory ? SourceKind::kDirectory : SourceKind::kFile,
                        .size = found->bytes.size()};
  }
  Result<void> list(const RequestContext&, const Location&, const Wanted&, const TakeEntry&) const override {
    return system_error(ENOSYS);
  }
  Result<std::string> list_page(const RequestContext& context, const Location&, const std::string& page,
                                const TakeEntry& take) const override {
    TRY(context.permit_wait_for(7));
    ++pages;
    if (failure) return *failure;
    std::size_t at = page.empty() ? 0 : std::stoul(page);
    for (const std::size_t end = std::min(at + 2, objects.size()); at < end; ++at) {
      const auto& [name, object] = objects[at];
      const std::uint64_t size = object.listed_size == UINT64_MAX ? object.bytes.size() : object.listed_size;
      TRY(take({.name = name,
                .kind = object.is_directory ? SourceKind::kDirectory : SourceKind::kFile,
                .size = size,
                .version = object.version}));
    }
    return at < objects.size() ? std::to_string(at) : std::string();
  }
  std::uint64_t filesystem(const Location&, std::uint64_t) const override { return 7; }

  std::vector<std::pair<std::string, Object>> objects;
  std::optional<Error> failure;
  bool are_settled = true;
  mutable int opens = 0;
  mutable int statuses = 0;
  mutable int pages = 0;

 private:
  const Object* find(const Location& location) const {
    const auto found =
        std::ranges::find(objects, std::string(location.name()), [](const auto& one) { return one.first; });
    return found == objects.end() ? nullptr : &found->second;
  }
};

PagedStorage& storage() {
  static const auto made = [] {
    auto added = std::make_shared<PagedStorage>();
    add_storage("paged", added);
    return added;
  }();
  return *made;
}

class RemoteTreeTest : public ::testing::Test {
 protected:
  void SetUp() override {
    storage().objects.clear();
    storage().failure.reset();
    storage().are_settled = true;
    storage().opens = storage().statuses = storage().pages = 0;
  }

  // Waits until a listing that is never fresh has become old.
  static void wait() { std::this_thread::sleep_for(std::chrono::milliseconds(30)); }

  std::shared_ptr<const RemoteTree> open(std::chrono::milliseconds fresh = std::chrono::hours(1)) {
    return RemoteTree::open(Location("paged:/dir/"),
                            {.probe = [](const RequestContext&, const Source& source,
                                         std::string_view) -> Result<bool> { return source.size() == 4; },
                             .has_container_name = [](std::string_view name) { return name.ends_with(".box"); },
                             .warn = [this](const std::string&, const std::string& text) { warnings.push_back(text); },
                             .fresh = fresh})
        .value();
  }

  static Result<void> list(const RemoteTree& tree, Names& names, std::uint64_t place = 0) {
    const auto listing = tree.open_listing({}, tree.look({}, "").value()).value();
    return listing->read({}, place, [&](const MirroredListing::Name& entry) {
      names.emplace_back(entry.name);
      return true;
    });
  }

  Names warnings;
};

TEST_F(RemoteTreeTest, ListingIsReadPageByPageAndThenAnswersLookups) {
  storage().objects = {{"a", {"1"}}, {"b", {"22"}}, {"c", {.is_directory = true}}, {"d.box", {"4444"}}, {"e", {""}}};
  const auto tree = open();
  Names names;
  ASSERT_TRUE(list(*tree, names));
  EXPECT_EQ(names, (Names{".", "..", "a", "b", "c", "d.box", "e"}));
  const int pages = storage().pages;
  EXPECT_EQ(tree->look({}, "d.box")->is_container, true);
  EXPECT_EQ(tree->look({}, "e")->is_container, false);
  EXPECT_EQ(tree->look({}, "c")->is_container, std::nullopt);
  EXPECT_EQ(tree->look({}, "none").error().code, Code::kNotFound);
  EXPECT_EQ(storage().opens + storage().statuses, 0);
  EXPECT_EQ(storage().pages, pages);
}

TEST_F(RemoteTreeTest, ListingResumesAtEachPlace) {
  for (int i = 0; i < 9; ++i) storage().objects.push_back({"f" + std::to_string(i), {"1"}});
  const auto tree = open();
  const auto listing = tree->open_listing({}, tree->look({}, "").value()).value();
  std::vector<std::pair<std::string, std::uint64_t>> all;
  ASSERT_TRUE(listing->read({}, 0, [&](const MirroredListing::Name& entry) {
    all.emplace_back(entry.name, entry.next);
    return true;
  }));
  ASSERT_EQ(all.size(), 11u);
  for (std::size_t i = 0; i + 1 < all.size(); ++i) {
    for (const auto& from : {listing, tree->open_listing({}, tree->look({}, "").value()).value()}) {
      std::string next;
      ASSERT_TRUE(from->read({}, all[i].second, [&](const MirroredListing::Name& entry) {
        next = entry.name;
        return false;
      }));
      EXPECT_EQ(next, all[i + 1].first);
    }
  }
}

TEST_F(RemoteTreeTest, NameThatWasNotListedYetIsAskedForOnce) {
  storage().objects = {{"a", {"1"}}, {"b", {"1"}}, {"c.box", {"4444"}}};
  const auto tree = open();
  EXPECT_EQ(tree->look({}, "c.box")->state.size, 4u);
  EXPECT_EQ(tree->look({}, "c.box")->state.size, 4u);
  EXPECT_EQ(tree->look({}, "none").error().code, Code::kNotFound);
  EXPECT_EQ(tree->look({}, "none").error().code, Code::kNotFound);
  EXPECT_EQ(storage().statuses, 2);
  EXPECT_EQ(storage().pages, 1);
}

TEST_F(RemoteTreeTest, HeadTellsWhatAnObjectIsUnlessItsNameDoes) {
  storage().objects = {{"four", {"4444"}}, {"five", {"55555"}}};
  const auto tree = open();
  EXPECT_EQ(tree->look({}, "four")->is_container, true);
  EXPECT_EQ(tree->look({}, "five")->is_container, false);
  EXPECT_EQ(tree->look({}, "five")->is_container, false);
  EXPECT_EQ(storage().opens, 2);
}

TEST_F(RemoteTreeTest, ContainerByNameAloneBecomesAFileWhenItIsOpened) {
  storage().objects = {{"five.box", {"55555"}}};
  const auto tree = open();
  const auto found = tree->look({}, "five.box");
  EXPECT_EQ(found->is_container, true);
  EXPECT_EQ(tree->open({}, "five.box", found->state).error().os_error, ESTALE);
  EXPECT_EQ(tree->look({}, "five.box")->is_container, false);
  EXPECT_TRUE(tree->open({}, "five.box", tree->look({}, "five.box")->state));
}

TEST_F(RemoteTreeTest, ObjectThatHasChangedIsStaleAndHasANewState) {
  storage().objects = {{"a.box", {"4444", "1"}}};
  const auto tree = open();
  const FileState before = tree->look({}, "a.box")->state;
  ASSERT_TRUE(tree->open({}, "a.box", before));
  storage().objects[0].second.version = "2";
  EXPECT_EQ(tree->open({}, "a.box", before).error().os_error, ESTALE);
  const FileState after = tree->look({}, "a.box")->state;
  EXPECT_FALSE(after.is_same_file(before));
  EXPECT_TRUE(tree->open({}, "a.box", after));
}

TEST_F(RemoteTreeTest, ObjectWithoutASettledVersionIsReadByOneOpeningAtATime) {
  storage().objects = {{"a.box", {"4444"}}};
  storage().are_settled = false;
  const auto tree = open();
  const FileState before = tree->look({}, "a.box")->state;
  ASSERT_TRUE(tree->open({}, "a.box", before));
  EXPECT_EQ(tree->open({}, "a.box", before).error().os_error, ESTALE);
  const FileState after = tree->look({}, "a.box")->state;
  EXPECT_FALSE(after.is_same_file(before));
  EXPECT_TRUE(tree->open({}, "a.box", after));
}

TEST_F(RemoteTreeTest, SizeThatAListingHasWrongIsCorrectedOnce) {
  storage().objects = {{"a.box", {"4444", "1", false, 3}}};
  const auto tree = open();
  EXPECT_EQ(tree->open({}, "a.box", tree->look({}, "a.box")->state).error().os_error, ESTALE);
  const FileState state = tree->look({}, "a.box")->state;
  EXPECT_EQ(state.size, 4u);
  EXPECT_TRUE(tree->open({}, "a.box", state));
}

TEST_F(RemoteTreeTest, ListingIsRepeatedWhenItIsOld) {
  storage().objects = {{"a", {"1"}}};
  const auto tree = open(std::chrono::milliseconds(0));
  storage().objects.push_back({"b", {"1"}});
  wait();
  Names names;
  ASSERT_TRUE(list(*tree, names));
  EXPECT_EQ(names, (Names{".", "..", "a", "b"}));
  storage().objects.erase(storage().objects.begin());
  wait();
  EXPECT_EQ(tree->look({}, "a").error().code, Code::kNotFound);
}

TEST_F(RemoteTreeTest, FailureIsReportedAndNotRepeatedAtOnce) {
  storage().objects = {{"a", {"1"}}};
  const auto tree = open(std::chrono::milliseconds(0));
  storage().failure = system_error(ETIMEDOUT);
  wait();
  Names names;
  EXPECT_EQ(list(*tree, names).error().os_error, ETIMEDOUT);
  EXPECT_EQ(names, (Names{".", ".."}));
  const int pages = storage().pages;
  for (int i = 0; i < 5; ++i) EXPECT_EQ(tree->look({}, "a").error().os_error, ETIMEDOUT);
  EXPECT_LE(storage().pages, pages + 1);
  storage().failure.reset();
  while (!tree->look({}, "a")) std::this_thread::sleep_for(std::chrono::milliseconds(20));
}

TEST_F(RemoteTreeTest, ListingWithoutAnswerIsNoEmptyDirectory) {
  storage().failure = system_error(EACCES);
  const auto tree = RemoteTree::open(
      Location("paged:/dir/"),
      {.probe = {}, .has_container_name = {}, .warn = [this](const std::string&, const std::string& text) {
         warnings.push_back(text);
       }});
  EXPECT_EQ(tree.error().os_error, EACCES);
  EXPECT_EQ(warnings.size(), 1u);
}

TEST_F(RemoteTreeTest, NamesThatNoFileCanHaveAreLeftOut) {
  storage().objects = {{"..", {"1"}}, {"a/b", {"1"}}, {"", {"1"}}, {std::string(300, 'x'), {"1"}},
                       {"ok", {"1"}}, {"ok", {"1"}}};
  const auto tree = open();
  Names names;
  ASSERT_TRUE(list(*tree, names));
  EXPECT_EQ(names, (Names{".", "..", "ok"}));
  EXPECT_EQ(warnings.size(), 1u);
  EXPECT_EQ(tree->look({}, std::string(300, 'x')).error().os_error, ENAMETOOLONG);
}

TEST_F(RemoteTreeTest, DirectoryHidesAnObjectOfItsName) {
  storage().objects = {{"a", {"1"}}, {"b", {"1"}}, {"a", {.is_directory = true}}};
  const auto tree = open();
  Names names;
  ASSERT_TRUE(list(*tree, names));
  EXPECT_EQ(names, (Names{".", "..", "a", "b"}));
  EXPECT_EQ(tree->look({}, "a")->is_container, std::nullopt);
  EXPECT_TRUE(S_ISDIR(tree->look({}, "a")->state.mode));
}

TEST_F(RemoteTreeTest, RequestThatMayNotWaitIsAnsweredFromMemoryOnly) {
  storage().objects = {{"a.box", {"4444"}}};
  const auto tree = open();
  RequestContext::Attempt attempt;
  const RequestContext context(RequestContext::Permission::kNonBlocking, attempt);
  EXPECT_TRUE(tree->look(context, "a.box"));
  EXPECT_FALSE(attempt.was_refused());
  storage().objects = {{"dir", {.is_directory = true}}};
  const auto other = open();
  EXPECT_EQ(other->look(context, "dir/a").error().code, Code::kPending);
  EXPECT_EQ(attempt.filesystem, 7u);
}

}  // namespace
}  // namespace recordfs
