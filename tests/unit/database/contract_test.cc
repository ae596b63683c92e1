// What the contract of containers says of any file, for databases: repeated reads are equal, a cancelled call leaves no
// trace, and damage costs nothing that can be read.
#include <atomic>
#include <map>
#include <set>
#include <thread>

#include "tests/unit/database/reading.h"

namespace recordfs::database {
namespace {

constexpr std::ptrdiff_t kFlipsPerFile = 50;

const std::vector<std::string> kSmall{"leveldb-levels",       "leveldb-log-only",     "rocksdb7-blobs",
                                      "rocksdb7-families",    "rocksdb7-partitioned", "rocksdb7-range-deletions",
                                      "rocksdb7-transactions"};

// Everything that a database returns, as lines.
std::vector<std::string> content_of(const Database& database) {
  std::vector<std::string> lines;
  for (const Family& family : database.families()) {
    for (const ListedKey& key : list_keys(database, family.id)) {
      lines.push_back(family.name + "/" + key.key + " " + std::to_string(key.version.sequence) + " " + key.value);
      const auto history = database.history({}, family.id, as_bytes(key.key));
      EXPECT_TRUE(history) << key.key;
      for (const Version& version : history ? *history : std::vector<Version>()) {
        const auto stored = database.version({}, family.id, as_bytes(key.key), version.sequence);
        lines.push_back(std::string(to_string(version.operation)) + " " + std::to_string(version.sequence) + " " +
                        (stored ? std::string(as_text(stored->value.bytes)) : to_string(stored.error())));
      }
    }
  }
  return lines;
}

// The parameter is the name of a small sample.
class DatabaseContractTest : public ::testing::TestWithParam<std::string> {
 protected:
  std::string folder() const { return kCorpus + GetParam(); }
};
INSTANTIATE_TEST_SUITE_P(Samples, DatabaseContractTest, ::testing::ValuesIn(kSmall), [](const auto& sample) {
  std::string name = sample.param;
  std::ranges::replace(name, '-', '_');
  return name;
});

TEST_P(DatabaseContractTest, RepeatedReadsAreEqual) {
  const auto database = open_database(folder());
  const auto first = content_of(*database);
  EXPECT_FALSE(first.empty());
  EXPECT_EQ(content_of(*database), first);
  EXPECT_EQ(content_of(*open_database(folder())), first);
  EXPECT_EQ(content_of(*open_database(folder(), {.open_files = 1, .index_bytes = 0, .log_value_bytes = 0})), first);
}

TEST_P(DatabaseContractTest, EightThreadsReadTheSameAsOne) {
  const auto expected = content_of(*open_database(folder()));
  const auto database = open_database(folder());
  std::atomic<int> equal{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) threads.emplace_back([&] { equal += content_of(*database) == expected ? 1 : 0; });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(equal, 8);
}

TEST_P(DatabaseContractTest, CancelledCallsFailAndTheNextOnesSucceed) {
  const std::atomic<bool> cancelled{true};
  const RequestContext context(cancelled);
  const auto refused = Database::open(context, folder());
  EXPECT_TRUE(refused || refused.error().code == Code::kInterrupted);
  const auto database = open_database(folder());
  for (const Family& family : database->families()) {
    const auto expected = list_keys(*database, family.id);
    const auto keys = database->keys(family.id, {});
    std::vector<std::string> found;
    for (std::size_t i = 0; i <= expected.size(); ++i) {
      auto next = keys->next(context);
      ASSERT_TRUE(next || next.error().code == Code::kInterrupted) << to_string(next.error());
      if (!next) next = keys->next({});
      ASSERT_TRUE(next) << to_string(next.error());
      if (!*next) break;
      found.emplace_back(as_text(keys->key()));
      const auto value = database->get(context, family.id, keys->key());
      const bool may_fail =
          value || value.error().code == Code::kInterrupted || value.error().code == Code::kUnsupported;
      EXPECT_TRUE(may_fail) << to_string(value.error());
      const auto history = database->history(context, family.id, keys->key());
      EXPECT_TRUE(history || history.error().code == Code::kInterrupted);
    }
    ASSERT_EQ(found.size(), expected.size());
    for (std::size_t i = 0; i < found.size(); ++i) EXPECT_EQ(found[i], expected[i].key);
  }
  EXPECT_TRUE(database->problems().empty());
  EXPECT_EQ(content_of(*database), content_of(*open_database(folder())));
}

// Returns the values of all families, or the names of errors. Adds what may be stale or is unreadable to `marked`.
std::map<std::string, std::string> values_of(const Database& database, std::set<std::string>& marked) {
  std::map<std::string, std::string> values;
  for (const Family& family : database.families()) {
    for (const ListedKey& key : list_keys(database, family.id)) {
      const std::string name = std::to_string(family.id) + "/" + key.key;
      values[name] = key.value;
      if (key.version.may_be_stale || !key.is_readable) marked.insert(name);
    }
  }
  return values;
}

bool is_known(const Database& database, const std::string& name) {
  return std::ranges::any_of(database.families(),
                             [&](const Family& family) { return name.starts_with(std::to_string(family.id) + "/"); });
}

TEST_P(DatabaseContractTest, EachFlippedByteCostsNothingSilently) {
  std::set<std::string> unreadable;
  const auto intact = open_database(folder());
  const auto truth = values_of(*intact, unreadable);
  for (const File& file : intact->files()) {
    const std::string& name = file.name;
    const bool is_log = file.kind == FileKind::kLog;
    const auto size = file.kind == FileKind::kOther ? 0 : static_cast<std::ptrdiff_t>(file.size);
    for (std::ptrdiff_t at = 0; at < size; at += std::max<std::ptrdiff_t>(1, size / kFlipsPerFile)) {
      const Copy copy(GetParam());
      copy.flip(name, at);
      const auto opened = Database::open({}, copy.folder());
      if (!opened) {
        ADD_FAILURE() << name << " at " << at << ": " << to_string(opened.error());
        continue;
      }
      std::set<std::string> marked;
      const auto found = values_of(**opened, marked);
      const bool is_reported = !(*opened)->problems().empty();
      for (const auto& [key, value] : truth) {
        const auto same = found.find(key);
        const bool is_equal = same != found.end() && same->second == value;
        // The end of a log may be lost without a mark on older values, but not without a report.
        EXPECT_TRUE(is_equal || marked.contains(key) || (is_reported && (is_log || same == found.end())))
            << name << " at " << at << ": " << key << (same == found.end() ? " is missing" : " has another value");
      }
      for (const auto& [key, value] : found) {
        // Without the MANIFEST, the files of a family that was dropped count too.
        EXPECT_TRUE(truth.contains(key) || marked.contains(key) || (is_reported && (is_log || !is_known(*intact, key))))
            << name << " at " << at << ": " << key << " is not in the database";
      }
    }
  }
}

}  // namespace
}  // namespace recordfs::database
