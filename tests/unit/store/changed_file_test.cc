// A file that is truncated, rewritten or extended while a store is open.
#include <gtest/gtest.h>

#include "tests/unit/store/toy_store.h"
#include "tests/unit/support/temp_file.h"

namespace recordfs::testing {
namespace {

struct OnDisk {
  explicit OnDisk(const toy::Shape& shape)
      : file(toy::make_file(shape)), temp(file.bytes), services(1 << 20, 1, lines.log()) {
    const auto source = FileSource::open(temp.path()).value();
    store = std::make_unique<RecordStore>("toy", source, toy::open(source, Limits{}).value(), services);
  }

  Result<Slice> read(std::size_t ordinal) const {
    ASSIGN_OR_RETURN(const auto indexed, waited([&] { return store->index().find({}, SearchKey::kRecords, ordinal); }));
    return store->records().read({}, {indexed.chunk, ordinal - indexed.before.records}, 0, 1 << 20);
  }
  // Returns the number of records that are still readable. Each of them must be unchanged.
  std::size_t readable() const {
    std::size_t count = 0;
    for (std::size_t i = 0; i < file.records.size(); ++i) {
      const auto slice = read(i);
      if (!slice) continue;
      EXPECT_EQ(text_of(*slice), file.records[i]);
      ++count;
    }
    return count;
  }

  toy::File file;
  TempFile temp;
  Lines lines;
  StoreResources services;
  std::unique_ptr<RecordStore> store;
};

toy::Shape large() {
  return {.chunks = 40, .record_size = [](std::uint64_t ordinal) { return 300 + ordinal; }};
}

TEST(ChangedFile, TruncationBeforeTheScanYieldsErrors) {
  OnDisk disk(large());
  disk.temp.resize(disk.file.bytes.size() / 2);
  EXPECT_EQ(disk.readable(), 0u);
  EXPECT_EQ(disk.read(100).error().code, Code::kChanged);
}

TEST(ChangedFile, TruncationAfterTheScanYieldsErrorsAndNoWrongBytes) {
  OnDisk disk(large());
  ASSERT_TRUE(waited([&] { return disk.store->index().totals(ScanDetail::kSizes); }));
  ASSERT_TRUE(disk.read(0));
  disk.temp.resize(disk.file.begins[20]);
  EXPECT_LE(disk.readable(), 6u);
  EXPECT_EQ(disk.read(119).error().code, Code::kChanged);
  EXPECT_FALSE(disk.lines.all().empty());
}

TEST(ChangedFile, RewriteAtTheBeginningYieldsErrorsAndNoWrongBytes) {
  OnDisk disk(large());
  ASSERT_TRUE(waited([&] { return disk.store->index().totals(ScanDetail::kSizes); }));
  toy::Shape other = large();
  other.record_size = [](std::uint64_t ordinal) { return 419 - ordinal; };
  disk.temp.write_at(0, toy::make_file(other).bytes);
  disk.temp.set_mtime(1);
  EXPECT_EQ(disk.readable(), 0u);
  EXPECT_EQ(disk.read(60).error().code, Code::kChanged);
}

TEST(ChangedFile, RewriteInTheMiddleYieldsNoWrongBytes) {
  OnDisk disk(large());
  ASSERT_TRUE(waited([&] { return disk.store->index().totals(ScanDetail::kSizes); }));
  disk.temp.write_at(disk.file.begins[20] + 100, "not what was here");
  disk.temp.set_mtime(1);
  EXPECT_EQ(disk.readable(), disk.file.records.size() - 3);
  EXPECT_FALSE(disk.read(60));
}

TEST(ChangedFile, GrownFileKeepsItsContentAndIsLoggedOnce) {
  OnDisk disk(large());
  disk.temp.write_at(disk.file.bytes.size(), std::string(5000, 'x'));
  EXPECT_EQ(disk.readable(), disk.file.records.size());
  EXPECT_EQ(disk.readable(), disk.file.records.size());
  ASSERT_EQ(disk.lines.all().size(), 1u);
  EXPECT_NE(disk.lines.all()[0].find("grown"), std::string::npos);
  EXPECT_TRUE(waited([&] { return disk.store->index().damage(); }).value()->empty());
}

}  // namespace
}  // namespace recordfs::testing
