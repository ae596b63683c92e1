// inside/, the directory of record parts.
#include <algorithm>
#include <future>

#include <gtest/gtest.h>

#include "tests/unit/fusefs/tree/toy_tree.h"

namespace recordfs::testing {
namespace {

using Names = std::vector<std::string>;
using toy::PartShape;

const std::string kView = ".views/inside/";

// Returns tags/ with two tags that list the same entry, a text, and an empty directory.
std::vector<PartShape> event(std::uint64_t ordinal) {
  const std::string bytes = "entry of " + std::to_string(ordinal);
  return {{.key = "tags"},
          {.key = "one", .parent = 0},
          {.key = "7", .parent = 1, .kind = PartKind::kSlice, .bytes = bytes},
          {.key = "two", .parent = 0},
          {.key = "7", .parent = 3, .kind = PartKind::kSlice, .bytes = bytes},
          {.key = "nothing", .parent = 0},
          {.key = "types.tsv", .kind = PartKind::kText, .bytes = "id\tname\n"},
          {.key = "empty", .kind = PartKind::kSlice}};
}

toy::Shape events() { return {.parts = event}; }

std::vector<PartShape> files(const Names& keys) {
  std::vector<PartShape> parts;
  for (const std::string& key : keys) parts.push_back({.key = key, .kind = PartKind::kSlice, .bytes = "of " + key});
  return parts;
}

TEST(InsideView, ExistsOnlyIfRecordsHaveParts) {
  ToyStore with(events());
  const ToyTree tree(with);
  EXPECT_EQ(tree.target("inside"), ".views/inside");
  EXPECT_EQ(tree.names(""), (Names{"info.json", "records", "metadata"}));
  EXPECT_EQ(tree.names(".views"), (Names{"chunks", "thousands", "inside", "index", "damage", "streams"}));
  ToyStore without({});
  const ToyTree other(without);
  EXPECT_FALSE(other.exists("inside"));
  EXPECT_FALSE(other.exists(".views/inside"));
}

TEST(InsideView, HasADirectoryForEachRecord) {
  ToyStore toy(events());
  const ToyTree tree(toy);
  const Names names = tree.names(".views/inside");
  ASSERT_EQ(names.size(), 12u);
  EXPECT_EQ(names[0], "000000000");
  EXPECT_EQ(names[11], "000000011");
  EXPECT_EQ(toy.watch->parts, 0u);
  EXPECT_EQ(toy.watch->decodes, 0u);
  for (const std::string& name : names) EXPECT_EQ(tree.status(kView + name).type, FileType::kDirectory);
  EXPECT_EQ(toy.watch->decodes, 0u);
}

TEST(InsideView, ShortNameOfARecordIsALinkToTheListedName) {
  ToyStore toy(events());
  const ToyTree tree(toy);
  EXPECT_EQ(tree.status(kView + "5").type, FileType::kLink);
  EXPECT_EQ(tree.status(kView + "5").size, 9u);
  EXPECT_EQ(tree.target(kView + "5"), "000000005");
  EXPECT_EQ(tree.target(kView + "0000000000005"), "000000005");
  for (const char* name : {"12", "000000012", "x", "-1", "18446744073709551616"}) {
    EXPECT_FALSE(tree.exists(kView + name)) << name;
  }
}

TEST(InsideView, PartsEqualThoseOfTheRecord) {
  ToyStore toy(events());
  const ToyTree tree(toy);
  const std::string top = kView + "000000004";
  EXPECT_EQ(tree.names(top), (Names{"tags", "types.tsv", "empty"}));
  EXPECT_EQ(tree.names(top + "/tags"), (Names{"one", "two", "nothing"}));
  EXPECT_EQ(tree.names(top + "/tags/one"), Names{"7"});
  EXPECT_EQ(tree.names(top + "/tags/nothing"), Names{});
  EXPECT_EQ(tree.read(top + "/tags/one/7"), "entry of 4");
  EXPECT_EQ(tree.read(top + "/tags/two/7"), "entry of 4");
  EXPECT_EQ(tree.read(top + "/types.tsv"), "id\tname\n");
  EXPECT_EQ(tree.read(top + "/empty"), "");
  for (const char* name :
       {"/x", "/7", "/one", "/names.tsv", "/tags/7", "/tags/one/7/x", "/types.tsv/x", "/tags/names.tsv"}) {
    EXPECT_FALSE(tree.exists(top + name)) << name;
  }
}

TEST(InsideView, SlicesAreNotCopied) {
  ToyStore toy(events());
  const ToyTree tree(toy);
  const auto part = tree->subtree(tree.find(kView + "000000002/tags/one/7").value())
                        .read({}, tree.find(kView + "000000002/tags/one/7").value(), 0, 100)
                        .value();
  const auto record =
      tree->subtree(tree.find("records/2").value()).read({}, tree.find("records/2").value(), 0, 1000).value();
  EXPECT_GE(part.bytes.data(), record.bytes.data());
  EXPECT_LE(part.bytes.data() + part.bytes.size(), record.bytes.data() + record.bytes.size());
}

TEST(InsideView, RecordIsParsedOnceForAllItsParts) {
  ToyStore toy(events());
  const ToyTree tree(toy);
  const std::string top = kView + "000000001";
  for (const char* name : {"", "/tags", "/tags/one", "/tags/two"}) tree.names(top + name);
  for (const char* name : {"/tags/one/7", "/tags/two/7", "/types.tsv"}) tree.read(top + name);
  EXPECT_EQ(toy.watch->parts, 1u);
}

TEST(InsideView, InvalidNamesAreReplacedAndListedInATable) {
  const std::string long_key(500, 'x');
  const Names keys = {"plain", "",     ".",         "..",     "a/b", std::string("\0\n", 2),
                      "same",  "same", "names.tsv", long_key, "ä"};
  const auto shape = [&](std::uint64_t) {
    auto parts = files(keys);
    parts.push_back({.key = "tidy"});
    for (const char* key : {"a", "b"}) parts.push_back({.key = key, .parent = keys.size(), .kind = PartKind::kText});
    return parts;
  };
  ToyStore toy({.parts = shape});
  const ToyTree tree(toy);
  const std::string top = kView + "000000000/";
  const Names names = tree.names(kView + "000000000");
  ASSERT_EQ(names.size(), keys.size() + 2);
  EXPECT_EQ(names.front(), "plain");
  EXPECT_EQ(names[4], "a%2Fb");
  EXPECT_EQ(names[6], "same");
  EXPECT_EQ(names[7].substr(0, 5), "same~");
  EXPECT_EQ(names.back(), "names.tsv");
  for (std::size_t i = 0; i < keys.size(); ++i) EXPECT_EQ(tree.read(top + names[i]), "of " + keys[i]) << i;
  const std::string table = tree.read(top + "names.tsv");
  EXPECT_TRUE(table.starts_with("name\tkey\n" + names[1] + "\t\n"));
  EXPECT_NE(table.find("\n" + names[7] + "\tsame\n"), std::string::npos);
  EXPECT_NE(table.find(long_key), std::string::npos);
  EXPECT_EQ(table.find("plain"), std::string::npos);
  EXPECT_EQ(tree.names(top + "tidy"), (Names{"a", "b"}));
}

TEST(InsideView, UnreadableRecordFailsWithItsError) {
  ToyStore toy({.parts = event, .broken_payloads = {1}, .unsupported = {2}, .unreadable_records = {1}});
  const ToyTree tree(toy);
  EXPECT_EQ(tree.names(".views/inside").size(), 12u);
  const auto emit = [](const MountEntry&) { return true; };
  for (const auto& [ordinal, code] : std::vector<std::pair<std::uint64_t, Code>>{
           {1, Code::kDamage}, {3, Code::kDamage}, {5, Code::kDamage}, {6, Code::kUnsupported}}) {
    const std::uint64_t number = tree.find(kView + record_name(ordinal)).value();
    EXPECT_EQ(tree.status(number).type, FileType::kDirectory);
    EXPECT_EQ(tree->subtree(number).list({}, number, 0, emit).error().code, code) << ordinal;
    EXPECT_EQ(tree->lookup({}, number, "tags").error().code, code) << ordinal;
  }
  EXPECT_EQ(tree.read(kView + "000000002/tags/one/7"), "entry of 2");
  EXPECT_EQ(toy.lines.all().size(), 3u);
}

TEST(InsideView, EachRecordWithUnreadablePartsIsLogged) {
  ToyStore toy({.parts = event, .broken_parts = {1, 2, 4}});
  const ToyTree tree(toy);
  for (int again = 0; again < 2; ++again) {
    for (const std::uint64_t ordinal : {1u, 2u, 4u}) {
      const auto looked = tree.find(kView + record_name(ordinal) + "/tags");
      EXPECT_EQ(looked.error().code, Code::kDamage);
      EXPECT_EQ(tree.read("records/" + record_name(ordinal)), "no parts");
    }
  }
  const Names lines = toy.lines.all();
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(lines[1],
            "toy: byte " + std::to_string(toy.file.begins[0]) + ": record 2 of the chunk: the parts do not add up");
}

TEST(InsideView, PartsBeyondTheLimitAreRefused) {
  ToyStore toy({});
  const toy::File file = toy::make_file({.parts = event});
  const auto source = toy::source_of(file.bytes);
  toy.store = std::make_shared<RecordStore>("toy", source, toy::open(source, Limits{.parts_per_record = 5}).value(),
                                            toy.services);
  const ToyTree tree(toy);
  EXPECT_EQ(tree.find(kView + "000000000/tags").error().code, Code::kLimit);
}

// A container with test-defined parts.
class Parted final : public ForwardingContainer {
 public:
  Parted(std::unique_ptr<Container> toy, Parts parts)
      : ForwardingContainer(std::move(toy)),
        schema_{.value = [parts = std::move(parts)](Bytes record, ValueForm) { return value_of(parts, record); },
                .parts = RecordSchema::Parts::kRequired} {}
  const RecordSchema& schema() const override { return schema_; }

 private:
  const RecordSchema schema_;
};

void give(ToyStore& toy, Parts parts) {
  toy.store = std::make_shared<RecordStore>(
      "toy", toy.source, std::make_unique<Parted>(toy::open(toy.source, Limits{}).value(), std::move(parts)),
      toy.services);
}

TEST(InsideView, SliceBeyondItsRecordFailsInsteadOfAShortRead) {
  ToyStore toy({});
  give(toy, {{.key = "x", .kind = PartKind::kSlice, .extent = {10, 1000}}});
  EXPECT_EQ(ToyTree(toy).read(kView + "000000000/x"), "error: changed");
}

TEST(InsideView, AHundredThousandPartsAreFoundQuickly) {
  Parts parts(100000, Part{.key = {}, .kind = PartKind::kText});
  for (std::size_t i = 0; i < parts.size(); ++i) parts[i].key = std::to_string(i * 7919 % parts.size());
  ToyStore toy({});
  give(toy, parts);
  const ToyTree tree(toy);
  const std::uint64_t top = tree.find(kView + "000000000").value();
  const Listing listing = tree.list(top);
  ASSERT_EQ(listing.size(), parts.size());
  for (const auto& [name, entry] : listing) ASSERT_EQ(tree.child(top, name).value(), entry.number);
}

TEST(InsideView, NumbersAreKeptUntilForgotten) {
  ToyStore toy(events());
  const ToyTree tree(toy);
  EXPECT_EQ(tree->known_insides(), 0u);
  const std::uint64_t tags = tree.find(kView + "000000001/tags").value();
  const std::uint64_t text = tree.find(kView + "000000001/types.tsv").value();
  EXPECT_EQ(tree.find(kView + "000000001/tags").value(), tags);
  EXPECT_EQ(tree->known_insides(), 1u);
  tree->forget(tags, 2);
  EXPECT_EQ(tree.read(text), "id\tname\n");
  tree->forget(text, 1);
  EXPECT_EQ(tree->known_insides(), 0u);
  EXPECT_EQ(tree->subtree(text).status({}, text).error().code, Code::kNotFound);
  EXPECT_EQ(tree->subtree(text).read({}, text, 0, 1).error().code, Code::kNotFound);
}

TEST(InsideView, ListingCountsAsALookupOnlyIfNumbersAreRequested) {
  ToyStore toy(events());
  const ToyTree tree(toy);
  const std::uint64_t top = tree.find(kView + "000000001").value();
  std::vector<std::uint64_t> given;
  ASSERT_TRUE(tree->subtree(top).list({}, top, 0, [](const MountEntry&) { return true; }));
  EXPECT_EQ(tree->known_insides(), 0u);
  const auto look_up = [&](const MountEntry& entry) {
    given.push_back(tree->look_up_and_reference(entry));
    return true;
  };
  ASSERT_TRUE(tree->subtree(top).list({}, top, 0, look_up));
  EXPECT_EQ(tree->known_insides(), 1u);
  for (const std::uint64_t number : given) {
    EXPECT_TRUE(tree->subtree(number).status({}, number));
    tree->forget(number, 1);
  }
  EXPECT_EQ(tree->known_insides(), 0u);
}

// Collects every path below a directory with its inode.
void gather(const ToyTree& tree, std::uint64_t directory, const std::string& path,
            std::map<std::string, std::uint64_t>& inodes) {
  for (const auto& [name, entry] : tree.list(directory)) {
    inodes[path + name] = entry.inode;
    if (entry.type == FileType::kDirectory) gather(tree, entry.number, path + name + "/", inodes);
  }
}

TEST(InsideView, InodesAreUniqueAndTheSameInEveryMount) {
  ToyStore first(events());
  ToyStore second(events());
  const ToyTree one({{"first", &first}, {"second", &second}});
  const ToyTree other({{"second", &second}, {"third", &first}, {"first", &first}});
  other.find("second/" + kView + "000000007/tags/one/7").value();
  std::set<std::uint64_t> all;
  std::size_t count = 0;
  for (const std::string& top : Names{"first/", "second/"}) {
    std::map<std::string, std::uint64_t> here;
    std::map<std::string, std::uint64_t> there;
    gather(one, one.find(top + ".views/inside").value(), top, here);
    gather(other, other.find(top + ".views/inside").value(), top, there);
    EXPECT_EQ(here, there);
    count += here.size();
    for (const auto& [path, inode] : here) all.insert(inode);
  }
  EXPECT_EQ(all.size(), count);
  EXPECT_EQ(count, 2u * 12 * 9);
  EXPECT_GT(*all.begin(), 1u);
}

TEST(InsideView, RecordsOfSeveralContainersAreDistinct) {
  ToyStore first(events());
  ToyStore second({.parts = [](std::uint64_t) { return files({"other"}); }});
  const ToyTree tree({{"first", &first}, {"second", &second}});
  EXPECT_EQ(tree.names("first/" + kView + "000000000"), (Names{"tags", "types.tsv", "empty"}));
  EXPECT_EQ(tree.names("second/" + kView + "000000000"), Names{"other"});
  EXPECT_EQ(tree.read("second/" + kView + "000000000/other"), "of other");
}

TEST(InsideView, WaitsOnlyUntilTheCatalogHasReachedIt) {
  Gate gate;  // outlives the scan
  ToyStore toy({.chunks = 6, .parts = event});
  toy.watch->on_scan = [&](Position begin) { gate.pass(begin); };
  gate.close_from(toy.file.begins[3]);
  const ToyTree tree(toy);
  const std::uint64_t view = tree.find(".views/inside").value();
  EXPECT_EQ(tree.list(view, 0, 9).size(), 9u);
  EXPECT_EQ(tree.read(kView + "000000008/tags/one/7"), "entry of 8");
  gate.wait_until_held();
  const auto listed = tree->subtree(view).list({}, view, 9, [](const MountEntry&) { return true; });
  ASSERT_EQ(listed.error().code, Code::kPending);
  EXPECT_EQ(listed.error().wait->value, 9u);
  EXPECT_EQ(tree->lookup({}, view, "000000009").error().code, Code::kPending);
  gate.open();
  EXPECT_EQ(tree.list(view).size(), 18u);
}

TEST(InsideView, ManyThreadsSeeTheSameAsOne) {
  ToyStore toy({.chunks = 60, .parts = event}, {.anchors = 2, .chunks_per_anchor = 2, .cached_chunks = 4}, 4000);
  const ToyTree tree(toy);
  std::vector<std::future<int>> wrong;
  for (std::size_t first = 0; first < 6; ++first) {
    wrong.push_back(std::async(std::launch::async, [&, first] {
      int count = 0;
      for (std::size_t i = first; i < 180; i += 5) {
        const std::uint64_t number = tree.find(kView + record_name(i) + "/tags/one").value();
        const std::uint64_t file = tree.child(number, "7").value();
        if (tree.read(file) != "entry of " + std::to_string(i)) ++count;
        tree->forget(file, 1);
        tree->forget(number, 1);
      }
      return count;
    }));
  }
  for (auto& count : wrong) EXPECT_EQ(count.get(), 0);
}

}  // namespace
}  // namespace recordfs::testing
