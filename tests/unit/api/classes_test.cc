// The classes of recordfs.hpp are those that a program sees, so this test includes no header of core.
#include <cstdint>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "core/api/recordfs.hpp"

namespace {

using recordfs::Dataset;

static_assert(std::input_iterator<recordfs::Records::Iterator>);
static_assert(std::sentinel_for<std::default_sentinel_t, recordfs::Records::Iterator>);

TEST(ClassesOfCxx, RangeReturnsRecordsAndErrorsInOrder) {
  const auto dataset = Dataset::open("tests/corpus/tfrecord/damaged/length-flip.tfrecord");
  ASSERT_TRUE(dataset);
  auto records = dataset->records();
  ASSERT_TRUE(records);
  std::uint64_t read = 0;
  std::vector<std::string> errors;
  for (const auto& record : *records) {
    if (record) {
      EXPECT_EQ(record->ordinal, read++);
      EXPECT_EQ(record->span().size(), record->size);
    } else {
      errors.push_back(record.error().text());
    }
  }
  EXPECT_EQ(read, *dataset->count());
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_TRUE(errors[0].ends_with("length-flip.tfrecord: byte 23169: a length that does not match its checksum"));
}

TEST(ClassesOfCxx, RangeEndsAfterAnErrorThatCannotBeContinued) {
  const auto dataset = Dataset::open("tests/corpus/tfrecord/examples.tfrecord");
  auto records = dataset->records(0, 5, "nothing > 1");
  ASSERT_TRUE(records);
  std::vector<recordfs_status> errors;
  for (const auto& record : *records) errors.push_back(record ? RECORDFS_OK : record.error().status);
  EXPECT_EQ(errors, std::vector{RECORDFS_MISUSE});
  EXPECT_FALSE(records->next());
}

TEST(ClassesOfCxx, FunctionsReturnValuesOrErrors) {
  const std::vector<std::string> paths{"tests/corpus/tfrecord/examples.tfrecord", "tests/corpus/tfrecord/one.tfrecord"};
  auto opened = Dataset::open(paths);
  ASSERT_TRUE(opened);
  const Dataset dataset = std::move(*opened);
  EXPECT_EQ(dataset.file_count(), 2u);
  EXPECT_TRUE(dataset.path(1).ends_with("one.tfrecord"));
  EXPECT_EQ(*dataset.format(1), "tfrecord");
  EXPECT_EQ(dataset.read(1)->span().size(), 121u);
  EXPECT_TRUE(dataset.json(1)->text().starts_with("{\"ordinal\":1,"));
  EXPECT_TRUE(dataset.info(0)->text().starts_with("{\"format\":\"tfrecord\""));
  EXPECT_EQ(dataset.read(1000).error().status, RECORDFS_NOT_FOUND);
  EXPECT_EQ(dataset.metadata("key").error().status, RECORDFS_NOT_FOUND);
  auto chunks = dataset.chunks();
  ASSERT_TRUE(chunks);
  EXPECT_EQ(chunks->next()->value().records, 10u);
  auto damage = dataset.damage();
  ASSERT_TRUE(damage);
  EXPECT_FALSE(damage->next());
  EXPECT_EQ(Dataset::open("no such file").error().status, RECORDFS_IO);
}

TEST(ClassesOfCxx, KeysOfADatabaseAreARange) {
  const auto database = recordfs::Database::open("tests/corpus/database/leveldb-levels");
  ASSERT_TRUE(database);
  EXPECT_EQ(database->get("key00000")->text(), "value 0 of version 5");
  auto keys = database->keys("key00018");
  ASSERT_TRUE(keys);
  std::vector<std::string> found;
  for (const auto& entry : *keys) found.emplace_back(entry->key_text());
  EXPECT_EQ(found, (std::vector<std::string>{"key00018"}));
}

}  // namespace
