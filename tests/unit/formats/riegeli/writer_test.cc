#include "core/formats/riegeli/writer.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "core/base/protobuf.h"
#include "core/codec/compress.h"
#include "core/formats/riegeli/wire.h"
#include "tests/unit/formats/written_file.h"
#include "tests/unit/support/read_file.h"

namespace recordfs::riegeli {
namespace {

// Returns a file that the reference writer wrote.
std::string reference_file(const std::string& name) { return testing::read_file("tests/corpus/riegeli/" + name); }

// The options that have an effect on what follows.
struct Reference {
  std::string name;
  std::uint64_t chunk_size = 0;
};

TEST(RiegeliWriter, BytesEqualThoseOfTheReferenceWriter) {
  for (const auto& [name, chunk_size] :
       {Reference{"no_records"}, Reference{"one_empty_record"}, Reference{"one_byte_records", 64},
        Reference{"metadata_full_simple_uncompressed"}}) {
    const std::string file = reference_file(name + ".riegeli");
    const WrittenFile opened = open_written(file);
    const auto metadata = kWriter.like({}, *opened.container, *opened.source)->stored_metadata;
    const WriterOptions options{.codec = "none", .chunk_size = chunk_size, .stored_metadata = metadata};
    EXPECT_TRUE(written(kWriter, read_written(file).records, options) == file) << name;
  }
}

TEST(RiegeliWriter, ChunksAreCopiedAsTheyAreStored) {
  for (const char* name : {"multiblock_zstd", "multiblock_transposed", "metadata_full_transposed", "metadata_extension",
                           "empty_records_65473_then_text", "simple_brotli_default", "simple_chunk1", "simple_snappy",
                           "transposed_nonproto_only"}) {
    const std::string file = reference_file(std::string(name) + ".riegeli");
    EXPECT_TRUE(copied(kWriter, file) == file) << name;
  }
}

TEST(RiegeliWriter, CopyHasNoPaddingAndOneSignature) {
  const std::string file = reference_file("concatenated.riegeli");
  const std::string copy = copied(kWriter, file);
  EXPECT_LT(copy.size(), 10000u);
  EXPECT_EQ(read_written(copy).records, read_written(file).records);
  EXPECT_EQ(read_written(copy).problems, std::vector<std::string>());
}

TEST(RiegeliWriter, ChunkMayBeginAndEndAnywhereNearABlockHeader) {
  // A chunk of one record has 43 bytes besides the record, or 45 if the record is large.
  for (std::uint64_t second = kBlockSize - 60; second < kBlockSize + 60; ++second) {
    const std::vector<std::string> records = {std::string(second - 64 - 45, 'a'), "b", std::string(kBlockSize, 'c'),
                                              ""};
    const std::string file = written(kWriter, records, {.codec = "none", .chunk_size = 1});
    const WrittenRecords all = read_written(file);
    EXPECT_EQ(all.problems, std::vector<std::string>()) << second;
    EXPECT_EQ(all.records, records) << second;
    EXPECT_TRUE(copied(kWriter, file) == file) << second;
  }
}

// The positions are those of the reference writer, from its own tests.
TEST(RiegeliWriter, ChunkOfManyRecordsEndsAtAChunkBoundary) {
  if (!can_compress(CodecId::kZstd)) GTEST_SKIP();
  for (const auto& [count, end] : {std::pair{65472u, 65536u},
                                   {65473u, 65561u},
                                   {65496u, 65561u},
                                   {65497u, 65561u},
                                   {65498u, 65562u},
                                   {150000u, 150064u}}) {
    const std::vector<std::string> records(count);
    const std::string file = written(kWriter, records, {.chunk_size = 1u << 22});
    EXPECT_EQ(file.size(), end);
    const WrittenRecords all = read_written(file);
    EXPECT_EQ(all.problems, std::vector<std::string>()) << count;
    EXPECT_EQ(all.records, records);
  }
}

TEST(RiegeliWriter, EveryCodecAndChunkSizeIsReadBack) {
  std::mt19937 random(7);
  std::vector<std::string> records(400);
  for (std::string& record : records) record.assign(random() % 3 * random() % 1000, static_cast<char>(random()));
  for (const CodecId codec : {CodecId::kNone, CodecId::kZstd, CodecId::kBrotli, CodecId::kSnappy}) {
    if (!can_compress(codec)) continue;
    for (const std::uint64_t chunk_size : {0u, 1u, 5000u, 100000u}) {
      const WriterOptions options{.codec = std::string(to_string(codec)), .level = 1, .chunk_size = chunk_size};
      const std::string bytes = written(kWriter, records, options);
      EXPECT_EQ(read_written(bytes).records, records);
      const WrittenFile file = open_written(bytes);
      EXPECT_EQ(kWriter.like({}, *file.container, *file.source)->codec, options.codec);
    }
  }
}

TEST(RiegeliWriter, MetadataIsReadBack) {
  std::string files;  // two, of which the second is empty
  protobuf::append_field(files, 1, "\x0a\x03xyz");
  protobuf::append_field(files, 1, "");
  WriterOptions options{.record_type = "a.Type"};
  options.descriptors = std::make_shared<const std::string>(files);
  options.metadata = {{.key = "file_comment", .type = "", .value = "text"},
                      {.key = "num_records", .type = "", .value = "77"}};
  const WrittenFile file = open_written(written(kWriter, {"record"}, options));
  const auto attributes = file.container->metadata()->attributes({}, nullptr);
  ASSERT_TRUE(attributes);
  std::vector<std::string> texts;
  for (const Attribute& attribute : *attributes) texts.push_back(attribute.key + "=" + attribute.value);
  texts.resize(3);
  EXPECT_EQ(texts, (std::vector<std::string>{"file_comment=text", "record_type_name=a.Type",
                                             "file_descriptor_set=" + *options.descriptors}));
}

TEST(RiegeliWriter, OptionsThatTheFormatHasNoPlaceForAreRefused) {
  MemorySink sink;
  for (const WriterOptions& options :
       {WriterOptions{.codec = "lzma"}, WriterOptions{.codec = "zip"}, WriterOptions{.trailer = ""},
        WriterOptions{.metadata = {{.key = "author", .type = "", .value = "b"}}}}) {
    const auto writer = kWriter.open({}, sink, options);
    ASSERT_FALSE(writer);
    EXPECT_EQ(writer.error().code, Code::kUnsupported);
  }
  EXPECT_EQ(kWriter.open({}, sink, {.descriptors = std::make_shared<const std::string>("\x0a")}).error().code,
            Code::kDamage);
}

TEST(RiegeliWriter, DamageOfACopiedChunkIsReported) {
  std::string bytes = written(kWriter, {std::string(200000, 'x'), "second"}, {.codec = "none"});
  const WrittenFile file = open_written(bytes);
  bytes[100000] = 'y';
  const MemorySource damaged(Buffer::copy_of({}, as_bytes(bytes)).value());
  MemorySink sink;
  const auto writer = kWriter.open({}, sink, {});
  EXPECT_EQ((*writer)->append_stored({}, damaged, file.chunks.at(1)).error().code, Code::kDamage);
}

}  // namespace
}  // namespace recordfs::riegeli
