// What a lookup of one key reads, and that it finds what a pass over all keys finds.
#include <set>

#include "tests/unit/database/log_database.h"

namespace recordfs::database {
namespace {

// Overwrites a table with zeros.
void clear(const Copy& copy, const std::string& name) { copy.write(name, std::string(copy.read(name).size(), '\0')); }

TEST(LookupTest, TablesOfLevelDbAreNotReadIfTheLogsHaveNewerWrites) {
  const std::string value = get(*open_database(kCorpus + "leveldb-levels"), "key00000");
  const Copy copy("leveldb-levels");
  for (const char* const table : {"000005.ldb", "000007.ldb", "000010.ldb", "000013.ldb"}) clear(copy, table);
  const auto database = open_database(copy.folder());
  const auto found = database->get({}, 0, as_bytes("key00000"));
  ASSERT_TRUE(found);
  EXPECT_EQ(as_text(found->value.bytes), value);
  EXPECT_EQ(found->version.file, "000014.log");
  EXPECT_FALSE(found->version.may_be_stale);
  EXPECT_TRUE(database->problems().empty());
  EXPECT_EQ(get(*database, "key00005"), "damage");
  EXPECT_FALSE(database->problems().empty());
}

TEST(LookupTest, TablesOfRocksDbAreNotReadIfAllTheirWritesAreOlder) {
  const std::string value = get(*open_database(kCorpus + "rocksdb7-full-filter"), "key00005");
  const Copy copy("rocksdb7-full-filter");
  clear(copy, "000009.sst");
  const auto database = open_database(copy.folder());
  const auto found = database->get({}, 0, as_bytes("key00005"));
  ASSERT_TRUE(found);
  EXPECT_EQ(as_text(found->value.bytes), value);
  EXPECT_EQ(found->version.file, "000011.sst");
  EXPECT_FALSE(found->version.may_be_stale);
  EXPECT_TRUE(database->problems().empty());
  EXPECT_EQ(get(*database, "key00002"), "damage");
}

TEST(LookupTest, WritesBeforeMergeOperandsAreReadWhereverTheyAre) {
  const auto database = open_database(kCorpus + "rocksdb7-merge-operators");
  for (const Family& family : database->families()) {
    for (const ListedKey& key : list_keys(*database, family.id)) {
      EXPECT_EQ(get(*database, key.key, family.id), key.value) << family.name << ": " << key.key;
    }
  }
}

// Batches of all sizes up to 600 KB: several in a frame, and records longer than what is read at once.
Records batches() {
  Records batches;
  std::uint64_t sequence = 10;
  const auto long_field = [](std::size_t size) {
    return little_endian(0x808080 | (size & 0x7f) | (size >> 7 & 0x7f) << 8 | (size >> 14 & 0x7f) << 16, 3) +
           std::string(1, static_cast<char>(size >> 21)) + std::string(size, 'v');
  };
  for (int i = 0; i < 3000; ++i, sequence += 2) {
    const std::string key = "key" + std::to_string(i % 700);
    const std::size_t size = i % 1000 == 999 ? 600000 : static_cast<std::size_t>(i) * 37 % 900;
    batches.push_back(
        batch(sequence, 2, "\1"s + text_field(key) + long_field(size) + remove("key" + std::to_string(i))));
  }
  return batches;
}

// Returns what is found of each key, and the problems.
Records contents(const std::string& folder, const std::set<std::string, std::less<>>& only_keys) {
  Records lines;
  const auto database = open_database(folder, {.only_keys = only_keys});
  for (const std::string& key : only_keys) {
    const auto found = database->get({}, 0, as_bytes(key));
    lines.push_back(key + "=" +
                    (found ? std::to_string(found->value.bytes.size()) + "@" + std::to_string(found->version.sequence) +
                                 (found->version.may_be_stale ? " stale" : "")
                           : to_string(found.error())));
  }
  const Summary summary = database->summary();
  lines.push_back(std::to_string(summary.logged_writes) + " writes up to " + std::to_string(summary.last_sequence));
  for (const Problem& problem : database->problems()) lines.push_back(problem.file + ": " + to_string(problem.error));
  return lines;
}

TEST(LookupTest, IntactRecordsThatAreReadTogetherAreThoseOfALogThatIsScanned) {
  const LogDatabase database;
  const Records written = batches();
  database.write_log("000005.log", written);
  const Records together = database.read();
  EXPECT_EQ(together.size(), 700u);              // keys, and no problem
  database.write_log("000005.log", written, 5);  // recyclable fragments are scanned
  EXPECT_EQ(database.read(), together);
}

TEST(LookupTest, OneKeyIsFoundAsAmongAllKeys) {
  const LogDatabase database;
  const Records written = batches();
  leveldb_log::LogWriter log;
  for (const std::string& record : written) log.append(record);
  const std::string intact = log.log();
  std::set<std::string, std::less<>> all;
  for (int i = 0; i < 3100; ++i) all.insert("key" + std::to_string(i));
  const std::size_t places[] = {intact.size(), 20, 40000, 3 * 32768, 700000, intact.size() - 40};
  for (const std::size_t place : places) {
    std::string damaged = intact;
    if (place < damaged.size()) damaged[place] ^= 0x10;
    database.write("000005.log", damaged);
    database.write_log("000007.log", {batch(6010, 1, put("key3", "9"))});
    const Records expected = contents(database.folder(), all);
    EXPECT_EQ(expected.size() > all.size() + 1, place < intact.size());
    for (const char* const key : {"key3", "key699", "key2999", "key3050"}) {
      const Records one = contents(database.folder(), {key});
      EXPECT_EQ(one.front(), *std::ranges::find_if(expected, [&](const std::string& line) {
                  return line.starts_with(std::string(key) + "=");
                }));
      EXPECT_EQ(Records(one.begin() + 1, one.end()),
                Records(expected.begin() + static_cast<std::ptrdiff_t>(all.size()), expected.end()));
    }
  }
}

}  // namespace
}  // namespace recordfs::database
