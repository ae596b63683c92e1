// A database in memory, mounted as its live state.
#include <algorithm>
#include <cerrno>
#include <map>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/unit/fusefs/tree/toy_tree.h"
#include "tests/unit/support/temp_folder.h"

namespace recordfs::testing {
namespace {

using database::Operation;
using database::Version;
using Names = std::vector<std::string>;

struct Write {
  Version version;
  std::string value;
  std::optional<Error> failure{};  // of reading the value
};
using KeyWrites = std::map<std::string, std::vector<Write>>;  // newest first

// The content of a database, which a test may change.
struct Content {
  std::vector<database::Family> families{{0, "default", "bytewise", true}};
  std::map<std::uint32_t, KeyWrites> writes;
  std::vector<database::Problem> problems;
  std::size_t steps = 0;  // of iterators
  std::size_t reads = 0;  // of values

  void put(const std::string& key, const std::string& value, std::uint32_t family = 0) {
    add(key, Operation::kPut, value, family);
  }
  void add(const std::string& key, Operation operation, const std::string& value = {}, std::uint32_t family = 0) {
    auto& of_key = writes[family][key];
    of_key.insert(of_key.begin(), {{.sequence = ++sequence, .operation = operation, .size = value.size()}, value});
  }
  std::uint64_t sequence = 0;
};

Slice slice_of(const std::string& text) {
  const auto copy = std::make_shared<const std::string>(text);
  return {as_bytes(*copy), copy};
}

Error missing() { return {.code = Code::kNotFound, .detail = "no such key"}; }

class FakeIterator final : public database::KeyIterator {
 public:
  FakeIterator(Content& content, const KeyWrites& writes, const database::KeyRange& range) : content_(content) {
    for (const auto& [key, of_key] : writes) {
      if (deletes(of_key.front().version.operation) || key < range.from || !key.starts_with(range.prefix)) continue;
      keys_.push_back(key);
    }
  }
  Result<bool> next(const RequestContext&) override {
    ++content_.steps;
    if (next_ == keys_.size()) return false;
    ++next_;
    return true;
  }
  Bytes key() const override { return as_bytes(keys_[next_ - 1]); }
  const Version& version() const override { return version_; }
  Result<Slice> value(const RequestContext&) const override { return missing(); }
  Result<std::vector<database::Column>> columns(const RequestContext&) const override { return missing(); }

 private:
  Content& content_;
  std::vector<std::string> keys_;
  std::size_t next_ = 0;
  Version version_;
};

class FakeDatabase final : public database::Database {
 public:
  explicit FakeDatabase(Content& content) : content_(content) {}

  database::Summary summary() const override { return {.engine = "LevelDB", .last_sequence = content_.sequence}; }
  std::vector<database::Family> families() const override { return content_.families; }
  std::vector<database::File> files() const override { return {}; }
  std::vector<database::Problem> problems() const override { return content_.problems; }

  Result<database::VersionedValue> get(const RequestContext&, std::uint32_t family, Bytes key,
                                       const database::Snapshot&) const override {
    const Write* newest = find(family, key);
    if (newest == nullptr || deletes(newest->version.operation)) return missing();
    if (newest->version.operation == Operation::kMerge) return Error{.code = Code::kUnsupported, .detail = "operand"};
    return value_of(*newest);
  }
  Result<std::vector<Version>> history(const RequestContext&, std::uint32_t family, Bytes key) const override {
    if (find(family, key) == nullptr) return missing();
    std::vector<Version> versions;
    for (const Write& write : content_.writes[family][std::string(as_text(key))]) versions.push_back(write.version);
    return versions;
  }
  Result<database::VersionedValue> version(const RequestContext&, std::uint32_t family, Bytes key,
                                           std::uint64_t sequence) const override {
    if (find(family, key) == nullptr) return missing();
    for (const Write& write : content_.writes[family][std::string(as_text(key))]) {
      if (write.version.sequence == sequence) return value_of(write);
    }
    return missing();
  }
  Result<std::vector<database::Column>> columns(const RequestContext&, std::uint32_t, Bytes,
                                                std::uint64_t) const override {
    return missing();
  }
  Result<std::vector<database::Column>> value_columns(const RequestContext&, std::uint32_t, Bytes,
                                                      const database::Snapshot&) const override {
    return missing();
  }
  Result<std::vector<database::VersionedValue>> operands(const RequestContext&, std::uint32_t, Bytes,
                                                         const database::Snapshot&) const override {
    return missing();
  }
  std::unique_ptr<database::KeyIterator> keys(std::uint32_t family, database::KeyRange range,
                                              const database::Snapshot&) const override {
    return std::make_unique<FakeIterator>(content_, content_.writes[family], range);
  }
  Result<void> open_tables(const RequestContext&, const ForEach&) const override { return {}; }
  Result<void> refresh(const RequestContext&) const override { return {}; }

 private:
  const Write* find(std::uint32_t family, Bytes key) const {
    const auto& writes = content_.writes[family];
    const auto found = writes.find(std::string(as_text(key)));
    return found == writes.end() || found->second.empty() ? nullptr : &found->second.front();
  }
  Result<database::VersionedValue> value_of(const Write& write) const {
    ++content_.reads;
    if (write.failure) return *write.failure;
    return database::VersionedValue{write.version, slice_of(write.value)};
  }

  Content& content_;
};

struct DatabaseTreeTest : ::testing::Test {
  DatabaseSource source() {
    return {.name = {},
            .files = {{}, RootedDir::open(folder.path()).value()},
            .database = std::make_shared<const FakeDatabase>(content),
            .ownership = {.uid = 7},
            .report = [this](const database::Problem& problem) { reported.push_back(problem.file); }};
  }
  void add_second_family() { content.families.push_back({1, "second/one", "bytewise", true}); }

  TempFolder folder;
  Content content;
  Names reported;
};

TEST_F(DatabaseTreeTest, RootListsTheStateAndTheFiles) {
  folder.write("CURRENT", "MANIFEST-000001\n");
  const ToyTree tree(source());
  EXPECT_EQ(tree.names(""), (Names{"info.json", "keys", "history", "files"}));
  EXPECT_EQ(nlohmann::json::parse(tree.read("info.json"))["engine"], "LevelDB");
  EXPECT_EQ(tree.read("files/CURRENT"), "MANIFEST-000001\n");
  EXPECT_EQ(tree.status("keys").ownership.uid, 7u);
  EXPECT_FALSE(tree.exists("records"));
}

TEST_F(DatabaseTreeTest, KeyHasItsNewestValue) {
  content.put("a", "old");
  content.put("a", "new");
  content.put("gone", "x");
  content.add("gone", Operation::kDelete);
  const ToyTree tree(source());
  EXPECT_EQ(tree.names("keys"), Names{"a"});
  EXPECT_EQ(tree.read("keys/a"), "new");
  EXPECT_EQ(tree.status("keys/a").size, 3u);
  EXPECT_FALSE(tree.exists("keys/gone"));
  EXPECT_EQ(tree.list(tree.find("keys").value()).front().second.inode, tree.status("keys/a").inode);
}

TEST_F(DatabaseTreeTest, FileKeepsTheVersionOfItsLookup) {
  content.put("a", "old");
  const ToyTree tree(source());
  const auto before = tree.find("keys/a").value();
  content.put("a", "newer");
  const auto after = tree.find("keys/a").value();
  EXPECT_NE(before, after);
  EXPECT_EQ(tree.status(before).size, 3u);
  EXPECT_EQ(tree.read(before), "old");
  EXPECT_EQ(tree.read(after), "newer");
  EXPECT_EQ(tree.status(before).inode, tree.status(after).inode);
}

TEST_F(DatabaseTreeTest, VersionThatIsNoLongerStoredIsStale) {
  content.put("a", std::string(20u << 20, 'x'));  // more than the cache keeps with another value
  content.put("b", std::string(20u << 20, 'x'));
  const ToyTree tree(source());
  const auto number = tree.find("keys/a").value();
  ASSERT_TRUE(tree.find("keys/b"));
  content.writes[0]["a"].clear();
  content.put("a", "newer");
  const auto read = tree->subtree(number).read({}, number, 0, 10);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().os_error, ESTALE);
}

TEST_F(DatabaseTreeTest, MergeOperandIsUnsupportedInKeysAndReadableInHistory) {
  content.put("a", "base");
  content.add("a", Operation::kMerge, "more");
  const ToyTree tree(source());
  EXPECT_EQ(tree.status("keys/a").size, 1u);
  EXPECT_EQ(tree.read("keys/a"), "error: " + std::string(to_string(Code::kUnsupported)));
  EXPECT_EQ(tree.names("history/a"), (Names{"2.merge", "1"}));
  EXPECT_EQ(tree.read("history/a/2.merge"), "more");
}

TEST_F(DatabaseTreeTest, LostValueIsDamage) {
  content.put("a", "x");
  content.writes[0]["a"].front().failure = missing();  // its blob file
  content.put("b", "x");
  content.writes[0]["b"].front().failure = Error{.code = Code::kDamage, .detail = "checksum"};
  const ToyTree tree(source());
  for (const std::string name : {"keys/a", "keys/b"}) {
    EXPECT_EQ(tree.status(name).size, 1u);
    EXPECT_EQ(tree.read(name), "error: " + std::string(to_string(Code::kDamage)));
  }
}

TEST_F(DatabaseTreeTest, HistoryListsVersionsAndNoKeys) {
  content.put("a", "one");
  content.add("a", Operation::kSingleDelete);
  content.add("a", Operation::kDeleteRange, "b");
  const ToyTree tree(source());
  EXPECT_TRUE(tree.names("history").empty());
  EXPECT_EQ(tree.names("history/a"), (Names{"3.delete_range", "2.single_delete", "1"}));
  EXPECT_EQ(tree.read("history/a/3.delete_range"), "b");
  EXPECT_EQ(tree.status("history/a/2.single_delete").size, 0u);
  EXPECT_EQ(tree.read("history/a/1"), "one");
  EXPECT_FALSE(tree.exists("history/a/2"));
  EXPECT_FALSE(tree.exists("history/b"));
}

TEST_F(DatabaseTreeTest, SeveralFamiliesHaveDirectories) {
  add_second_family();
  content.put("column-families", "of the default family");
  content.put("a", "second", 1);
  const ToyTree tree(source());
  const std::string taken = key_file_name("column-families", key_number(0, "column-families"));
  EXPECT_EQ(tree.names("keys"), (Names{"column-families", taken}));
  EXPECT_EQ(tree.read("keys/" + taken), "of the default family");
  EXPECT_EQ(tree.names("keys/column-families"), (Names{"default", "second%2Fone"}));
  EXPECT_EQ(tree.names("keys/column-families/default"), Names{taken});
  EXPECT_EQ(tree.read("keys/column-families/second%2Fone/a"), "second");
  EXPECT_EQ(tree.names("history"), Names{"column-families"});
  EXPECT_EQ(tree.read("history/column-families/second%2Fone/a/2"), "second");
  EXPECT_FALSE(tree.exists("keys/column-families/default/column-families"));
}

TEST_F(DatabaseTreeTest, ListingContinuesAtAnyPlaceWithoutTheKeysBefore) {
  Names keys;
  for (int i = 10000; i < 13000; ++i) keys.push_back("key" + std::to_string(i));
  for (const std::string& key : keys) content.put(key, key);
  const ToyTree tree(source());
  const auto directory = tree.find("keys").value();
  Names found;
  std::vector<std::uint64_t> places{0};
  while (found.size() < keys.size()) {
    for (const auto& [name, entry] : tree.list(directory, places.back(), 100)) {
      found.push_back(name);
      places.push_back(entry.next);
    }
  }
  EXPECT_EQ(found, keys);
  EXPECT_LE(content.steps, keys.size() + 100);
  content.steps = 0;
  for (const std::size_t at : {2900u, 100u, 1500u, 0u}) {
    EXPECT_EQ(tree.list(directory, places[at], 3).front().first, keys[at]);
  }
  EXPECT_LE(content.steps, 1000u);
}

TEST_F(DatabaseTreeTest, UnlistedLongNameIsFound) {
  const std::string common(3000, 'k');
  for (const std::string end : {"1", "2", "3"}) content.put(common + end, end);
  const ToyTree tree(source());
  for (const std::string end : {"3", "1"}) {
    const std::string key = common + end;
    EXPECT_EQ(tree.read("keys/" + key_file_name(key, key_number(0, key))), end);
  }
  EXPECT_FALSE(tree.exists("keys/" + key_file_name(common + "4", key_number(0, common + "4"))));
}

TEST_F(DatabaseTreeTest, NamesTableHasTheKeysThatDifferFromTheirNames) {
  add_second_family();
  const std::string long_key(3000, 'k');
  content.put("plain", "1");
  content.put("a/b", "2");
  content.put(long_key, "3");
  content.put("names.tsv", "4");
  const ToyTree tree(source());
  const auto name = [](const std::string& key) { return key_file_name(key, key_number(0, key)); };
  const std::string text = tree.read("keys/names.tsv");
  std::istringstream lines(text);
  Names rows;
  for (std::string line; std::getline(lines, line);) rows.push_back(line);
  EXPECT_EQ(rows.front(), "name\tkey");
  std::ranges::sort(rows);
  Names expected{"name\tkey", "a%2Fb\ta/b", name(long_key) + "\t" + long_key, name("names.tsv") + "\tnames.tsv"};
  std::ranges::sort(expected);
  EXPECT_EQ(rows, expected);
  EXPECT_EQ(tree.status("keys/names.tsv").size, text.size());
  EXPECT_FALSE(tree.exists("keys/column-families/second%2Fone/names.tsv"));
  EXPECT_FALSE(tree.exists("history/names.tsv"));
}

TEST_F(DatabaseTreeTest, ForgottenNodesNeedNoMemory) {
  content.put("a", "x");
  const ToyTree tree(source());
  const auto number = tree.find("keys/a").value();
  ASSERT_EQ(tree.find("keys/a").value(), number);
  EXPECT_EQ(tree->known_insides(), 1u);
  tree->forget(number, 1);
  EXPECT_EQ(tree->known_insides(), 1u);
  tree->forget(number, 1);
  EXPECT_EQ(tree->known_insides(), 0u);
  EXPECT_FALSE(tree->subtree(number).status({}, number));
}

TEST_F(DatabaseTreeTest, StaleValueIsReadableAndMarked) {
  content.put("a", "x");
  content.writes[0]["a"].front().version.may_be_stale = true;
  const ToyTree tree(source());
  content.problems.push_back({.file = "000005.ldb", .error = {.code = Code::kDamage, .detail = "checksum"}});
  EXPECT_EQ(tree.read("keys/a"), "x");
  const auto number = tree.find("keys/a").value();
  EXPECT_EQ(tree->subtree(number).extended_attribute({}, number, "user.recordfs.stale").value(), "1");
  EXPECT_EQ(tree->subtree(number).extended_attribute({}, number, "user.recordfs.sequence").value(), "1");
  EXPECT_EQ(reported, Names{"000005.ldb"});
  EXPECT_TRUE(nlohmann::json::parse(tree.read("info.json"))["may_be_stale"].get<bool>());
  EXPECT_EQ(reported, Names{"000005.ldb"});
}

TEST_F(DatabaseTreeTest, InvalidNumbersNameNothing) {
  const ToyTree tree(source());
  for (const std::uint64_t low :
       {std::uint64_t{0}, std::uint64_t{7} << 32, std::uint64_t{1} << 58, (std::uint64_t{1} << 59) - 1}) {
    const std::uint64_t number = std::uint64_t{28} << 59 | low;
    EXPECT_FALSE(tree->subtree(number).read({}, number, 0, 1)) << low;
    EXPECT_FALSE(tree->lookup({}, number, "nothing")) << low;
    tree->forget(number, 1);
  }
}

}  // namespace
}  // namespace recordfs::testing
