// A data set of toy files, mounted as one.
#include <algorithm>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/unit/fusefs/tree/toy_tree.h"

namespace recordfs::testing {
namespace {

using Names = std::vector<std::string>;
using nlohmann::json;

// Three records in each chunk. Counts how often each shard is opened, and can make opening fail.
struct ToySet {
  ToySet() = default;
  explicit ToySet(const std::vector<std::uint64_t>& chunks) {
    for (std::size_t i = 0; i < chunks.size(); ++i) add("dir/shard-" + std::to_string(i), {.chunks = chunks[i]});
  }

  void add(const std::string& path, const toy::Shape& shape) {
    files.push_back(toy::make_file(shape));
    source.list.shards.push_back({path});
    source.ownerships.push_back({.uid = 7, .modified = {.tv_sec = static_cast<time_t>(files.size()), .tv_nsec = 0}});
    source.stored += files.back().bytes.size();
  }
  void remove(std::size_t shard) { source.list.shards[shard].is_missing = true; }

  DataSetSource joined() {
    DataSetSource made = source;
    made.open = [this](const RequestContext&, std::size_t shard) -> Result<std::shared_ptr<const RecordStore>> {
      const std::lock_guard lock(mutex);
      ++opened[shard];
      if (const auto failure = failures.find(shard); failure != failures.end()) return failure->second;
      const auto bytes = std::make_shared<ChangeableSource>(files[shard].bytes);
      auto container = toy::open(bytes, Limits{}, watch);
      if (!container) return std::move(container).error();
      return std::shared_ptr<const RecordStore>(
          std::make_shared<RecordStore>(source.list.shards[shard].path, bytes, std::move(*container), services));
    };
    return made;
  }

  // Returns the records of all shards, one after another.
  Names records() const {
    Names all;
    for (std::size_t i = 0; i < files.size(); ++i) {
      if (!source.list.shards[i].is_missing && !failures.contains(i))
        all.insert(all.end(), files[i].records.begin(), files[i].records.end());
    }
    return all;
  }

  std::size_t opens() {
    const std::lock_guard lock(mutex);
    std::size_t sum = 0;
    for (const auto& [shard, number] : opened) sum += static_cast<std::size_t>(number);
    return sum;
  }

  Lines lines;
  StoreResources services{64u << 20, 2, lines.log()};
  std::shared_ptr<toy::Watch> watch = std::make_shared<toy::Watch>();
  std::vector<toy::File> files;
  DataSetSource source;
  std::map<std::size_t, Error> failures;
  std::mutex mutex;  // guards the next
  std::map<std::size_t, int> opened;
};

const Error kTorn{.code = Code::kDamage, .detail = "torn header"};

std::string joined(const Names& records, const std::string& after = {}) {
  std::string all;
  for (const std::string& record : records) all += record + after;
  return all;
}

TEST(JoinedSetTest, RecordsOfAllShardsHaveOrdinalsOfTheSet) {
  ToySet toys({2, 1, 3});
  const ToyTree tree(toys.joined());
  const Names all = toys.records();
  Names names;
  for (std::size_t i = 0; i < all.size(); ++i) {
    names.push_back(record_name(i));
    EXPECT_EQ(tree.read("records/" + names.back()), all[i]);
    EXPECT_EQ(tree.read("records/" + std::to_string(i)), all[i]);
  }
  EXPECT_EQ(tree.names("records"), names);
  EXPECT_FALSE(tree.exists("records/18"));
  EXPECT_FALSE(tree.exists("records/x"));
  EXPECT_FALSE(tree.exists("records/1x"));
  EXPECT_FALSE(tree.exists("records/99999999999999999999"));
}

TEST(JoinedSetTest, RootHasTheSetsViewsAndHidesTheirTargets) {
  ToySet toys({1, 1});
  const ToyTree tree(toys.joined());
  EXPECT_EQ(tree.names(""), (Names{"info.json", "records"}));
  EXPECT_EQ(tree.target("thousands"), ".views/thousands");
  EXPECT_EQ(tree.names(".views"), (Names{"thousands", "index", "streams"}));
  EXPECT_EQ(tree.names(".views/index"), (Names{"shards.tsv", "damage.tsv", "summary.json"}));
  EXPECT_EQ(tree.names(".views/streams"), (Names{"concat", "lines"}));
  EXPECT_FALSE(tree.exists("chunks"));
}

TEST(JoinedSetTest, ShardsAreLinksToTheirOwnTrees) {
  ToySet toys({2, 1});
  const ToyTree tree(toys.joined());
  EXPECT_EQ(tree.names("shards"), (Names{"shard-0", "shard-1"}));
  EXPECT_EQ(tree.names(".shards"), (Names{"shard-0", "shard-1"}));
  EXPECT_EQ(tree.target("shards/shard-1"), "../.shards/shard-1");
  EXPECT_EQ(tree.target("shards/1"), "../.shards/shard-1");
  EXPECT_EQ(tree.status("shards/1").size, std::string("../.shards/shard-1").size());
  EXPECT_FALSE(tree.exists("shards/2"));
  EXPECT_FALSE(tree.exists(".shards/1"));
  EXPECT_EQ(tree.read(".shards/shard-1/records/2"), toys.files[1].records[2]);
  const std::string chunk = ".shards/shard-1/.views/chunks/" + position_name(toys.files[1].begins[0]);
  EXPECT_EQ(tree.read(chunk + "/records/000001"), toys.files[1].records[1]);
}

TEST(JoinedSetTest, NumbersDoNotDependOnOtherShards) {
  ToySet toys({2, 1, 2});
  ToySet damaged({2, 1, 2, 5});
  damaged.failures[0] = kTorn;
  const ToyTree tree(toys.joined());
  const ToyTree other(damaged.joined());
  for (const char* path : {".shards/shard-2/records/4", ".shards/shard-1/info.json", ".shards/shard-2", "records"}) {
    EXPECT_EQ(tree.find(path).value(), other.find(path).value()) << path;
  }
  EXPECT_EQ(tree.find("records/9").value(), other.find("records/3").value());
}

// Visits everything below a directory, and adds each path to its inode number.
void collect(const ToyTree& tree, const std::string& path, std::map<std::uint64_t, Names>& paths) {
  const std::uint64_t directory = tree.find(path).value();
  for (const auto& [name, entry] : tree.list(directory)) {
    const std::string below = path.empty() ? name : path + "/" + name;
    const FileStatus status = tree.status(tree.child(directory, name).value());
    paths[status.inode].push_back(below);
    EXPECT_EQ(status.inode, entry.inode) << below;
    EXPECT_EQ(status.type, entry.type) << below;
    EXPECT_EQ(status.size, entry.size.value_or(status.size)) << below;
    if (entry.type == FileType::kDirectory) collect(tree, below, paths);
  }
}

TEST(JoinedSetTest, InodeNumbersAreUniqueAndTheSameInListings) {
  ToySet toys({2, 1, 3});
  const ToyTree tree(toys.joined());
  std::map<std::uint64_t, Names> paths;
  for (const char* top : {"", ".views", ".shards", "shards"}) collect(tree, top, paths);
  for (const char* shard : {"shard-0", "shard-1", "shard-2"}) {
    collect(tree, std::string(".shards/") + shard + "/.views", paths);
  }
  std::size_t records = 0;
  for (const auto& [inode, names] : paths) {
    if (is_record(inode)) ++records;
    // A record: in records/ and thousands/ of the set and of its shard, and in its chunk.
    EXPECT_EQ(names.size(), is_record(inode) ? 5u : 1u) << names.front();
  }
  EXPECT_EQ(records, 18u);
  EXPECT_FALSE(paths.contains(MountTree::kRootNumber));
}

TEST(JoinedSetTest, ParentsLeadBackToTheRoot) {
  ToySet toys({1, 1});
  const ToyTree tree(toys.joined());
  const std::map<std::string, std::string> parents = {{"records", ""},
                                                      {"shards", ""},
                                                      {".shards", ""},
                                                      {".shards/shard-1", ".shards"},
                                                      {".shards/shard-1/records", ".shards/shard-1"},
                                                      {".shards/shard-1/.views/chunks", ".shards/shard-1/.views"},
                                                      {".views/thousands/000000", ".views/thousands"},
                                                      {".views/index", ".views"},
                                                      {"", ""}};
  for (const auto& [path, above] : parents) {
    const std::uint64_t number = tree.find(path).value();
    EXPECT_EQ(tree->subtree(number).parent_inode({}, number),
              tree->subtree(tree.find(above).value()).inode({}, tree.find(above).value()))
        << path;
    EXPECT_EQ(tree->subtree(number).inode({}, number), tree.status(number).inode) << path;
  }
}

TEST(JoinedSetTest, NoShardIsOpenedForTheSetsOwnDirectories) {
  ToySet toys(std::vector<std::uint64_t>(200, 1));
  const ToyTree tree(toys.joined());
  EXPECT_EQ(tree.list(MountTree::kRootNumber).size(), 2u);
  for (const char* directory : {"shards", ".shards"}) {
    for (const auto& [name, entry] : tree.list(tree.find(directory).value())) {
      const std::uint64_t number = tree.child(tree.find(directory).value(), name).value();
      EXPECT_EQ(tree.status(number).type, entry.type);
    }
  }
  EXPECT_EQ(tree.status("info.json").type, FileType::kRegular);
  EXPECT_EQ(tree->usage({}).bytes, toys.source.stored);
  EXPECT_EQ(toys.opens(), 0u);
}

TEST(JoinedSetTest, LookupWaitsUntilEnoughShardsAreCounted) {
  ToySet toys({1, 1, 1});
  const ToyTree tree(toys.joined());
  const auto found = tree->lookup({}, tree.find("records").value(), "7");
  ASSERT_FALSE(found);
  EXPECT_TRUE(is_waiting(found.error()));
  EXPECT_EQ(toys.opens(), 0u);
  EXPECT_EQ(tree.read("records/7"), toys.records()[7]);
}

TEST(JoinedSetTest, OnlyTheNeededShardIsOpenedOnceAllAreCounted) {
  ToySet toys(std::vector<std::uint64_t>(100, 1));
  const ToyTree tree(toys.joined());
  ASSERT_FALSE(tree.exists("records/300"));
  const std::size_t before = toys.opens();
  EXPECT_EQ(before, 100u);
  EXPECT_EQ(tree.read("records/31"), toys.records()[31]);
  EXPECT_EQ(tree.read("records/31"), toys.records()[31]);
  EXPECT_EQ(toys.opens(), before + 1);
}

TEST(JoinedSetTest, ThousandsRunAcrossShards) {
  ToySet toys({300, 300, 300});
  const ToyTree tree(toys.joined());
  EXPECT_EQ(tree.names(".views/thousands"), (Names{"000000", "000001", "000002"}));
  EXPECT_EQ(tree.names(".views/thousands/000001").size(), 1000u);
  EXPECT_EQ(tree.names(".views/thousands/000001").back(), "000001999");
  EXPECT_EQ(tree.names(".views/thousands/000002").size(), 700u);
  EXPECT_EQ(tree.read(".views/thousands/000001/1801"), toys.records()[1801]);
  EXPECT_EQ(tree.target(".views/thousands/1"), "000001");
  EXPECT_FALSE(tree.exists(".views/thousands/000001/2000"));
  EXPECT_FALSE(tree.exists(".views/thousands/3"));
}

TEST(JoinedSetTest, PartsOfRecordsBelongToTheirShard) {
  ToySet toys;
  const auto parts = [](std::uint64_t ordinal) {
    return std::vector<toy::PartShape>{{.key = "a", .kind = PartKind::kSlice, .bytes = std::to_string(ordinal)}};
  };
  toys.add("one", {.chunks = 1, .parts = parts});
  toys.add("two", {.chunks = 1, .parts = parts});
  const ToyTree tree(toys.joined());
  // Their numbers come from a table, with the shard in it.
  EXPECT_NE(tree.find(".shards/one/.views/inside/000000001/a").value(),
            tree.find(".shards/two/.views/inside/000000001/a").value());
  EXPECT_EQ(tree.read(".shards/two/.views/inside/000000001/a"), "1");
}

TEST(JoinedSetTest, RecordsTellTheirShardAndTheirOrdinalInTheSet) {
  ToySet toys({1, 2});
  const ToyTree tree(toys.joined());
  const std::uint64_t record = tree.find(".shards/shard-1/records/4").value();
  const auto get = [&](std::string_view name) {
    return waited([&] { return tree->subtree(record).extended_attribute({}, record, name); }).value();
  };
  EXPECT_EQ(get("user.recordfs.ordinal"), "7");
  EXPECT_EQ(get("user.recordfs.shard"), "shard-1");
  EXPECT_EQ(get("user.recordfs.index"), "1");
  EXPECT_NE(tree->subtree(record).extended_names({}, record).find("user.recordfs.shard"), std::string::npos);
  const std::uint64_t chunk =
      tree.find(".shards/shard-1/.views/chunks/" + position_name(toys.files[1].begins[0])).value();
  EXPECT_EQ(tree->subtree(chunk).extended_attribute({}, chunk, "user.recordfs.shard").error().code, Code::kNotFound);
  EXPECT_EQ(tree->subtree(tree.find("records").value()).extended_names({}, tree.find("records").value()), "");
}

TEST(JoinedSetTest, StreamsAreThoseOfTheShardsOneAfterAnother) {
  ToySet toys({2, 0, 3});
  const ToyTree tree(toys.joined());
  const std::string concat = joined(toys.records());
  const std::string lines = joined(toys.records(), "\n");
  EXPECT_EQ(tree.read(".views/streams/concat"), concat);
  EXPECT_EQ(tree.read(".views/streams/lines"), lines);
  const std::uint64_t file = tree.find(".views/streams/lines").value();
  for (std::uint64_t offset = 0; offset <= lines.size() + 1; ++offset) {
    const auto read = waited([&] { return tree->subtree(file).read({}, file, offset, 40); });
    ASSERT_TRUE(read);
    EXPECT_EQ(text_of(*read), offset > lines.size() ? "" : lines.substr(offset, 40)) << offset;
  }
}

TEST(JoinedSetTest, MissingShardKeepsItsPlaceAndIsReported) {
  ToySet toys({2, 1, 1});
  toys.remove(1);
  const ToyTree tree(toys.joined());
  EXPECT_EQ(tree.names("shards"), (Names{"shard-0", "shard-1", "shard-2"}));
  EXPECT_EQ(tree.target("shards/2"), "../.shards/shard-2");
  const std::uint64_t shards = tree.find(".shards").value();
  EXPECT_EQ(tree->look_up_and_reference({}, shards, "shard-1").error().code, Code::kDamage);
  EXPECT_EQ(tree.read("records/6"), toys.files[2].records[0]);
  EXPECT_EQ(tree.names("records").size(), 9u);
  EXPECT_EQ(tree.read(".views/index/damage.tsv"),
            "shard\tbegin\tend\tfirst_ordinal\trecords_lost\tclass\treason\n"
            "shard-1\t0\t0\t6\t-\tdamage\tthis shard is missing\n");
  const json info = json::parse(tree.read("info.json"));
  EXPECT_EQ(info["shards"], 3);
  EXPECT_EQ(info["missing"], 1);
  EXPECT_EQ(info["missing_shards"][0]["name"], "shard-1");
}

TEST(JoinedSetTest, ReadingAStreamFailsAtAShardThatCannotBeOpened) {
  ToySet toys({1, 1, 1});
  toys.failures[1] = kTorn;
  const ToyTree tree(toys.joined());
  const std::string before = joined(toys.files[0].records);
  const std::string after = joined(toys.files[2].records);
  const std::uint64_t file = tree.find(".views/streams/concat").value();
  EXPECT_EQ(tree.status(file).size, before.size() + 1 + after.size());
  const auto read = [&](std::uint64_t offset, std::uint64_t length) {
    return waited([&] { return tree->subtree(file).read({}, file, offset, length); });
  };
  EXPECT_EQ(text_of(read(0, before.size()).value()), before);
  EXPECT_EQ(read(0, before.size() + 1).error().code, Code::kDamage);
  EXPECT_EQ(text_of(read(before.size() + 1, 1000).value()), after);
}

TEST(JoinedSetTest, UnreadableRecordDoesNotHideItsNeighboursInAStream) {
  ToySet toys;
  toys.add("good", {.chunks = 1});
  toys.add("bad", {.chunks = 2, .broken_payloads = {1}});
  const ToyTree tree(toys.joined());
  const std::uint64_t file = tree.find(".views/streams/concat").value();
  const std::string readable =
      joined(toys.files[0].records) + joined({toys.files[1].records.begin(), toys.files[1].records.begin() + 3});
  EXPECT_EQ(text_of(waited([&] { return tree->subtree(file).read({}, file, 0, readable.size()); }).value()), readable);
  EXPECT_EQ(waited([&] { return tree->subtree(file).read({}, file, 0, readable.size() + 1); }).error().code,
            Code::kDamage);
}

TEST(JoinedSetTest, ShardThatCannotBeOpenedHasNoRecords) {
  ToySet toys({1, 1});
  toys.failures[0] = kTorn;
  const ToyTree tree(toys.joined());
  EXPECT_EQ(tree.names("records").size(), 3u);
  EXPECT_EQ(tree.read("records/0"), toys.files[1].records[0]);
  EXPECT_EQ(tree.status(".shards/shard-0").type, FileType::kDirectory);
  const auto inside = tree->lookup({}, tree.find(".shards/shard-0").value(), "records");
  EXPECT_EQ(inside.error().code, Code::kDamage);
  const json summary = json::parse(tree.read(".views/index/summary.json"));
  EXPECT_EQ(summary["unreadable"], 1);
  EXPECT_EQ(summary["missing"], 0);
  EXPECT_EQ(summary["records"], 3);
  EXPECT_EQ(summary["formats"]["toy"], 1);
}

TEST(JoinedSetTest, FailureThatMayPassIsReturnedAndTriedAgain) {
  ToySet toys({1, 1});
  toys.failures[0] = bad_sector();
  const ToyTree tree(toys.joined());
  EXPECT_EQ(tree.child(tree.find("records").value(), "3").error().code, Code::kIo);
  {
    const std::lock_guard lock(toys.mutex);
    toys.failures.clear();
  }
  EXPECT_EQ(tree.read("records/3"), toys.records()[3]);
}

TEST(JoinedSetTest, TablesDescribeEachShard) {
  ToySet toys;
  toys.add("a", {.chunks = 2});
  toys.add("b", {.chunks = 3, .broken_headers = {1}});
  const ToyTree tree(toys.joined());
  const std::string a_size = std::to_string(toys.files[0].bytes.size());
  const std::string b_size = std::to_string(toys.files[1].bytes.size());
  EXPECT_EQ(tree.read(".views/index/shards.tsv"),
            "shard\tname\tstate\tformat\tsize\tfirst_ordinal\trecords\tchunks\tdamaged_regions\n"
            "0\ta\treadable\ttoy\t" +
                a_size +
                "\t0\t6\t2\t0\n"
                "1\tb\treadable\ttoy\t" +
                b_size + "\t6\t6\t2\t1\n");
  const std::string damage = tree.read(".views/index/damage.tsv");
  EXPECT_EQ(std::ranges::count(damage, '\n'), 2);
  EXPECT_NE(damage.find("\nb\t" + std::to_string(toys.files[1].begins[1]) + "\t" +
                        std::to_string(toys.files[1].begins[2]) + "\t9\t-\tdamage\t"),
            std::string::npos)
      << damage;
}

TEST(JoinedSetTest, InfoStaysTheSameWhenMoreIsKnown) {
  ToySet toys({1, 1});
  const ToyTree tree(toys.joined());
  const std::string before = tree.read("info.json");
  EXPECT_FALSE(json::parse(before).contains("records"));
  EXPECT_EQ(json::parse(before)["counted_shards"], 0);
  EXPECT_EQ(tree.names("records").size(), 6u);
  EXPECT_EQ(tree.read("info.json"), before);
  const ToyTree other(toys.joined());
  EXPECT_EQ(other.names("records").size(), 6u);
  const json info = json::parse(other.read("info.json"));
  EXPECT_EQ(info["records"], 6);
  EXPECT_EQ(info["formats"]["toy"], 2);
}

TEST(JoinedSetTest, EqualFileNamesGetANumber) {
  ToySet toys;
  for (const char* path : {"a/same", "b/same", "same~2", "c/same", "d/", "e/.."}) toys.add(path, {.chunks = 1});
  const ToyTree tree(toys.joined());
  EXPECT_EQ(tree.names("shards"), (Names{"same", "same~2", "same~2~2", "same~3", "shard-4", "shard-5"}));
  EXPECT_EQ(tree.target("shards/1"), "../.shards/same~2");
  EXPECT_TRUE(tree.exists(".shards/same~2~2/info.json"));
}

TEST(JoinedSetTest, NumbersThatNameNothingAreNotFound) {
  ToySet toys({1});
  const ToyTree tree(toys.joined());
  const std::uint64_t shard = tree.find(".shards/shard-0").value();
  for (const std::uint64_t number : {std::uint64_t{0}, std::uint64_t{4000}, std::uint64_t{5000}, shard + 900, shard * 3,
                                     UINT64_MAX, std::uint64_t{1} << 59 | 3}) {
    EXPECT_FALSE(tree->subtree(number).status({}, number)) << number;
    EXPECT_FALSE(tree->subtree(number).read({}, number, 0, 1)) << number;
    EXPECT_FALSE(tree->subtree(number).target({}, number)) << number;
    EXPECT_FALSE(tree->lookup({}, number, "x")) << number;
    EXPECT_FALSE(tree->subtree(number).list({}, number, 0, [](const MountEntry&) { return true; })) << number;
    tree->forget(number, 1);
  }
}

TEST(JoinedSetTest, FollowingRecordsAreThoseOfTheShard) {
  ToySet toys({1, 2});
  const ToyTree tree(toys.joined());
  MountTree::BatchCursor following;
  std::uint64_t ordinal = 3;
  tree->for_each_following({}, tree.find("records/3").value(), following, [&](std::uint64_t number, Bytes bytes) {
    ++ordinal;
    EXPECT_EQ(number, tree.find("records/" + std::to_string(ordinal)).value());
    EXPECT_EQ(as_text(bytes), toys.records()[ordinal]);
    return true;
  });
  EXPECT_EQ(ordinal, 8u);
}

}  // namespace
}  // namespace recordfs::testing
