// A data set of toy files to which shards are appended while it is mounted.
#include <algorithm>
#include <atomic>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/unit/fusefs/tree/toy_tree.h"

namespace recordfs::testing {
namespace {

using Names = std::vector<std::string>;
using nlohmann::json;

// Three records in each chunk.
class GrowingSet {
 public:
  explicit GrowingSet(const std::vector<std::uint64_t>& chunks, std::size_t most_shards = 100)
      : source_{.name = {}, .list = {}, .open = opener(), .most_shards = most_shards} {
    for (const std::uint64_t number : chunks) {
      source_.list.shards.push_back({add({.chunks = number})});
      source_.ownerships.push_back(ownership());
      source_.stored += files_.back().bytes.size();
    }
  }

  DataSetSource source() const { return source_; }
  // Appends shards. Returns the numbers that the kernel is notified of.
  std::set<std::uint64_t> append(const ToyTree& tree, const std::vector<std::uint64_t>& chunks, mode_t mode = 0444) {
    AppendedShards more;
    for (const std::uint64_t number : chunks) append(more, {.chunks = number}, mode);
    return append(tree, std::move(more));
  }
  std::set<std::uint64_t> append_shape(const ToyTree& tree, const toy::Shape& shape) {
    AppendedShards more;
    append(more, shape, 0444);
    return append(tree, std::move(more));
  }

  // Returns the records of all shards, consecutively.
  Names records() const {
    Names all;
    for (const toy::File& file : files_) all.insert(all.end(), file.records.begin(), file.records.end());
    return all;
  }
  std::size_t opens() {
    const std::lock_guard lock(mutex_);
    return opens_;
  }

  std::map<std::size_t, Error> failures;  // of opening a shard
  std::function<void()> notified = [] {};

 private:
  std::string add(const toy::Shape& shape) {
    const std::lock_guard lock(mutex_);
    files_.push_back(toy::make_file(shape));
    return "dir/shard-" + std::to_string(files_.size() - 1);
  }
  Ownership ownership(mode_t mode = 0444) const {
    return container_ownership(7, 7, mode, {.tv_sec = static_cast<time_t>(files_.size()), .tv_nsec = 0});
  }
  void append(AppendedShards& more, const toy::Shape& shape, mode_t mode) {
    more.shards.push_back({add(shape)});
    more.ownerships.push_back(ownership(mode));
    more.stored += files_.back().bytes.size();
  }
  std::set<std::uint64_t> append(const ToyTree& tree, AppendedShards more) {
    std::set<std::uint64_t> numbers;
    tree->data_set()->append({}, std::move(more), [&](std::uint64_t number) {
      numbers.insert(number);
      notified();
    });
    return numbers;
  }
  DataSetSource::Open opener() {
    return [this](const RequestContext&, std::size_t shard) -> Result<std::shared_ptr<const RecordStore>> {
      const std::lock_guard lock(mutex_);
      ++opens_;
      if (const auto failure = failures.find(shard); failure != failures.end()) return failure->second;
      const auto bytes = std::make_shared<ChangeableSource>(files_[shard].bytes);
      auto container = toy::open(bytes, Limits{}, watch_);
      if (!container) return std::move(container).error();
      return std::shared_ptr<const RecordStore>(
          std::make_shared<RecordStore>("shard " + std::to_string(shard), bytes, std::move(*container), services_));
    };
  }

  Lines lines_;
  StoreResources services_{64u << 20, 2, lines_.log()};
  std::shared_ptr<toy::Watch> watch_ = std::make_shared<toy::Watch>();
  std::mutex mutex_;  // guards the next two
  std::deque<toy::File> files_;
  std::size_t opens_ = 0;
  DataSetSource source_;
};

std::string text_of_all(const Names& records, const std::string& after = {}) {
  std::string all;
  for (const std::string& record : records) all += record + after;
  return all;
}

TEST(JoinedFollowTest, AppendedShardsAreShownInAllViews) {
  GrowingSet toys({2, 1});
  const ToyTree tree(toys.source());
  EXPECT_EQ(tree.names("records").size(), 9u);
  EXPECT_EQ(tree.read(".views/streams/concat"), text_of_all(toys.records()));
  toys.append(tree, {1, 2});
  const Names all = toys.records();
  EXPECT_EQ(tree.names("records").size(), 18u);
  EXPECT_EQ(tree.read("records/17"), all[17]);
  EXPECT_EQ(tree.read(".views/thousands/000000/000000010"), all[10]);
  EXPECT_EQ(tree.names("shards"), (Names{"shard-0", "shard-1", "shard-2", "shard-3"}));
  EXPECT_EQ(tree.target("shards/3"), "../.shards/shard-3");
  EXPECT_EQ(tree.read(".shards/shard-3/records/5"), all[17]);
  EXPECT_EQ(tree.find(".shards/shard-3/records/5").value(), tree.find("records/17").value());
  EXPECT_EQ(tree.read(".views/streams/concat"), text_of_all(all));
  EXPECT_EQ(tree.read(".views/streams/lines"), text_of_all(all, "\n"));
}

TEST(JoinedFollowTest, NumbersAndOrdinalsStay) {
  GrowingSet toys({2, 1});
  const ToyTree tree(toys.source());
  const Names paths = {"records/0", "records/8", ".shards/shard-1",     ".shards/shard-1/info.json",
                       "shards/1",  "records",   ".views/streams/lines"};
  std::map<std::string, std::uint64_t> numbers;
  for (const std::string& path : paths) numbers[path] = tree.find(path).value();
  const Names before = toys.records();
  toys.append(tree, {3});
  for (const std::string& path : paths) EXPECT_EQ(tree.find(path).value(), numbers[path]) << path;
  for (std::size_t i = 0; i < before.size(); ++i) EXPECT_EQ(tree.read("records/" + std::to_string(i)), before[i]);
}

TEST(JoinedFollowTest, NumbersAreThoseOfAMountThatDoesNotFollow) {
  EXPECT_EQ(ShardNumbers::most_followed(1), 32767u);
  EXPECT_EQ(ShardNumbers::most_followed(2047), 32767u);
  EXPECT_EQ(ShardNumbers::most_followed(2048), 65535u);
  EXPECT_EQ(ShardNumbers::most_followed(kMostShards), kMostShards);
  GrowingSet toys({1, 1}, ShardNumbers::most_followed(2));
  const ToyTree tree(toys.source());
  DataSetSource fixed = toys.source();
  fixed.most_shards = 0;
  const ToyTree other(fixed);
  EXPECT_EQ(tree.find("records/4").value(), other.find("records/4").value());
  EXPECT_FALSE(other->data_set()->may_grow());
  EXPECT_EQ(other->data_set()->room(), 0u);
}

TEST(JoinedFollowTest, ListingResumesAcrossAnAppend) {
  GrowingSet toys({2, 1});
  const ToyTree tree(toys.source());
  const std::uint64_t records = tree.find("records").value();
  const Listing first = tree.list(records, 0, 5);
  toys.append(tree, {1});
  const Listing rest = tree.list(records, first.back().second.next);
  ASSERT_EQ(rest.size(), 7u);
  EXPECT_EQ(rest.front().first, record_name(5));
}

TEST(JoinedFollowTest, MissingNamesMayAppearLater) {
  GrowingSet toys({1});
  const ToyTree tree(toys.source());
  EXPECT_FALSE(tree.exists("records/3"));
  EXPECT_FALSE(tree.exists("shards/shard-1"));
  for (const char* path : {"records", "shards", ".shards", ".views/thousands", ".views/thousands/000000"}) {
    EXPECT_TRUE(tree->subtree(tree.find(path).value()).may_gain_names({}, tree.find(path).value())) << path;
  }
  for (const char* path : {".shards/shard-0", ".shards/shard-0/records"}) {
    EXPECT_FALSE(tree->subtree(tree.find(path).value()).may_gain_names({}, tree.find(path).value())) << path;
  }
  toys.append(tree, {1});
  EXPECT_TRUE(tree.exists("records/3"));
  EXPECT_TRUE(tree.exists("shards/shard-1"));
}

TEST(JoinedFollowTest, OnlyWhatMayChangeExpires) {
  GrowingSet toys({1});
  const ToyTree tree(toys.source());
  for (const char* path : {"", "info.json", "records", "shards", ".views/thousands/000000", ".views/index/damage.tsv",
                           ".views/streams/concat"}) {
    EXPECT_EQ(tree.status(path).cache_policy, CachePolicy::kSnapshot) << path;
  }
  for (const char* path : {"records/0", "shards/shard-0", ".shards/shard-0", ".shards/shard-0/records", "streams"}) {
    EXPECT_EQ(tree.status(path).cache_policy, CachePolicy::kPermanent) << path;
  }
  DataSetSource fixed = toys.source();
  fixed.most_shards = 0;
  const ToyTree other(fixed);
  EXPECT_EQ(other.status("records").cache_policy, CachePolicy::kPermanent);
  EXPECT_FALSE(other->subtree(other.find("records").value()).may_gain_names({}, other.find("records").value()));
}

TEST(JoinedFollowTest, ChangedNodesAreReturnedWithALaterTime) {
  GrowingSet toys({1});
  const ToyTree tree(toys.source());
  ASSERT_TRUE(tree.exists("records/0"));
  const timespec before = tree.status("records").ownership.modified;
  const timespec of_link = tree.status("shards/0").ownership.modified;
  const auto changed = toys.append(tree, {1});
  for (const char* path : {"", "info.json", "records", "shards", ".views", ".shards", ".views/thousands",
                           ".views/thousands/000000", ".views/index/shards.tsv", ".views/streams/lines"}) {
    EXPECT_TRUE(changed.contains(tree.find(path).value())) << path;
  }
  for (const char* path : {"records/0", "shards/0", ".shards/shard-0"}) {
    EXPECT_FALSE(changed.contains(tree.find(path).value())) << path;
  }
  const timespec now = tree.status("records").ownership.modified;
  EXPECT_EQ(later(before, now).tv_sec, now.tv_sec);
  EXPECT_GT(now.tv_sec, before.tv_sec);
  EXPECT_EQ(tree.status("shards/0").ownership.modified.tv_sec, of_link.tv_sec);
}

TEST(JoinedFollowTest, TextsIncludeAppendedShards) {
  GrowingSet toys({1, 2});
  const ToyTree tree(toys.source());
  EXPECT_EQ(tree.names("records").size(), 9u);
  EXPECT_EQ(json::parse(tree.read("info.json"))["records"], 9);
  const std::string rows = tree.read(".views/index/shards.tsv");
  EXPECT_EQ(json::parse(tree.read(".views/index/summary.json"))["shards"], 2);
  toys.append(tree, {3});
  const json info = json::parse(tree.read("info.json"));
  EXPECT_EQ(info["shards"], 3);
  EXPECT_EQ(info["records"], 18) << "it was counted before it became visible";
  EXPECT_EQ(info["size"], tree->usage({}).bytes);
  EXPECT_EQ(json::parse(tree.read(".views/index/summary.json"))["records"], 18);
  const std::string more = tree.read(".views/index/shards.tsv");
  EXPECT_EQ(more.substr(0, rows.size()), rows);
  EXPECT_EQ(std::ranges::count(more, '\n'), 4);
}

TEST(JoinedFollowTest, DamageOfAppendedShardsIsAdded) {
  GrowingSet toys({1});
  const ToyTree tree(toys.source());
  EXPECT_EQ(std::ranges::count(tree.read(".views/index/damage.tsv"), '\n'), 1);
  toys.append_shape(tree, {.chunks = 3, .broken_headers = {1}});
  const std::string one = tree.read(".views/index/damage.tsv");
  EXPECT_EQ(std::ranges::count(one, '\n'), 2);
  EXPECT_NE(one.find("\nshard-1\t"), std::string::npos);
  toys.failures[2] = {.code = Code::kDamage, .detail = "torn header"};
  toys.append(tree, {1});
  const std::string two = tree.read(".views/index/damage.tsv");
  EXPECT_EQ(two.substr(0, one.size()), one);
  EXPECT_NE(two.find("\nshard-2\t0\t0\t9\t-\tdamage\tbyte 0: torn header\n"), std::string::npos) << two;
}

TEST(JoinedFollowTest, NoShardIsOpenedBeforeOneIsNeeded) {
  GrowingSet toys({1});
  const ToyTree tree(toys.source());
  toys.append(tree, {1, 1});
  EXPECT_EQ(tree.names("shards").size(), 3u);
  EXPECT_EQ(json::parse(tree.read("info.json"))["shards"], 3);
  EXPECT_EQ(toys.opens(), 0u);
  EXPECT_EQ(tree.names("records").size(), 9u);
}

TEST(JoinedFollowTest, KnownPartOfAStreamDoesNotWaitForAppendedShards) {
  GrowingSet toys({1});
  const ToyTree tree(toys.source());
  const std::string before = tree.read(".views/streams/concat");
  const std::uint64_t file = tree.find(".views/streams/concat").value();
  toys.failures[1] = bad_sector();  // so that it cannot be counted yet
  toys.append(tree, {1});
  const auto known = tree->subtree(file).read({}, file, 0, before.size());
  ASSERT_TRUE(known);
  EXPECT_EQ(text_of(*known), before);
  EXPECT_TRUE(is_waiting(tree->subtree(file).read({}, file, 0, before.size() + 1).error()));
  toys.failures.clear();
  EXPECT_EQ(tree.read(".views/streams/concat"), text_of_all(toys.records()));
}

TEST(JoinedFollowTest, PermissionsBecomeThoseThatAllShardsHave) {
  GrowingSet toys({1});
  const ToyTree tree(toys.source());
  EXPECT_EQ(tree.status("records").ownership.directory_mode, 0755u);
  Names seen;
  toys.notified = [&] {
    if (tree.status("records").ownership.directory_mode == 0700)
      seen.push_back(tree.exists("shards/1") ? "all" : "old");
  };
  toys.append(tree, {1}, 0400);
  EXPECT_EQ(tree.status(".views/streams/concat").ownership.file_mode, 0400u);
  EXPECT_EQ(tree.status(".shards/shard-0").ownership.directory_mode, 0755u);
  ASSERT_FALSE(seen.empty());
  EXPECT_EQ(seen.front(), "old") << "the kernel is notified before the shard is visible";
}

TEST(JoinedFollowTest, FileThatIsRemovedMeanwhileIsAMissingShard) {
  GrowingSet toys({1});
  const ToyTree tree(toys.source());
  EXPECT_EQ(tree.names("records").size(), 3u);
  AppendedShards more{.shards = {{"dir/gone", true}}, .ownerships = {{.file_mode = 0, .directory_mode = 0}}};
  tree->data_set()->append({}, std::move(more), [](std::uint64_t) {});
  EXPECT_EQ(json::parse(tree.read("info.json"))["missing_shards"][0]["name"], "gone");
  EXPECT_EQ(tree.status("records").ownership.directory_mode, 0755u);
  EXPECT_EQ(tree.names("records").size(), 3u);
}

TEST(JoinedFollowTest, RoomShrinks) {
  GrowingSet toys({1}, 4);
  const ToyTree tree(toys.source());
  EXPECT_EQ(tree->data_set()->room(), 3u);
  toys.append(tree, {1, 1, 1});
  EXPECT_EQ(tree->data_set()->room(), 0u);
  EXPECT_EQ(tree.read("records/11"), toys.records()[11]);
}

TEST(JoinedFollowTest, ReadersSeeWholeStatesWhileShardsAreAppended) {
  GrowingSet toys({1}, 60);
  const ToyTree tree(toys.source());
  const std::uint64_t records = tree.find("records").value();
  const std::uint64_t stream = tree.find(".views/streams/lines").value();
  const std::uint64_t info = tree.find("info.json").value();
  const std::uint64_t table = tree.find(".views/index/shards.tsv").value();
  constexpr std::uint64_t kMostText = 1 << 20;
  std::atomic<bool> is_over{false};
  std::vector<std::thread> readers;
  for (int reader = 0; reader < 3; ++reader) {
    readers.emplace_back([&, reader] {
      std::size_t before = 0;
      while (!is_over) {
        const std::size_t now = reader == 0   ? tree.list(records).size()
                                : reader == 1 ? tree.status(stream).size
                                              : json::parse(tree.read(info, kMostText))["shards"].get<std::size_t>();
        EXPECT_GE(now, before);
        before = now;
        EXPECT_TRUE(reader != 0 || now % 3 == 0) << now;
        EXPECT_TRUE(tree.read(table, kMostText).ends_with('\n'));
      }
    });
  }
  while (tree->data_set()->room() > 0) toys.append(tree, {1});
  is_over = true;
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(tree.read(stream), text_of_all(toys.records(), "\n"));
  EXPECT_EQ(tree.list(records).size(), 180u);
}

}  // namespace
}  // namespace recordfs::testing
