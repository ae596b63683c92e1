// Blob files without damage: recognition, chunks, records, what a record means.
#include <gtest/gtest.h>

#include "tests/unit/codec/packers.h"
#include "tests/unit/formats/rocksdb_blob/files.h"

namespace recordfs::rocksdb_blob {
namespace {

using Records = std::vector<std::string>;

int bid(const std::string& bytes, ProbeDepth depth, std::string_view name = "x") {
  return *kFormat.probe({}, *testing::memory_source(bytes), name, depth);
}

const std::string kTwo = head() + record("a", "one") + record("b", "two") + footer(2);

TEST(BlobFile, FileIsRecognizedByItsMagicAndVersion) {
  EXPECT_EQ(bid(kTwo, ProbeDepth::kHead), 64);
  EXPECT_EQ(bid(kTwo.substr(0, 8), ProbeDepth::kHead), 64);
  EXPECT_EQ(bid(kTwo.substr(0, 4), ProbeDepth::kHead), 32);
  EXPECT_EQ(bid(kTwo.substr(0, 3), ProbeDepth::kHead), 0);
  EXPECT_EQ(bid("text that is longer than the headers of a file and of a record, together", ProbeDepth::kSearch), 0);
}

TEST(BlobFile, FileWithADamagedHeadIsRecognizedByItsRecords) {
  std::string damaged = kTwo;
  damaged[0] = 'x';
  EXPECT_EQ(bid(damaged, ProbeDepth::kHead), 32);
  damaged[30] = 'x';
  EXPECT_EQ(bid(damaged, ProbeDepth::kHead), 0);
  EXPECT_EQ(bid(damaged, ProbeDepth::kSearch), 24);
}

TEST(BlobFile, EmptyFileIsRecognizedByItsNameOnly) {
  EXPECT_EQ(bid("", ProbeDepth::kHead, "000012.blob"), 1);
  for (const char* name : {"a.blob", ".blob", "12blob", "12.blob.txt"}) EXPECT_EQ(bid("", ProbeDepth::kHead, name), 0);
}

TEST(BlobFile, RecordIsTheKeyAndTheValueEachAfterItsSize) {
  const Reading all = read_bytes(head() + record("key", std::string(200, 'v')) + record("", "") + footer(2));
  EXPECT_EQ(all.records, (Records{shown("key", std::string(200, 'v')), shown("", "")}));
  EXPECT_TRUE(all.damage.empty());
}

TEST(BlobFile, ChunksHoldRecordsUpTo256KiB) {
  const std::string large(200 << 10, 'x');
  const Reading all = read_bytes(head() + record("a", "1") + record("b", large) + record("c", large) +
                                 record("d", std::string(300 << 10, 'y')) + record("e", "2") + footer(5));
  ASSERT_EQ(all.chunks.size(), 4u);
  EXPECT_EQ(all.chunks[0].begin, 30u);
  EXPECT_EQ(all.chunks[0].records, 2u);
  EXPECT_EQ(all.chunks[2].records, 1u);
  EXPECT_EQ(all.records.size(), 5u);
  EXPECT_TRUE(all.damage.empty());
}

TEST(BlobFile, FactsAreThoseOfHeaderAndFooter) {
  const auto fact = [](const Container& container, std::string_view name) {
    for (const Fact& one : container.traits().facts) {
      if (one.name == name) return ::testing::PrintToString(one.value);
    }
    return std::string("none");
  };
  const auto value = [](auto content) { return ::testing::PrintToString(decltype(Fact::value)(std::move(content))); };
  const auto closed = open_bytes(head(kZstd, 5) + footer(0));
  EXPECT_EQ(fact(*closed, "compression"), value(std::string("zstd")));
  EXPECT_EQ(fact(*closed, "column_family"), value(std::uint64_t{5}));
  EXPECT_EQ(fact(*closed, "closed"), value(true));
  EXPECT_EQ(fact(*closed, "num_records"), value(std::uint64_t{0}));
  const auto open = open_bytes(head(kBzip2) + record("a", "one"));
  EXPECT_EQ(fact(*open, "compression"), value(std::string("type 3")));
  EXPECT_EQ(fact(*open, "closed"), value(false));
  EXPECT_EQ(fact(*open, "num_records"), "none");
}

TEST(BlobFile, ValueIsOfTheUsersKey) {
  const auto container = open_bytes(head(kNone, 3) + footer(0));
  const std::string bytes = shown("the key", "the value");
  const auto value = container->schema().value(as_bytes(bytes), ValueForm::kJson);
  ASSERT_TRUE(value);
  const auto& members = std::get<Value::Object>(value->is);
  ASSERT_EQ(members.size(), 2u);
  EXPECT_EQ(as_text(std::get<Bytes>(members[0].value.is)), "the key");
  EXPECT_EQ(as_text(std::get<Bytes>(members[1].value.is)), "the value");
  int changes = 0;
  EXPECT_TRUE(container->schema().change_kinds(as_bytes(bytes), [&](KeyChangeKind kind) {
    ++changes;
    EXPECT_EQ(kind, KeyChangeKind::kSet);
  }));
  EXPECT_EQ(changes, 1);
}

// --- compression

#ifdef RECORDFS_HAVE_ZLIB
std::string deflated(const std::string& value) { return varint(value.size()) + testing::pack_deflate(value); }

TEST(BlobFile, ChunksHoldRecordsUpTo256KiBDecompressed) {
  const std::string large(100 << 10, 'x');
  std::string file = head(kZlib);
  for (int i = 0; i < 5; ++i) file += record("key", deflated(large));
  const Reading all = read_bytes(file + footer(5));
  ASSERT_EQ(all.chunks.size(), 3u);
  EXPECT_EQ(all.chunks[0].records, 2u);
  EXPECT_EQ(all.chunks[0].decoded_size, 2 * shown("key", large).size());
  EXPECT_EQ(all.records, Records(5, shown("key", large)));
}

TEST(BlobFile, ValueThatDecompressesToAnotherSizeIsDamaged) {
  const std::string lying = varint(4) + testing::pack_deflate("three");
  const Reading all = read_bytes(head(kZlib) + record("a", deflated("1")) + record("b", lying) + footer(2));
  EXPECT_EQ(all.records, (Records{shown("a", "1"), "!"}));
  ASSERT_EQ(all.errors.size(), 1u);
  EXPECT_EQ(all.errors[0].code, Code::kDamage);
}
#endif

TEST(BlobFile, ValueThatStatesNoSizeIsDamaged) {
  for (const std::string& value : {std::string(), std::string(20, '\xff')}) {
    const Reading all = read_bytes(head(kZstd) + record("a", value) + record("b", value));
    EXPECT_EQ(all.records, (Records{"!", "!"}));
    EXPECT_TRUE(all.damage.empty());
  }
}

TEST(BlobFile, ValueThatStatesALargeSizeExceedsTheLimit) {
  Limits limits;
  limits.decoded_chunk = 1000;
  const std::string file = head(kZstd) + record("a", varint(UINT32_MAX) + "x") + record("b", "y");
  const Reading all = read_bytes(file, limits);
  ASSERT_EQ(all.chunks.size(), 2u);
  EXPECT_EQ(all.chunks[0].decoded_size, std::nullopt);
  ASSERT_GE(all.errors.size(), 1u);
  EXPECT_EQ(all.errors[0].code, Code::kLimit);
}

TEST(BlobFile, OtherCompressionIsUnsupported) {
  const Reading all = read_bytes(head(kBzip2) + record("a", "one") + record("b", "two") + footer(2));
  EXPECT_EQ(all.records, (Records{"!", "!"}));
  for (const Error& error : all.errors) EXPECT_EQ(error.code, Code::kUnsupported);
  EXPECT_EQ(all.chunks.at(0).codec, "-");
}

// --- in place

struct Large {
  explicit Large(const std::string& key = "key", bool is_damaged = false) {
    std::string stored = record(key, value);
    if (is_damaged) stored.back() = '!';
    container = open_bytes(head() + stored + footer(1));
    chunk = container->scan({}, {30, 0}).value().chunk.value();
  }

  std::string value = testing::text_of(3 << 20);
  std::unique_ptr<Container> container;
  ChunkInfo chunk;
};

TEST(BlobFile, SingleRecordIsReadInPlace) {
  const Large large;
  const auto chunk = large.container->open_in_place({}, large.chunk).value();
  ASSERT_TRUE(chunk);
  EXPECT_LT(chunk->memory(), 1000u);
  const std::string whole = shown("key", large.value);
  EXPECT_EQ(chunk->payload_size(), whole.size());
  for (const std::uint64_t offset : {0u, 1u, 4u, 7u, 8u, 9u, 1'000'000u}) {
    for (const std::uint64_t length : {0u, 1u, 3u, 10u, 100'000u}) {
      EXPECT_EQ(as_text(chunk->read({}, offset, length)->bytes), whole.substr(offset, length))
          << offset << " " << length;
    }
  }
}

TEST(BlobFile, DamagedRecordIsNotReadInPlace) {
  const Large large("key", true);
  const auto chunk = large.container->open_in_place({}, large.chunk).value();
  ASSERT_TRUE(chunk);
  ASSERT_TRUE(chunk->layout().failure(0));
  EXPECT_EQ(chunk->layout().failure(0)->code, Code::kDamage);
}

TEST(BlobFile, RecordWithALargeKeyIsNotReadInPlace) {
  const Large large(std::string(65537, 'k'));
  EXPECT_FALSE(large.container->open_in_place({}, large.chunk).value());
}

TEST(BlobFile, CompressedRecordIsNotReadInPlace) {
  const auto container = open_bytes(head(kZstd) + record("a", "x"));
  const ChunkInfo chunk = container->scan({}, {30, 0}).value().chunk.value();
  EXPECT_FALSE(container->open_in_place({}, chunk).value());
}

}  // namespace
}  // namespace recordfs::rocksdb_blob
