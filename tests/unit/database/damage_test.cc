// Damaged databases: what is lost is reported, and what may be stale is marked.
#include <set>

#include "core/base/storage.h"
#include "core/database/table.h"
#include "tests/unit/database/reading.h"
#include "tests/unit/support/read_file.h"

namespace recordfs::database {
namespace {

bool has_problem(const Database& database, std::string_view file, Code code, bool loses_data = true) {
  const auto problems = database.problems();
  return std::ranges::any_of(problems, [&](const Problem& problem) {
    return problem.file == file && problem.error.code == code && problem.loses_data == loses_data;
  });
}

const ListedKey* find(const std::vector<ListedKey>& keys, std::string_view key) {
  const auto found = std::ranges::find(keys, key, &ListedKey::key);
  return found == keys.end() ? nullptr : &*found;
}

TEST(DatabaseDamageTest, DamagedManifestIsReportedAndAllTablesAreUsed) {
  const auto intact = open_database(kCorpus + "leveldb-levels");
  const Copy copy("leveldb-levels");
  copy.flip("MANIFEST-000012", 30);
  const auto database = open_database(copy.folder());
  EXPECT_TRUE(database->summary().is_recovered());
  EXPECT_TRUE(has_problem(*database, "MANIFEST-000012", Code::kDamage));
  EXPECT_EQ(list_keys(*database).size(), list_keys(*intact).size());
}

TEST(DatabaseDamageTest, TornEndOfTheManifestIsNoDamage) {
  const Copy copy("leveldb-levels");
  copy.write("MANIFEST-000012", copy.read("MANIFEST-000012") + std::string("\x12\x34\x56\x78\xff\x00\x01"
                                                                           "abc",
                                                                           10));
  const auto database = open_database(copy.folder());
  EXPECT_FALSE(database->summary().is_recovered());
}

TEST(DatabaseDamageTest, ManifestThatEndsBeforeAFamilyOfTheLogsHasLostEdits) {
  constexpr std::size_t kBeforeTheLastFamily = 164;
  const Copy copy("rocksdb7-families");
  copy.write("MANIFEST-000005", copy.read("MANIFEST-000005").substr(0, kBeforeTheLastFamily));
  const auto database = open_database(copy.folder());
  EXPECT_TRUE(database->summary().is_recovered());
  EXPECT_TRUE(has_problem(*database, "MANIFEST-000005", Code::kDamage));
}

TEST(DatabaseDamageTest, RocksDbManifestCutBeforeItsTablesHasLostEdits) {
  struct Cut {
    const char* sample;
    const char* manifest;
    std::size_t size;
  };
  constexpr Cut kCuts[] = {
      {"rocksdb7-format1-zstd", "MANIFEST-000005", 59},                    // between edits that LevelDB writes too
      {"rocksdb7-format1-zstd", "MANIFEST-000005", 131},                   // inside the edit that adds the first table
      {"rocksdb11-recycled-log-not-yet-written", "MANIFEST-000015", 282},  // between edits; the first log came later
  };
  for (const Cut& cut : kCuts) {
    const Copy copy(cut.sample);
    const auto intact = open_database(copy.folder());
    copy.write(cut.manifest, copy.read(cut.manifest).substr(0, cut.size));
    const auto database = open_database(copy.folder());
    EXPECT_TRUE(has_problem(*database, cut.manifest, Code::kDamage)) << cut.sample << " " << cut.size;
    EXPECT_EQ(list_keys(*database).size(), list_keys(*intact).size()) << cut.sample << " " << cut.size;
  }
}

TEST(DatabaseDamageTest, BlobFileThatIsTooShortForItsValuesIsReported) {
  const Copy copy("rocksdb11-entities-in-blob-files");
  copy.write("000010.blob", "");
  EXPECT_TRUE(has_problem(*open_database(copy.folder()), "000010.blob", Code::kDamage));
}

TEST(DatabaseDamageTest, TableInThePlaceOfAnotherOneIsDamaged) {
  for (const char* sample : {"leveldb-levels", "rocksdb7-partitioned", "rocksdb7-range-deletions-between",
                             "rocksdb7-external", "rocksdb11-timestamps-not-persisted", "rocksdb11-file-checksums"}) {
    const Copy copy(sample);
    std::vector<std::string> tables;
    const auto intact = open_database(copy.folder());
    for (const File& file : intact->files()) {
      if (file.kind == FileKind::kTable && file.state == File::State::kLive) tables.push_back(file.name);
    }
    EXPECT_TRUE(intact->open_tables({}, {}));
    EXPECT_TRUE(intact->problems().empty()) << sample;
    ASSERT_GT(tables.size(), 1u) << sample;
    copy.write(tables[0], copy.read(tables[1]));
    const auto database = open_database(copy.folder());
    EXPECT_TRUE(database->open_tables({}, {}));
    EXPECT_TRUE(has_problem(*database, tables[0], Code::kDamage)) << sample;
    EXPECT_EQ(database->problems().size(), 1u) << sample;
  }
}

TEST(DatabaseDamageTest, SwappedTablesCostNoKey) {
  for (const char* sample : {"leveldb-levels", "rocksdb11-file-checksums"}) {
    const Copy copy(sample);
    const auto intact = open_database(copy.folder());
    std::vector<std::string> tables;
    for (const File& file : intact->files()) {
      if (file.kind == FileKind::kTable && file.state == File::State::kLive) tables.push_back(file.name);
    }
    ASSERT_GT(tables.size(), 1u) << sample;
    const auto wanted = list_keys(*intact);
    const std::string first = copy.read(tables[0]);
    copy.write(tables[0], copy.read(tables[1]));
    copy.write(tables[1], first);
    const auto swapped = open_database(copy.folder());
    const auto keys = list_keys(*swapped);
    ASSERT_EQ(keys.size(), wanted.size()) << sample;
    for (std::size_t i = 0; i < keys.size(); ++i) {
      EXPECT_TRUE(keys[i].value == wanted[i].value && !keys[i].version.may_be_stale) << keys[i].key;
    }
    EXPECT_TRUE(has_problem(*swapped, tables[0], Code::kDamage)) << sample;
    EXPECT_TRUE(has_problem(*swapped, tables[1], Code::kDamage)) << sample;
  }
}

TEST(DatabaseDamageTest, UniqueIdentifierOfATableIsComparedInPlaceOfItsKeys) {
  const auto database = open_database(kCorpus + "rocksdb11-file-checksums");
  const auto files = database->files();
  const auto file = std::ranges::find(files, FileKind::kTable, &File::kind);
  ASSERT_NE(file, files.end());
  const auto source = open_source({}, kCorpus + "rocksdb11-file-checksums/" + file->name);
  ASSERT_TRUE(source);
  const auto table = Table::open({}, *source, {}, {});
  ASSERT_TRUE(table);
  auto id = unique_id_of((*table)->properties());
  ASSERT_TRUE(id);
  const std::string other_key(kTagSize, 'x');
  TableContext about{.expected = {.smallest = other_key, .largest = other_key, .unique_id = *id}};
  EXPECT_TRUE(Table::open({}, *source, about, {}));
  id->back() ^= 1;
  EXPECT_EQ(Table::open({}, *source, about, {}).error().code, Code::kDamage);
  about.expected = {.smallest = other_key, .largest = other_key};
  EXPECT_EQ(Table::open({}, *source, about, {}).error().code, Code::kDamage);
}

TEST(DatabaseDamageTest, TableMustHaveTheComparatorOfItsFamilyExceptForTimestamps) {
  const auto source = open_source({}, kCorpus + "rocksdb7-format1-zstd/000010.sst");
  ASSERT_TRUE(source);
  const auto opens = [&](std::string_view comparator) {
    return Table::open({}, *source, {.expected = {.comparator = comparator}}, {}).has_value();
  };
  EXPECT_TRUE(opens("leveldb.BytewiseComparator"));
  EXPECT_TRUE(opens("leveldb.BytewiseComparator.u64ts"));
  EXPECT_FALSE(opens("rocksdb.ReverseBytewiseComparator"));
}

TEST(DatabaseDamageTest, LogsMayHaveWritesOfADroppedFamily) {
  const auto database = open_database(kCorpus + "rocksdb7-families");
  EXPECT_FALSE(database->summary().is_recovered());
}

TEST(DatabaseDamageTest, ManifestThatIsNoLogIsReportedAndAllTablesAreUsed) {
  const auto intact = open_database(kCorpus + "leveldb-levels");
  const Copy copy("leveldb-levels");
  const std::string manifest = copy.read("MANIFEST-000012");
  for (const std::string& bytes : {manifest.substr(0, 20), std::string(manifest.size(), '\0'), std::string()}) {
    copy.write("MANIFEST-000012", bytes);
    const auto database = open_database(copy.folder());
    EXPECT_TRUE(database->summary().is_recovered());
    EXPECT_TRUE(has_problem(*database, "MANIFEST-000012", Code::kDamage));
    EXPECT_EQ(list_keys(*database).size(), list_keys(*intact).size());
  }
}

TEST(DatabaseDamageTest, LogWithoutAnIntactRecordIsReportedAndMarksAllValues) {
  const Copy copy("leveldb-levels");
  copy.write("000014.log", std::string(40000, 'x'));
  const auto database = open_database(copy.folder());
  EXPECT_TRUE(has_problem(*database, "000014.log", Code::kDamage));
  const auto keys = list_keys(*database);
  EXPECT_FALSE(keys.empty());
  EXPECT_TRUE(std::ranges::all_of(keys, [](const ListedKey& key) { return key.version.may_be_stale; }));
}

TEST(DatabaseDamageTest, DirectoryWithoutItsManifestIsStillADatabase) {
  const Copy copy("leveldb-levels");
  copy.remove("MANIFEST-000012");
  EXPECT_TRUE(is_database(copy.folder()).value());
  copy.remove("CURRENT");
  EXPECT_FALSE(is_database(copy.folder()).value());
  copy.write("OPTIONS-000007", "");
  EXPECT_TRUE(is_database(copy.folder()).value());
}

TEST(DatabaseDamageTest, DirectoryWithOptionsAloneIsADatabaseWithLogsElsewhere) {
  const Copy copy("leveldb-levels");
  std::filesystem::remove_all(copy.folder());
  std::filesystem::create_directory(copy.folder());
  copy.write("CURRENT", "MANIFEST-000005\n");
  EXPECT_FALSE(is_database(copy.folder()).value());
  copy.write("OPTIONS-000007", "[DBOptions]\n  wal_dir=/logs\n");
  EXPECT_TRUE(is_database(copy.folder()).value());
}

TEST(DatabaseDamageTest, LogBeforeOthersMayBeAbsentOnlyIfLogSaysThatGoleveldbRemovedIt) {
  const Copy copy("goleveldb-empty-log-removed");
  EXPECT_TRUE(open_database(copy.folder())->problems().empty());
  copy.remove("LOG");
  EXPECT_TRUE(has_problem(*open_database(copy.folder()), "000003.log", Code::kNotFound));
}

TEST(DatabaseDamageTest, MissingTableCostsItsKeysAndMarksOlderValues) {
  const auto intact = open_database(kCorpus + "leveldb-levels");
  const auto versions = intact->history({}, 0, as_bytes("key00012"));
  ASSERT_TRUE(versions);
  ASSERT_GT(versions->size(), 1u);
  const Copy copy("leveldb-levels");
  copy.remove(versions->front().file);
  const auto database = open_database(copy.folder());
  EXPECT_FALSE(database->summary().is_recovered());
  EXPECT_TRUE(has_problem(*database, versions->front().file, Code::kNotFound));
  const auto found = database->get({}, 0, as_bytes("key00012"));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->version.sequence, (*versions)[1].sequence);
  EXPECT_TRUE(found->version.may_be_stale);
  const auto keys = list_keys(*database);
  ASSERT_NE(find(keys, "key00012"), nullptr);
  EXPECT_TRUE(find(keys, "key00012")->version.may_be_stale);
}

TEST(DatabaseDamageTest, ValuesNewerThanALostTableAreNotMarked) {
  const Copy copy("leveldb-levels");
  const auto intact = open_database(copy.folder());
  const auto versions = intact->history({}, 0, as_bytes("key00000"));
  ASSERT_TRUE(versions);
  copy.remove(versions->back().file);
  const auto database = open_database(copy.folder());
  const auto found = database->get({}, 0, as_bytes("key00000"));
  ASSERT_TRUE(found);
  EXPECT_FALSE(found->version.may_be_stale);
}

TEST(DatabaseDamageTest, DamagedBlockCostsItsKeysOnly) {
  const Copy copy("leveldb-levels");
  copy.flip("000005.ldb", 20);
  const auto database = open_database(copy.folder());
  const auto keys = list_keys(*database);
  EXPECT_TRUE(has_problem(*database, "000005.ldb", Code::kDamage));
  const auto intact = list_keys(*open_database(kCorpus + "leveldb-levels"));
  EXPECT_LT(keys.size(), intact.size());
  EXPECT_GT(keys.size(), intact.size() / 4);
  EXPECT_NE(find(keys, "key00200"), nullptr);
}

TEST(DatabaseDamageTest, TableWithoutItsFooterIsReadByChecksums) {
  const Copy copy("leveldb-levels");
  std::string bytes = copy.read("000005.ldb");
  copy.write("000005.ldb", bytes.substr(0, bytes.size() - 40));
  const auto database = open_database(copy.folder());
  const auto intact = list_keys(*open_database(kCorpus + "leveldb-levels"));
  EXPECT_EQ(list_keys(*database).size(), intact.size());
  EXPECT_TRUE(has_problem(*database, "000005.ldb", Code::kDamage));
}

TEST(DatabaseDamageTest, DamagedBlockWithoutChecksumReturnsNoneOfItsKeys) {
  const testing::TempFolder folder;
  std::string table = testing::read_file("tests/corpus/leveldb_table/rocksdb-none.sst");
  const auto keys_of = [&](const std::string& name) {
    std::ofstream(folder.path() + "/" + name, std::ios::binary) << table;
    const auto opened = Database::open_file({}, folder.path() + "/" + name);
    EXPECT_TRUE(opened);
    const auto keys = list_keys(**opened);
    EXPECT_EQ((*opened)->problems().empty(), name == "1.sst");
    return keys;
  };
  const auto intact = keys_of("1.sst");
  std::ranges::fill(table.begin() + 20, table.begin() + 60, '\0');
  const auto damaged = keys_of("2.sst");
  EXPECT_LT(damaged.size(), intact.size());
  for (const ListedKey& key : damaged) {
    const ListedKey* const same = find(intact, key.key);
    EXPECT_TRUE(same != nullptr && same->value == key.value) << key.key;
  }
}

TEST(DatabaseDamageTest, DamagedRecordOfALogMarksOlderValuesOnly) {
  const Copy copy("leveldb-log-only");
  copy.flip("000003.log", 25);  // in the first record
  const auto database = open_database(copy.folder());
  EXPECT_TRUE(has_problem(*database, "000003.log", Code::kDamage));
  const auto later = database->get({}, 0, as_bytes("key00003"));
  ASSERT_TRUE(later);
  EXPECT_FALSE(later->version.may_be_stale);
}

TEST(DatabaseDamageTest, TornEndOfALogIsReportedAndCostsNothing) {
  const Copy copy("leveldb-log-only");
  const std::string bytes = copy.read("000003.log");
  copy.write("000003.log", bytes.substr(0, bytes.size() - 5));
  const auto database = open_database(copy.folder());
  EXPECT_TRUE(has_problem(*database, "000003.log", Code::kUnfinished, false));
  const auto found = database->get({}, 0, as_bytes("key00001"));
  ASSERT_TRUE(found);
  EXPECT_FALSE(found->version.may_be_stale);
}

TEST(DatabaseDamageTest, MissingLogMarksAllValues) {
  const Copy copy("leveldb-levels");
  copy.remove("000014.log");
  const auto database = open_database(copy.folder());
  EXPECT_TRUE(has_problem(*database, "000014.log", Code::kNotFound));
  for (const ListedKey& key : list_keys(*database)) EXPECT_TRUE(key.version.may_be_stale);
}

TEST(DatabaseDamageTest, RocksDbNeedsNotHaveTheLogThatItsManifestNames) {
  const Copy copy("leveldb-log-only");
  for (const auto& file : open_database(copy.folder())->files()) {
    if (file.kind == FileKind::kLog) copy.remove(file.name);
  }
  EXPECT_FALSE(open_database(copy.folder())->problems().empty());
  copy.write("OPTIONS-000007", "");
  const auto problems = open_database(copy.folder())->problems();
  EXPECT_TRUE(std::ranges::none_of(problems, &Problem::loses_data));
}

TEST(DatabaseDamageTest, MissingBlobFileCostsItsValues) {
  const Copy copy("rocksdb7-blobs");
  for (const auto& entry : std::filesystem::directory_iterator(copy.folder())) {
    if (entry.path().extension() == ".blob") std::filesystem::remove(entry.path());
  }
  const auto database = open_database(copy.folder());
  EXPECT_EQ(get(*database, "key00000"), to_string(Code::kDamage));
  EXPECT_EQ(get(*database, "key00025"), "value 25 of version 1");
}

TEST(DatabaseDamageTest, DamagedRecordOfABlobFileCostsItsValue) {
  for (const char* const name : {"rocksdb7-blobs", "rocksdb7-blobs-zstd"}) {
    const Copy copy(name);
    const std::string intact = copy.read("000010.blob");
    const std::size_t key = intact.find("key00015");
    for (const std::size_t at : {key - 32, key - 8, key - 1, key, key + 8}) {
      std::string damaged = intact;
      damaged[at] = static_cast<char>(damaged[at] ^ 0x11);
      copy.write("000010.blob", damaged);
      const auto database = open_database(copy.folder());
      EXPECT_EQ(get(*database, "key00015"), to_string(Code::kDamage)) << at;
      EXPECT_EQ(get(*database, "key00016"), "value 16 of version 1" + std::string(60, 'x')) << at;
    }
  }
}

// Each byte of the MANIFEST: no crash, and no key that was never there.
TEST(DatabaseDamageTest, EachFlippedByteOfTheManifestGivesKeysOfTheDatabase) {
  const auto intact = list_keys(*open_database(kCorpus + "leveldb-levels"));
  const Copy copy("leveldb-levels");
  const std::string manifest = copy.read("MANIFEST-000012");
  for (std::size_t at = 0; at < manifest.size(); ++at) {
    std::string damaged = manifest;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x11);
    copy.write("MANIFEST-000012", damaged);
    const auto database = open_database(copy.folder());
    ASSERT_NE(database, nullptr);
    EXPECT_EQ(list_keys(*database).size(), intact.size()) << at;
  }
}

// A MANIFEST may be cut anywhere, because its end may have been lost: no value is lost, or old without a mark. `but`:
// cuts between the edits before that of an ingested table, after which the database looks as if it was killed.
void check_each_cut(const std::string& sample, const std::string& manifest, const std::set<std::size_t>& but = {}) {
  const auto intact = list_keys(*open_database(kCorpus + sample));
  const Copy copy(sample);
  const std::string whole = copy.read(manifest);
  for (std::size_t size = 0; size < whole.size(); ++size) {
    if (but.contains(size)) continue;
    copy.write(manifest, whole.substr(0, size));
    const auto database = open_database(copy.folder());
    ASSERT_NE(database, nullptr);
    const auto keys = list_keys(*database);
    for (const ListedKey& wanted : intact) {
      const ListedKey* const found = find(keys, wanted.key);
      ASSERT_NE(found, nullptr) << sample << " cut to " << size << ": " << wanted.key;
      EXPECT_TRUE(found->value == wanted.value || found->version.may_be_stale) << sample << " " << size << wanted.key;
    }
    EXPECT_EQ(keys.size(), intact.size()) << sample << " cut to " << size;
  }
}

TEST(DatabaseDamageTest, ManifestThatLostItsLastEditsCostsNoValue) {
  check_each_cut("leveldb-levels", "MANIFEST-000012");
  check_each_cut("rocksdb7-families", "MANIFEST-000005");
  check_each_cut("rocksdb7-blobs", "MANIFEST-000005");
  check_each_cut("rocksdb7-external", "MANIFEST-000005");
  check_each_cut("rocksdb7-external-range-deletion", "MANIFEST-000005", {159, 174, 187});
}

// Cuts a log into one file for each of its first `files` - 1 records, and one for the others.
void split_log(const Copy& copy, std::uint64_t number, std::size_t files) {
  const auto name = [&](std::uint64_t of) { return "00000" + std::to_string(of) + ".log"; };
  std::string left = copy.read(name(number));
  for (; files > 0; --files, ++number) {
    constexpr std::size_t kHeader = 7;  // whose bytes 4 and 5 are the size of what follows
    const std::size_t size = static_cast<unsigned char>(left[4]) + 256u * static_cast<unsigned char>(left[5]);
    const std::size_t end = files == 1 ? left.size() : kHeader + size;
    copy.write(name(number), left.substr(0, end));
    left.erase(0, end);
  }
}

TEST(DatabaseDamageTest, LostSecondLogMarksOlderValues) {
  const auto intact = list_keys(*open_database(kCorpus + "leveldb-log-only"));
  const Copy copy("leveldb-log-only");
  split_log(copy, 3, 4);
  const auto split = open_database(copy.folder());
  EXPECT_TRUE(split->problems().empty());
  EXPECT_EQ(list_keys(*split).size(), intact.size());
  copy.remove("000004.log");
  const auto database = open_database(copy.folder());
  EXPECT_TRUE(has_problem(*database, "000005.log", Code::kDamage));
  for (const ListedKey& key : list_keys(*database)) {
    const bool is_before = key.version.file == "000003.log";
    EXPECT_EQ(key.version.may_be_stale, is_before) << key.key << " of " << key.version.file;
  }
}

// Nothing else shows damage to such a block in a table without checksums.
TEST(DatabaseDamageTest, InvalidDeletionsOfRangesAreDamage) {
  const Copy copy("rocksdb7-no-checksums");
  const std::string table = copy.read("000011.sst");
  const std::size_t key = table.find("key00001\x0f");
  const std::size_t count = table.find("range-deletions\1");
  ASSERT_TRUE(key != std::string::npos && count != std::string::npos);
  EXPECT_EQ(get(*open_database(copy.folder()), "key00005"), to_string(Code::kNotFound));
  const auto expect_damage = [&](std::string changed, std::size_t at, char byte) {
    changed[at] = byte;
    copy.write("000011.sst", changed);
    const auto database = open_database(copy.folder());
    for (const ListedKey& listed : list_keys(*database)) {
      EXPECT_TRUE(listed.version.may_be_stale || listed.key >= "key00008") << listed.key;
    }
    EXPECT_EQ(get(*database, "key00003"), to_string(Code::kDamage)) << at;
    EXPECT_FALSE(database->problems().empty());
  };
  expect_damage(table, count + 15, '\2');
  std::string uncounted = table;
  uncounted[count] = 'R';                    // another property
  expect_damage(uncounted, key - 3, '\5');   // bytes that are shared with the key before it: there is none
  expect_damage(uncounted, key + 28, '\0');  // the number of restart points
  uncounted[key - 1] = 17;                   // the value has the rest
  expect_damage(uncounted, key - 2, '\7');   // the size of the key: there is no tag
}

}  // namespace
}  // namespace recordfs::database
