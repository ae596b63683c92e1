// Databases that LevelDB and RocksDB wrote: recordfs returns what they return themselves.
#include <map>
#include <regex>

#include <nlohmann/json.hpp>

#include "tests/unit/database/reading.h"

namespace recordfs::database {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr std::string_view kSuffix = ".expect.json";

std::vector<std::string> samples() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(kCorpus)) {
    const std::string name = entry.path().filename().string();
    const bool is_readable = name.find("plain-table") == std::string::npos;
    if (name.ends_with(kSuffix) && is_readable) names.push_back(name.substr(0, name.size() - kSuffix.size()));
  }
  std::ranges::sort(names);
  return names;
}

std::string from_hex(const std::string& text) {
  std::string bytes;
  for (std::size_t i = 0; i < text.size(); i += 2)
    bytes += static_cast<char>(std::stoi(text.substr(i, 2), nullptr, 16));
  return bytes;
}

struct Expected {
  std::string key;
  std::uint64_t size;
  std::string beginning;
};

class DatabaseSampleTest : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    std::ifstream file(kCorpus + GetParam() + std::string(kSuffix));
    expectation_ = Json::parse(file);
    database_ = open_database(kCorpus + GetParam(), options());
    ASSERT_NE(database_, nullptr);
  }

  static std::vector<Expected> keys_of(const Json& family) {
    std::vector<Expected> keys;
    for (const Json& key : family["keys"]) {
      keys.push_back(
          {from_hex(key[0].get<std::string>()), key[1].get<std::uint64_t>(), from_hex(key[2].get<std::string>())});
    }
    return keys;
  }
  const Json& families() const { return expectation_["families"]; }
  // Names the other directories of the tables, which are in that of the sample.
  Options options() const {
    const auto paths = expectation_.find("db_paths");
    return paths == expectation_.end() ? Options{}
                                       : Options{.table_directories = paths->get<std::vector<std::string>>()};
  }
  const Database& database() const { return *database_; }
  bool is_ordered() const { return database().families().front().is_ordered; }

 private:
  Json expectation_;
  std::unique_ptr<const Database> database_;
};
INSTANTIATE_TEST_SUITE_P(Samples, DatabaseSampleTest, ::testing::ValuesIn(samples()),
                         [](const auto& sample) { return std::regex_replace(sample.param, std::regex("-"), "_"); });

// Returns whether recordfs lacks the merge operator that the value needs.
bool is_unmerged(const ListedKey& key) { return key.version.operation == Operation::kMerge && !key.is_readable; }

TEST_P(DatabaseSampleTest, FamiliesHaveTheirNames) {
  std::map<std::uint32_t, std::string> expected, found;
  for (const Json& family : families()) expected[family["id"].get<std::uint32_t>()] = family["name"];
  for (const Family& family : database().families()) found[family.id] = family.name;
  EXPECT_EQ(found, expected);
}

TEST_P(DatabaseSampleTest, IterationReturnsTheKeysOfTheDatabase) {
  for (const Json& family : families()) {
    auto expected = keys_of(family);
    auto found = list_keys(database(), family["id"].get<std::uint32_t>());
    if (!is_ordered()) {
      std::ranges::sort(expected, {}, &Expected::key);
      std::ranges::sort(found, {}, &ListedKey::key);
    }
    ASSERT_EQ(found.size(), expected.size()) << family["name"];
    for (std::size_t i = 0; i < found.size(); ++i) {
      EXPECT_EQ(found[i].key, expected[i].key);
      EXPECT_FALSE(found[i].version.may_be_stale);
      if (is_unmerged(found[i])) continue;
      EXPECT_EQ(found[i].value.size(), expected[i].size) << found[i].key;
      EXPECT_TRUE(found[i].value.starts_with(expected[i].beginning)) << found[i].key << ": " << found[i].value;
      EXPECT_EQ(found[i].version.size.value_or(expected[i].size), expected[i].size);
    }
  }
  EXPECT_TRUE(database().problems().empty()) << to_string(database().problems().front().error);
}

TEST_P(DatabaseSampleTest, EachKeyIsFoundByItself) {
  for (const Json& family : families()) {
    const auto id = family["id"].get<std::uint32_t>();
    for (int round = 0; round < 2; ++round) {  // the second round uses filters
      for (const Expected& key : keys_of(family)) {
        const auto found = database().get({}, id, as_bytes(key.key));
        if (!found && found.error().code == Code::kUnsupported) continue;
        ASSERT_TRUE(found) << key.key << ": " << to_string(found.error());
        EXPECT_EQ(found->value.bytes.size(), key.size);
        EXPECT_TRUE(as_text(found->value.bytes).starts_with(key.beginning));
      }
    }
  }
}

TEST_P(DatabaseSampleTest, KeysHaveTheSameVersionsIfOnlyTheyAreLookedUp) {
  for (const Json& family : families()) {
    const auto id = family["id"].get<std::uint32_t>();
    const auto keys = keys_of(family);
    for (std::size_t i = 0; i < keys.size(); i += keys.size() / 4 + 1) {
      Options only = options();
      only.only_keys = {keys[i].key, "absent"};
      const auto looked_up = open_database(kCorpus + GetParam(), only);
      ASSERT_NE(looked_up, nullptr);
      EXPECT_EQ(get(*looked_up, keys[i].key, id), get(database(), keys[i].key, id));
      EXPECT_EQ(get(*looked_up, "absent", id), to_string(Code::kNotFound));
      const auto expected = database().history({}, id, as_bytes(keys[i].key));
      const auto found = looked_up->history({}, id, as_bytes(keys[i].key));
      ASSERT_TRUE(expected && found);
      ASSERT_EQ(found->size(), expected->size());
      for (std::size_t n = 0; n < found->size(); ++n) {
        EXPECT_EQ((*found)[n].sequence, (*expected)[n].sequence);
        EXPECT_EQ((*found)[n].file, (*expected)[n].file);
      }
      EXPECT_EQ(looked_up->summary().last_sequence, database().summary().last_sequence);
      EXPECT_TRUE(looked_up->problems().empty());
    }
  }
}

TEST_P(DatabaseSampleTest, AbsentKeysAreNotFound) {
  for (const Json& family : families()) {
    for (const Expected& key : keys_of(family)) {
      const auto found = database().get({}, family["id"].get<std::uint32_t>(), as_bytes(key.key + "!"));
      ASSERT_FALSE(found);
      EXPECT_EQ(found.error().code, Code::kNotFound);
    }
  }
}

TEST_P(DatabaseSampleTest, IterationFromEachKeyBeginsThere) {
  if (!is_ordered()) return;
  const auto expected = keys_of(families().front());
  for (std::size_t i = 0; i < expected.size(); i += 7) {
    if (expected[i].key.empty()) continue;
    const auto found = list_keys(database(), 0, {.from = expected[i].key});
    ASSERT_EQ(found.size(), expected.size() - i);
    EXPECT_EQ(found.front().key, expected[i].key);
  }
}

TEST_P(DatabaseSampleTest, WithoutItsManifestTheDatabaseHasTheSameKeys) {
  const Copy copy(GetParam());
  copy.remove(database().summary().manifest);
  const auto recovered = open_database(copy.folder(), options());
  ASSERT_NE(recovered, nullptr);
  EXPECT_TRUE(recovered->summary().is_recovered());
  EXPECT_FALSE(recovered->problems().empty());
  // Only the MANIFEST shows that the tables of a write which was not finished do not count.
  if (GetParam().find("-killed-") != std::string::npos) return;
  // Only the MANIFEST shows where the deletions of ranges of a table end.
  if (GetParam() == "rocksdb7-range-deletion-cut") return;
  for (const Json& family : families()) {
    const auto id = family["id"].get<std::uint32_t>();
    auto expected = list_keys(database(), id);
    if (expected.empty()) continue;  // an empty family may be in the MANIFEST alone
    auto found = list_keys(*recovered, id);
    ASSERT_EQ(found.size(), expected.size()) << family["name"];
    std::ranges::sort(expected, {}, &ListedKey::key);
    std::ranges::sort(found, {}, &ListedKey::key);
    for (std::size_t i = 0; i < found.size(); ++i) EXPECT_EQ(found[i].key, expected[i].key);
    EXPECT_TRUE(std::ranges::all_of(found, [](const ListedKey& key) { return key.version.may_be_stale; }));
  }
}

TEST_P(DatabaseSampleTest, WithoutCurrentTheNewestManifestCounts) {
  const Copy copy(GetParam());
  copy.remove("CURRENT");
  const auto recovered = open_database(copy.folder(), options());
  ASSERT_NE(recovered, nullptr);
  EXPECT_EQ(recovered->summary().manifest, database().summary().manifest);
  ASSERT_FALSE(recovered->problems().empty());
  EXPECT_EQ(recovered->problems().front().file, "CURRENT");
  for (const Json& family : families()) {
    const auto id = family["id"].get<std::uint32_t>();
    const auto expected = list_keys(database(), id);
    const auto found = list_keys(*recovered, id);
    ASSERT_EQ(found.size(), expected.size()) << family["name"];
    for (std::size_t i = 0; i < found.size(); ++i) {
      EXPECT_EQ(found[i].key, expected[i].key);
      EXPECT_EQ(found[i].value, expected[i].value);
      EXPECT_EQ(found[i].version.may_be_stale, expected[i].version.may_be_stale);
    }
  }
}

}  // namespace
}  // namespace recordfs::database
