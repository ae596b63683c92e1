// Edits of a MANIFEST that its engine accepts or rejects.
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "core/base/source.h"
#include "core/database/manifest.h"
#include "core/database/options_file.h"
#include "core/hash/crc32c.h"
#include "tests/writers/leveldb_log/log_writer.h"

namespace recordfs::database {
namespace {

using namespace std::string_literals;

// One record of a log in one fragment.
std::string fragment(const std::string& record) {
  const std::string typed = "\x01"s + record;
  const std::uint32_t sum = mask_crc(crc32c(as_bytes(typed)));
  std::string bytes;
  for (int shift = 0; shift < 32; shift += 8) bytes += static_cast<char>(sum >> shift & 0xff);
  bytes += static_cast<char>(record.size() & 0xff);
  bytes += static_cast<char>(record.size() >> 8);
  return bytes + typed;
}

std::string varint(std::uint64_t number) {
  std::string bytes;
  for (; number >= 0x80; number >>= 7) bytes += static_cast<char>((number & 0x7f) | 0x80);
  return bytes + static_cast<char>(number);
}

std::string text(const std::string& bytes) { return varint(bytes.size()) + bytes; }

const std::string kComparator = "\x01"s + text("leveldb.BytewiseComparator");
const std::string kNumbers = "\x02\x03\x03\x09\x04\x07"s;  // log, next file, last sequence

std::string new_file(std::uint64_t number, std::uint64_t level = 0, const std::string& key = "a") {
  const std::string internal = key + "\1\1\0\0\0\0\0\0"s;
  return "\x07"s + varint(level) + varint(number) + varint(100) + text(internal) + text(internal);
}
// A table as RocksDB writes it. `field`: a custom tag.
std::string new_file_with(std::uint64_t field, std::uint64_t number) {
  const std::string internal = "a\1\1\0\0\0\0\0\0"s;
  std::string fields;
  for (const std::uint64_t tag : {5, 6, 12, 13, 14, 16}) fields += varint(tag) + text("1");
  return varint(103) + varint(6) + varint(number) + varint(100) + text(internal) + text(internal) + varint(1) +
         varint(1) + fields + varint(field) + text("1") + varint(1);
}
std::string family(std::uint64_t id) { return varint(200) + varint(id); }

Manifest read_bytes(const std::string& bytes) {
  auto content = Buffer::copy_of({}, as_bytes(bytes));
  auto manifest = read_manifest({}, std::make_shared<MemorySource>(*std::move(content), "MANIFEST-000001"), {});
  EXPECT_TRUE(manifest);
  return manifest ? *std::move(manifest) : Manifest{};
}

Manifest read(const std::vector<std::string>& edits) {
  std::string bytes;
  for (const std::string& edit : edits) bytes += fragment(edit);
  return read_bytes(bytes);
}

TEST(ManifestTest, EmptyEditChangesNothing) {
  const auto manifest = read({kComparator + kNumbers, "", new_file(4)});
  EXPECT_TRUE(manifest.damage.empty());
  EXPECT_EQ(manifest.files.tables.size(), 1u);
}

TEST(ManifestTest, TableThatIsAddedTwiceWithEqualFieldsIsOne) {
  const auto manifest = read({kComparator + kNumbers + new_file(4) + new_file(4), new_file(4)});
  EXPECT_TRUE(manifest.damage.empty());
  EXPECT_EQ(manifest.files.tables.size(), 1u);
}

TEST(ManifestTest, TableThatIsAddedTwiceWithOtherFieldsIsDamage) {
  EXPECT_EQ(read({kComparator + kNumbers + new_file(4), new_file(4, 0, "b")}).damage.size(), 1u);
}

TEST(ManifestTest, LevelsMayBeMany) {
  const auto manifest = read({kComparator + kNumbers + new_file(4, 99)});
  EXPECT_TRUE(manifest.damage.empty());
  EXPECT_EQ(manifest.files.tables.at(4).level, 99u);
}

TEST(ManifestTest, OneEditMayAddAllTablesOfALargeDatabase) {
  const auto tables_of = [](std::uint64_t tables, const auto& add) {
    std::string edit = kComparator + kNumbers;
    for (std::uint64_t number = 10; number < 10 + tables; ++number) edit += add(number);
    leveldb_log::LogWriter log;
    log.append(edit);
    const auto manifest = read_bytes(log.log());
    EXPECT_TRUE(manifest.damage.empty());
    return manifest.files.tables.size();
  };
  EXPECT_EQ(tables_of(150'000, [](std::uint64_t number) { return new_file(number, 6); }), 150'000u);
  EXPECT_EQ(tables_of(40'000, [](std::uint64_t number) { return new_file_with(15, number); }), 40'000u);
}

TEST(ManifestTest, FieldOfATableThatMustBeKnownIsUnsupported) {
  EXPECT_TRUE(read({kComparator + kNumbers, new_file_with(63, 4)}).damage.empty());
  EXPECT_TRUE(read({kComparator + kNumbers, new_file_with(65, 4)}).damage.empty());
  const auto manifest = read({kComparator + kNumbers, new_file_with(66, 4)});
  ASSERT_EQ(manifest.damage.size(), 1u);
  EXPECT_EQ(manifest.damage[0].code, Code::kUnsupported);
  EXPECT_EQ(manifest.damage[0].detail, "an edit adds table 4 with the unknown field 66");
}

TEST(ManifestTest, EditWithAnInvalidEndChangesNothing) {
  const auto manifest = read({kComparator + kNumbers, new_file(4) + "\x07\x01"s});
  EXPECT_EQ(manifest.damage.size(), 1u);
  EXPECT_TRUE(manifest.files.tables.empty());
}

TEST(ManifestTest, EditOfAnUnknownFamilyIsDamage) {
  const std::string add = family(1) + varint(201) + text("other");
  EXPECT_TRUE(read({kComparator + kNumbers, add, family(1) + new_file(4)}).damage.empty());
  EXPECT_EQ(read({kComparator + kNumbers, family(1) + new_file(4)}).damage.size(), 1u);
  EXPECT_EQ(read({kComparator + kNumbers, add, add}).damage.size(), 1u);
}

TEST(ManifestTest, DroppedFamilyTakesItsTablesAlong) {
  const std::string add = family(1) + varint(201) + text("other");
  const auto manifest =
      read({kComparator + kNumbers + new_file(3), add, family(1) + new_file(4), family(1) + varint(202)});
  EXPECT_TRUE(manifest.damage.empty());
  EXPECT_EQ(manifest.files.tables.size(), 1u);
  EXPECT_TRUE(manifest.files.tables.contains(3));
}

TEST(ManifestTest, GroupOfEditsTakesEffectAsAWhole) {
  const auto in_group = [](std::uint64_t left, std::uint64_t number) {
    return varint(300) + varint(left) + new_file(number);
  };
  const auto whole = read({kComparator + kNumbers, in_group(1, 4), in_group(0, 5)});
  EXPECT_TRUE(whole.damage.empty());
  EXPECT_EQ(whole.files.tables.size(), 2u);
  EXPECT_EQ(read({kComparator + kNumbers, in_group(1, 4)}).files.tables.size(), 0u);
  EXPECT_FALSE(read({kComparator + kNumbers, in_group(1, 4), new_file(5)}).damage.empty());
  EXPECT_FALSE(read({kComparator + kNumbers, in_group(2, 4), in_group(0, 5)}).damage.empty());
}

TEST(ManifestTest, LogsAreTrackedUntilTheyAreDeleted) {
  const auto addition = [](std::uint64_t number, std::uint64_t size) {
    return varint(8199) + text(varint(number) + "\2"s + varint(size) + "\1"s);
  };
  const auto manifest = read({kComparator + kNumbers, addition(4, 10), addition(5, 10), addition(5, 300),
                              varint(8200) + text(varint(5)), varint(8196) + varint(6) + "\1"s});
  EXPECT_TRUE(manifest.damage.empty());
  EXPECT_EQ(manifest.files.tracked_logs, (std::map<std::uint64_t, std::uint64_t>{{5, 300}, {6, 0}}));
}

TEST(OptionsFileTest, ComparatorsAndDirectoryOfLogsAreRead) {
  const auto options = parse_options(
      "# text\n[Version]\n  rocksdb_version=11.8.1\n[DBOptions]\n  wal_dir=/a b/\\#wal  \n"
      "[CFOptions \"default\"]\n  comparator=rocksdb.ReverseBytewiseComparator\n  merge_operator=nullptr\n"
      "[TableOptions/BlockBasedTable \"default\"]\n  comparator=not this\n"
      "[CFOptions \"b\"]\n  merge_operator={id=StringAppendOperator;delimiter=\\n;}\n");
  EXPECT_EQ(options.wal_directory, "/a b/#wal");
  ASSERT_NE(options.family("default"), nullptr);
  EXPECT_EQ(options.family("default")->comparator, "rocksdb.ReverseBytewiseComparator");
  EXPECT_EQ(options.family("default")->merge_operator, "");
  EXPECT_EQ(options.family("b")->merge_operator, "{id=StringAppendOperator;delimiter=\n;}");
  EXPECT_EQ(options.family("c"), nullptr);
  EXPECT_EQ(options_file_number("OPTIONS-000017"), 17u);
  EXPECT_EQ(options_file_number("OPTIONS-000017.dbtmp"), std::nullopt);
}

}  // namespace
}  // namespace recordfs::database
