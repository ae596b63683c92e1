#include "core/formats/leveldb_table/writer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "core/base/append.h"
#include "core/codec/compress.h"
#include "core/formats/leveldb_table/block_builder.h"
#include "core/formats/leveldb_table/entries.h"
#include "tests/unit/formats/written_file.h"
#include "tests/unit/support/read_file.h"

namespace recordfs::leveldb_table {
namespace {

std::filesystem::path corpus() { return "tests/corpus/leveldb_table"; }

std::string sample(const std::string& name) { return testing::read_file(corpus() / name); }

std::string entry(std::string_view key, std::string_view value) {
  return record_front(as_bytes(key), value.size()) + std::string(value);
}

std::string internal(std::string key, std::uint64_t sequence, std::uint8_t type) {
  append_le(key, sequence << 8 | type);
  return key;
}

std::map<std::string, std::string> properties_in(const std::string& bytes) {
  std::map<std::string, std::string> properties;
  const WrittenFile file = open_written(bytes);
  const auto attributes = file.container->metadata()->attributes({}, nullptr);
  for (const Attribute& property : attributes.value()) {
    properties[property.key] = property.value;
  }
  return properties;
}

TEST(BlockBuilder, ContentIsReadBack) {
  BlockBuilder block(3);
  EXPECT_TRUE(block.empty());
  const std::vector<std::string> keys = {"", "a", "ab", "abc", "abc", "b", "ba"};
  for (const std::string& key : keys) block.add(as_bytes(key), as_bytes("value of " + key));
  EXPECT_EQ(block.last_key(), "ba");
  const std::uint64_t size = block.size();
  const std::string content = block.take();
  EXPECT_EQ(content.size(), size);
  std::vector<std::string> read;
  EXPECT_TRUE(for_each_entry(as_bytes(content), {}, [&](Bytes key, Bytes value) {
    read.emplace_back(as_text(key));
    return as_text(value) == "value of " + read.back();
  }));
  EXPECT_EQ(read, keys);
  EXPECT_EQ(EntryReader(split_content(as_bytes(content), false).value()).restarts(), 3u);
  EXPECT_TRUE(block.empty());
  EXPECT_EQ(block.take(), std::string("\0\0\0\0\1\0\0\0", 8));
}

TEST(TableWriter, EverySampleIsWrittenAgainWithTheSameEntries) {
  int tables = 0;
  for (const auto& file : std::filesystem::directory_iterator(corpus())) {
    const std::string name = file.path().filename();
    if (!name.ends_with(".ldb") && !name.ends_with(".sst")) continue;
    SCOPED_TRACE(name);
    const std::string bytes = sample(name);
    const WrittenRecords before = read_written(bytes);
    const WrittenRecords after = read_written(copied(kWriter, bytes));
    EXPECT_EQ(after.problems, std::vector<std::string>());
    EXPECT_EQ(after.records, before.records);
    ++tables;
  }
  EXPECT_GT(tables, 30);
}

TEST(TableWriter, BlocksOfLevelDbsOwnTablesAreEqual) {
  // Only the keys of the index may differ, since LevelDB shortens them.
  for (const char* name : {"empty.ldb", "one-empty-entry.ldb", "unordered.ldb"}) {
    EXPECT_EQ(copied(kWriter, sample(name)), sample(name)) << name;
  }
  if (!can_compress(CodecId::kSnappy)) GTEST_SKIP();
  const std::string file = sample("leveldb-snappy.ldb");
  const WrittenFile opened = open_written(file);
  const std::string copy = copied(kWriter, file);
  ASSERT_FALSE(opened.chunks.empty());
  EXPECT_EQ(copy.substr(0, opened.chunks.front().end), file.substr(0, opened.chunks.front().end));
}

TEST(TableWriter, PropertiesAreKeptAndCountedAnew) {
  const std::string file = sample("rocksdb7-range-deletions.sst");
  auto before = properties_in(file);
  auto after = properties_in(copied(kWriter, file));
  for (const char* name : {"num.entries", "deleted.keys", "num.range-deletions", "raw.key.size", "raw.value.size",
                           "num.data.blocks", "comparator", "column.family.name", "creation.time", "compression"}) {
    EXPECT_EQ(after[std::string("rocksdb.") + name], before[std::string("rocksdb.") + name]) << name;
  }
  EXPECT_EQ(after.count("rocksdb.index.key.is.user.key"), 0u);
  EXPECT_EQ(before.count("rocksdb.index.key.is.user.key"), 1u);
}

TEST(TableWriter, LargeEntriesAndCodecsAreReadBack) {
  std::vector<std::string> records;
  for (int i = 0; i < 3000; ++i) {
    const std::string value(i % 500 == 0 ? 300000 : static_cast<std::size_t>(i % 90), 'v');
    records.push_back(entry(internal("key" + std::to_string(100000 + i), 7, kPut), value));
  }
  for (const char* codec : {"none", "snappy", "zstd", "zlib", "flate"}) {
    MemorySink sink;
    const WriterOptions options{.codec = codec, .chunk_size = 20000};
    if (!kWriter.open({}, sink, options)) continue;
    const std::string file = written(kWriter, records, options);
    EXPECT_EQ(read_written(file).records, records) << codec;
    const WrittenFile opened = open_written(file);
    EXPECT_EQ(kWriter.like({}, *opened.container, *opened.source)->codec, codec);
  }
}

TEST(TableWriter, WhatIsNoEntryIsRefused) {
  MemorySink sink;
  const auto writer = kWriter.open({}, sink, {}).value();
  for (const char* bad : {"", "record", "\1k\2v", "\1k\1vv"}) {
    const std::vector<Bytes> records = {as_bytes(bad)};
    EXPECT_EQ(writer->encode({}, records).error().code, Code::kUnsupported) << bad;
  }
  EXPECT_EQ(kWriter.open({}, sink, {.codec = "brotli"}).error().code, Code::kUnsupported);
  EXPECT_EQ(kWriter.open({}, sink, {.record_type = "Type"}).error().code, Code::kUnsupported);
}

}  // namespace
}  // namespace recordfs::leveldb_table
