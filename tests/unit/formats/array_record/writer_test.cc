#include "core/formats/array_record/writer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <string>
#include <vector>

#include "core/formats/array_record/options.h"
#include "tests/unit/formats/written_file.h"
#include "tests/unit/support/read_file.h"

namespace recordfs::array_record {
namespace {

std::string sample(const std::string& name) {
  return testing::read_file("tests/corpus/array_record/" + name + ".array_record");
}

WriterOptions options_like(const std::string& bytes) {
  const WrittenFile file = open_written(bytes);
  return kWriter.like({}, *file.container, *file.source).value();
}

std::vector<std::string> numbered(std::size_t count) {
  std::vector<std::string> records;
  for (std::size_t i = 0; i < count; ++i) records.push_back(std::to_string(i) + std::string(i % 40, 'r'));
  return records;
}

// Returns options for chunks of this many records, in the form that like() returns.
WriterOptions grouped(std::uint64_t group_size) {
  auto file = default_options({});
  set_group_size(file, group_size);
  WriterOptions options;
  options.stored_layout = file.text;
  return options;
}

std::vector<std::uint64_t> records_of_chunks(const std::string& bytes) {
  std::vector<std::uint64_t> counts;
  for (const ChunkInfo& chunk : open_written(bytes).chunks) {
    if (chunk.records.value_or(0) > 0) counts.push_back(*chunk.records);
  }
  return counts;
}

TEST(ArrayRecordWriter, BytesEqualThoseOfTheSamples) {
  for (const char* name :
       {"group-1", "group-10-uncompressed", "padded", "empty", "empty-records", "large", "two-blocks", "sound"}) {
    const std::string file = sample(name);
    WriterOptions options = options_like(file);
    options.codec = "none";
    EXPECT_TRUE(written(kWriter, read_written(file).records, options) == file) << name;
  }
}

TEST(ArrayRecordWriter, CopyHasTheSameRecordsAndMetadata) {
  for (const char* name :
       {"group-1-zstd", "group-10-brotli", "group-10-snappy", "examples", "transposed-with-metadata", "transposed"}) {
    const std::string file = sample(name);
    const std::string copy = copied(kWriter, file);
    EXPECT_EQ(read_written(copy).problems, std::vector<std::string>()) << name;
    EXPECT_EQ(read_written(copy).records, read_written(file).records) << name;
    const auto metadata = [](const std::string& bytes) {
      return open_written(bytes).container->metadata()->attributes({}, nullptr)->size();
    };
    EXPECT_EQ(metadata(copy), metadata(file)) << name;
  }
}

TEST(ArrayRecordWriter, EachChunkHasOneRecordByDefault) {
  const auto records = numbered(300);
  const std::string file = written(kWriter, records);
  EXPECT_EQ(records_of_chunks(file), std::vector<std::uint64_t>(300, 1));
  EXPECT_EQ(read_written(file).records, records);
  EXPECT_EQ(file.size() % 65536, 0u);
}

// Readers divide the ordinal of a record by the size of the first chunk.
TEST(ArrayRecordWriter, AllChunksButTheLastHaveTheSizeOfAGroup) {
  const auto all = numbered(95);
  const std::string file = written(kWriter, all, grouped(10));
  EXPECT_EQ(records_of_chunks(file), (std::vector<std::uint64_t>{10, 10, 10, 10, 10, 10, 10, 10, 10, 5}));
  EXPECT_EQ(read_written(file).records, all);

  // One that is appended after a part of a group cannot be copied as it is stored.
  const WrittenFile opened = open_written(file);
  MemorySink sink;
  const auto writer = kWriter.open({}, sink, grouped(10)).value();
  std::vector<std::string> expected = {"first"};
  const std::vector<Bytes> first = {as_bytes(expected.front())};
  ASSERT_TRUE(writer->append({}, writer->encode({}, first).value()));
  for (const ChunkInfo& chunk : opened.chunks) {
    if (!writer->can_append_stored(chunk)) continue;
    ASSERT_TRUE(writer->append_stored({}, *opened.source, chunk));
  }
  ASSERT_TRUE(writer->finish({}));
  expected.insert(expected.end(), all.begin(), all.begin() + 90);
  EXPECT_EQ(records_of_chunks(sink.bytes), (std::vector<std::uint64_t>{10, 10, 10, 10, 10, 10, 10, 10, 10, 1}));
  EXPECT_EQ(read_written(sink.bytes).records, expected);
  EXPECT_EQ(read_written(sink.bytes).problems, std::vector<std::string>());
}

TEST(ArrayRecordWriter, FooterThatIsLostDoesNotHideTheGroupSize) {
  std::string file = written(kWriter, numbered(95), grouped(10));
  file.resize(file.size() / 2);
  EXPECT_EQ(records_of_chunks(copied(kWriter, file)).front(), 10u);
}

TEST(ArrayRecordOptions, TextIsParsedAndKept) {
  const std::string text = "group_size:7,transpose:true,pad_to_block_boundary:true,brotli:6";
  FileOptions options = parse_options(text);
  EXPECT_EQ(options.group_size, 7u);
  EXPECT_TRUE(options.is_padded);
  EXPECT_EQ(options.text, text);
  set_group_size(options, 12);
  EXPECT_EQ(options.text, "group_size:12,transpose:true,pad_to_block_boundary:true,brotli:6");
  for (const char* bad : {"", "group_size:0", "group_size:x", "group_size:-1", "pad_to_block_boundary:false,,"}) {
    EXPECT_EQ(parse_options(bad).group_size, 1u) << bad;
    EXPECT_FALSE(parse_options(bad).is_padded) << bad;
  }
  FileOptions empty = parse_options("");
  set_group_size(empty, 3);
  EXPECT_EQ(empty.text, "group_size:3");
  EXPECT_EQ(default_options({.codec = CodecId::kZstd}).text,
            "group_size:1,transpose:false,pad_to_block_boundary:false,zstd:3,max_parallelism:1");
}

TEST(ArrayRecordWriter, OptionsThatTheFormatHasNoPlaceForAreRefused) {
  MemorySink sink;
  EXPECT_EQ(kWriter.open({}, sink, {.codec = "lz4"}).error().code, Code::kUnsupported);
  EXPECT_EQ(kWriter.open({}, sink, {.trailer = ""}).error().code, Code::kUnsupported);
}

}  // namespace
}  // namespace recordfs::array_record
