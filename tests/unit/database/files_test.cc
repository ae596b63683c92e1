// Logs and tables that are read together without their MANIFEST.
#include "tests/unit/database/reading.h"
#include "tests/unit/formats/leveldb_table/table_writer.h"

namespace recordfs::database {
namespace {

const std::vector<std::string> kTables = {"000005.ldb", "000007.ldb", "000010.ldb", "000013.ldb"};

void expect_same_keys(const Database& found, const Database& wanted) {
  const auto keys = list_keys(found);
  const auto wanted_keys = list_keys(wanted);
  ASSERT_EQ(keys.size(), wanted_keys.size());
  for (std::size_t i = 0; i < keys.size(); ++i) {
    EXPECT_EQ(keys[i].key, wanted_keys[i].key);
    EXPECT_EQ(keys[i].value, wanted_keys[i].value);
    EXPECT_EQ(keys[i].version.sequence, wanted_keys[i].version.sequence);
  }
}

TEST(DatabaseFilesTest, AllTablesAndLogsTogetherAreTheDatabase) {
  const std::string folder = kCorpus + "leveldb-levels";
  std::vector<std::string> names = kTables;
  names.emplace_back("000014.log");
  const auto files = Database::open_files({}, folder, names);
  ASSERT_TRUE(files) << to_string(files.error());
  expect_same_keys(**files, *open_database(folder));
}

TEST(DatabaseFilesTest, FilesMayHaveAnyNamesInSeveralFolders) {
  const Copy copy("leveldb-levels");
  std::vector<std::string> names;
  for (const std::string& table : kTables) {
    names.push_back("table-" + table + "/data");
    std::filesystem::create_directory(copy.path("table-" + table));
    std::filesystem::rename(copy.path(table), copy.path(names.back()));
  }
  names.emplace_back("000014.log");
  const auto files = Database::open_files({}, copy.folder(), names);
  ASSERT_TRUE(files) << to_string(files.error());
  expect_same_keys(**files, *open_database(kCorpus + "leveldb-levels"));
}

TEST(DatabaseFilesTest, KeysOfOtherFilesOfTheFolderAreAbsent) {
  const auto files = Database::open_files({}, kCorpus + "leveldb-levels", {"000013.ldb"});
  const auto file = Database::open_file({}, kCorpus + "leveldb-levels/000013.ldb");
  ASSERT_TRUE(files && file);
  expect_same_keys(**files, **file);
  EXPECT_LT(list_keys(**files).size(), list_keys(*open_database(kCorpus + "leveldb-levels")).size());
}

TEST(DatabaseFilesTest, OperandsThatMayBeCountedTwiceAreUnsupported) {
  // Returns the keys whose values may have operands twice.
  const auto doubtful = [](const std::vector<std::string>& tables) {
    const auto files = Database::open_files({}, kCorpus + "rocksdb7-merged-tables-not-yet-removed", tables);
    EXPECT_TRUE(files);
    std::string found;
    const auto keys = (*files)->keys(0, {});
    while (keys->next({}).value()) {
      const auto note = [&](const auto& read) {
        const bool is_doubtful = !read && read.error().code == Code::kUnsupported &&
                                 read.error().detail.find("counted twice") != std::string::npos;
        if (is_doubtful) found += as_text(keys->key());
      };
      note(keys->value({}));
      note((*files)->get({}, 0, keys->key()));
    }
    return found;
  };
  EXPECT_EQ(doubtful({"000013.sst"}), "");
  EXPECT_EQ(doubtful({"000009.sst", "000011.sst"}), "");
  // The last table has the results of the others.
  EXPECT_EQ(doubtful({"000009.sst", "000011.sst", "000013.sst", "000020.sst"}), "aabbdd");
}

const std::string kTableCorpus = "tests/corpus/leveldb_table/";

std::unique_ptr<const Database> open_alone(const std::string& path) {
  auto file = Database::open_file({}, path);
  EXPECT_TRUE(file) << path << ": " << (file ? "" : to_string(file.error()));
  return file ? std::move(*file) : nullptr;
}

TEST(DatabaseFilesTest, TableWrittenWithoutADatabaseHasItsKeysUnchanged) {
  for (const char* name : {"short-keys.sst", "number-keys.sst"}) {
    const auto file = open_alone(kTableCorpus + name);
    const auto keys = list_keys(*file);
    EXPECT_EQ(keys.size(), 30u) << name;
    for (const ListedKey& key : keys) {
      EXPECT_EQ(key.version.operation, Operation::kPut);
      EXPECT_EQ(get(*file, key.key), key.value) << name;
    }
    EXPECT_EQ(get(*file, "another"), to_string(Code::kNotFound));
  }
}

TEST(DatabaseFilesTest, UnorderedTableIsSearchedWholly) {
  const auto file = open_alone(kTableCorpus + "unordered.ldb");
  EXPECT_FALSE(file->families().front().is_ordered);
  const auto keys = list_keys(*file);
  ASSERT_FALSE(keys.empty());
  for (const ListedKey& key : keys) EXPECT_EQ(get(*file, key.key), key.value) << key.key;
}

TEST(DatabaseFilesTest, BlobFileAloneHasItsKeys) {
  const auto intact = open_database(kCorpus + "rocksdb7-blobs");
  std::size_t files = 0;
  for (const File& blobs : intact->files()) {
    if (blobs.kind != FileKind::kBlob) continue;
    ++files;
    const auto file = open_alone(kCorpus + "rocksdb7-blobs/" + blobs.name);
    const auto keys = list_keys(*file);
    ASSERT_FALSE(keys.empty());
    EXPECT_TRUE(file->problems().empty());
    for (const ListedKey& key : keys) {
      EXPECT_TRUE(key.is_readable) << key.value;
      EXPECT_EQ(get(*file, key.key), key.value);
    }
  }
  EXPECT_GT(files, 0u);
}

TEST(DatabaseFilesTest, OfSeveralBlobFilesTheLastNameCounts) {
  const std::string folder = kCorpus + "rocksdb7-blobs";
  const std::string newest = get(*open_alone(folder + "/000013.blob"), "key00002");
  ASSERT_NE(newest, get(*open_alone(folder + "/000010.blob"), "key00002"));
  for (const std::vector<std::string>& names : {std::vector<std::string>{"000010.blob", "000013.blob"},
                                                std::vector<std::string>{"000013.blob", "000010.blob"}}) {
    const auto files = Database::open_files({}, folder, names);
    ASSERT_TRUE(files) << to_string(files.error());
    EXPECT_EQ(get(**files, "key00002"), newest);
    const auto history = (*files)->history({}, 0, as_bytes("key00002"));
    ASSERT_TRUE(history);
    EXPECT_EQ(history->front().file, "000013.blob");
  }
}

TEST(DatabaseFilesTest, DeletionsThatMayEndBeforeKeysOfOtherTablesAreReported) {
  const std::string sample = kCorpus + "rocksdb7-range-deletion-cut";
  std::vector<std::string> tables;
  for (const File& file : open_database(sample)->files()) {
    if (file.kind == FileKind::kTable) tables.push_back(file.name);
  }
  const auto files = Database::open_files({}, sample, tables);
  ASSERT_TRUE(files) << to_string(files.error());
  ASSERT_EQ((*files)->problems().size(), 1u);
  EXPECT_EQ((*files)->problems()[0].error.code, Code::kUnsupported);
  EXPECT_EQ((*files)->problems()[0].error.detail,
            "without the MANIFEST, its deletions of key ranges may hide newer keys of other tables");
  std::size_t hidden = 0;
  for (const ListedKey& key : list_keys(*open_database(sample))) {
    const std::string value = get(**files, key.key);
    EXPECT_TRUE(value == key.value || value == to_string(Code::kUnsupported)) << key.key << ": " << value;
    hidden += value == key.value ? 0 : 1;
  }
  EXPECT_GT(hidden, 0u);
  EXPECT_EQ(get(**files, "later"), to_string(Code::kNotFound));
  EXPECT_TRUE(open_alone(sample + "/" + (*files)->problems()[0].file)->problems().empty());
}

TEST(DatabaseFilesTest, DeletionsInReverseOrderHideKeysOfOtherTables) {
  const std::string sample = kCorpus + "rocksdb7-reverse-range-deletion";
  const auto files = Database::open_files({}, sample, {"000009.sst", "000011.sst"});
  ASSERT_TRUE(files) << to_string(files.error());
  std::vector<std::string> found, wanted;
  for (const ListedKey& key : list_keys(**files)) found.push_back(key.key);
  for (const ListedKey& key : list_keys(*open_database(sample))) wanted.push_back(key.key);
  EXPECT_EQ(found, wanted);
  EXPECT_EQ(get(**files, "key00005"), to_string(Code::kUnsupported));
  EXPECT_EQ(get(**files, "key00008"), get(*open_database(sample), "key00008"));
}

TEST(DatabaseFilesTest, TableOfAnotherFamilyAloneHasOnlyThatFamily) {
  const auto intact = open_database(kCorpus + "rocksdb7-families");
  std::size_t tables = 0;
  for (const File& table : intact->files()) {
    if (table.kind != FileKind::kTable || table.state != File::State::kLive || table.family == 0) continue;
    ++tables;
    const auto file = open_alone(kCorpus + "rocksdb7-families/" + table.name);
    const auto families = file->families();
    ASSERT_EQ(families.size(), 1u);
    EXPECT_EQ(families.front().id, table.family);
    EXPECT_FALSE(families.front().name.empty());
    EXPECT_FALSE(list_keys(*file, table.family).empty());
  }
  EXPECT_GT(tables, 0u);
}

TEST(DatabaseFilesTest, FileOfAnotherKindIsNamed) {
  const auto files = Database::open_files({}, kCorpus + "leveldb-levels", {"000013.ldb", "CURRENT"});
  ASSERT_FALSE(files);
  EXPECT_EQ(files.error().code, Code::kNoContainer);
  EXPECT_TRUE(files.error().detail.starts_with("CURRENT: ")) << files.error().detail;
}

TEST(DatabaseFilesTest, TablesThatAreNotBlockBasedAreNamedWithTheirReader) {
  const auto file = Database::open_file({}, kCorpus + "rocksdb7-plain-table/000009.sst");
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().code, Code::kUnsupported);
  EXPECT_TRUE(file.error().detail.starts_with("plain table of RocksDB, which recordfs does not read (try: sst_dump"))
      << file.error().detail;
  const Copy copy("leveldb-levels");
  copy.write("pebble.sst", std::string(100, 'x') + "\xf0\x9f\xaa\xb3\xf0\x9f\xaa\xb3");
  const auto pebble = Database::open_file({}, copy.path("pebble.sst"));
  ASSERT_FALSE(pebble);
  EXPECT_EQ(pebble.error().code, Code::kUnsupported);
  EXPECT_TRUE(pebble.error().detail.starts_with("table in a format of Pebble's own")) << pebble.error().detail;
}

TEST(DatabaseFilesTest, BackupDirectoryIsNamed) {
  const testing::TempFolder folder;
  for (const char* name : {"/meta", "/private/1", "/shared_checksum"}) {
    std::filesystem::create_directories(folder.path() + name);
  }
  for (const char* name : {"", "/private/1"}) {
    const auto opened = Database::open({}, folder.path() + name);
    ASSERT_FALSE(opened);
    EXPECT_NE(opened.error().detail.find("ldb restore --backup_dir=" + folder.path()), std::string::npos)
        << opened.error().detail;
  }
}

// A table of many blocks, whose key i has three versions. One key has more versions than fit a block.
std::string table_with_versions(bool is_bytewise) {
  leveldb_table::TableWriter table;
  leveldb_table::Entries block;
  std::uint64_t sequence = 1'000'000;
  for (int i = 0; i < 200; ++i) {
    std::string key = std::to_string(1000 + i);
    if (!is_bytewise && i % 10 < 2) std::swap(key[3], key[2]);
    for (int version = 0; version < (i == 100 ? 50 : 3); ++version) {
      block.emplace_back(leveldb_table::internal_key(key, sequence--, 1), key + "-" + std::to_string(version));
      if (block.size() == 7) table.add(std::exchange(block, {}));
    }
  }
  if (!block.empty()) table.add(block);
  return table.finish();
}

TEST(DatabaseFilesTest, NewestVersionOfAKeyIsFoundInEachTable) {
  const testing::TempFolder folder;
  for (const bool is_bytewise : {true, false}) {
    const std::string path = folder.path() + "/000005.ldb";
    std::ofstream(path, std::ios::binary) << table_with_versions(is_bytewise);
    const auto file = open_alone(path);
    const auto keys = list_keys(*file);
    ASSERT_GE(keys.size(), 100u);
    for (const ListedKey& key : keys) {
      EXPECT_EQ(get(*file, key.key), key.key + "-0");
      const std::size_t versions = key.key == "1100" ? 50 : 3;
      if (!is_bytewise) continue;
      EXPECT_EQ(file->history({}, 0, as_bytes(key.key))->size(), versions) << key.key;
    }
    EXPECT_EQ(get(*file, "10001"), to_string(Code::kNotFound));
  }
}

// Counts bytes that are read.
class CountingSource final : public ForwardingSource {
 public:
  explicit CountingSource(std::shared_ptr<const Source> below) : ForwardingSource(std::move(below)) {}
  // So that opening does not read all keys to see their order.
  std::uint64_t filesystem() const override { return 1; }
  Result<std::size_t> read_at(const RequestContext& context, Position at, MutableBytes out) const override {
    bytes_ += out.size();
    return below().read_at(context, at, out);
  }
  std::uint64_t bytes() const { return bytes_; }

 private:
  mutable std::uint64_t bytes_ = 0;
};

TEST(DatabaseFilesTest, KeyOfALargeTableIsFoundWithoutReadingTheOtherBlocks) {
  leveldb_table::TableWriter table;
  for (int block = 1000; block < 3000; ++block) {
    leveldb_table::Entries entries;
    for (int i = 10; i < 30; ++i) {
      const std::string key = std::to_string(block) + std::to_string(i);
      entries.emplace_back(leveldb_table::internal_key(key, 5, 1), std::string(200, 'v') + key);
    }
    table.add(entries);
  }
  const std::string bytes = table.finish();
  const auto source =
      std::make_shared<CountingSource>(std::make_shared<MemorySource>(Buffer::copy_of({}, as_bytes(bytes)).value()));
  auto opened = Database::open_source({}, source, "000005.ldb", {});
  ASSERT_TRUE(opened);
  const std::uint64_t before = source->bytes();
  EXPECT_EQ(get(**opened, "250015"), std::string(200, 'v') + "250015");
  EXPECT_EQ(get(**opened, "250010"), std::string(200, 'v') + "250010") << "the first of its block";
  EXPECT_LT(source->bytes() - before, bytes.size() / 20);
  EXPECT_EQ(get(**opened, "2500155"), to_string(Code::kNotFound));
  EXPECT_GT(source->bytes() - before, bytes.size()) << "the order of the keys is not proved";
}

// Every key of the intact table has its value in the damaged one, or may have been lost.
void expect_no_key_is_missing(const std::string& damaged) {
  const auto intact = open_alone(kCorpus + "leveldb-levels/000005.ldb");
  const auto file = open_alone(damaged);
  for (const ListedKey& key : list_keys(*intact)) {
    const std::string value = get(*file, key.key);
    EXPECT_TRUE(value == key.value || value == to_string(Code::kDamage)) << key.key << ": " << value;
  }
  EXPECT_EQ(get(*file, list_keys(*intact).front().key), to_string(Code::kDamage));
  list_keys(*file);
  EXPECT_FALSE(file->problems().empty());
}

TEST(DatabaseFilesTest, KeysOfADamagedFirstBlockOfATableAreReportedAsLost) {
  const Copy copy("leveldb-levels");
  copy.flip("000005.ldb", 20);
  expect_no_key_is_missing(copy.path("000005.ldb"));
  const auto file = open_alone(copy.path("000005.ldb"));
  EXPECT_EQ(get(*file, "zzz"), to_string(Code::kNotFound));
  for (const ListedKey& key : list_keys(*file)) EXPECT_FALSE(key.version.may_be_stale) << key.key;
}

TEST(DatabaseFilesTest, KeysOfATableOfWhichAllBlocksAreDamagedAreReportedAsLost) {
  const Copy copy("leveldb-levels");
  for (std::ptrdiff_t at = 3; at < 1350; at += 25) copy.flip("000005.ldb", at);
  expect_no_key_is_missing(copy.path("000005.ldb"));
}

TEST(DatabaseFilesTest, KeysOfTheLostEndOfATableAreReportedAsLost) {
  const Copy copy("leveldb-levels");
  copy.flip("000005.ldb", 20);
  copy.write("000005.ldb", copy.read("000005.ldb").substr(0, 1200));
  expect_no_key_is_missing(copy.path("000005.ldb"));
}

}  // namespace
}  // namespace recordfs::database
