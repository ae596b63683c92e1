// Each format that can be written: its readers find what was written.
#include <algorithm>
#include <cerrno>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/base/protobuf.h"
#include "core/formats/record_writer.h"
#include "core/formats/registry.h"
#include "tests/unit/formats/written_file.h"
#include "tests/unit/support/read_file.h"

namespace recordfs {
namespace {

// Sizes around those at which formats begin another block or chunk, and many small records.
std::vector<std::string> records_of_all_sizes() {
  std::mt19937 random(36);
  std::vector<std::string> records;
  for (const std::size_t size : {0u, 1u, 7u, 100u, 32747u, 32768u, 65535u, 65536u, 300000u, 0u, 1u << 20, 3u}) {
    records.emplace_back(size, '\0');
  }
  for (int i = 0; i < 3000; ++i) records.emplace_back(random() % 200, '\0');
  for (std::string& record : records) {
    for (char& byte : record) byte = static_cast<char>(random() % 7 * 31);
  }
  return records;
}

// Returns records that a writer takes: with these contents, or entries with such values.
std::vector<std::string> records_for(const FileWriter& writer, std::vector<std::string> contents) {
  if (writer.format != "leveldb-table") return contents;
  for (std::size_t i = 0; i < contents.size(); ++i) {
    std::string entry;
    protobuf::append_field(entry, 0, std::to_string(1000000 + i));
    protobuf::append_varint(entry, contents[i].size());
    contents[i] = entry.substr(1) + contents[i];
  }
  return contents;
}

class EachWriter : public ::testing::TestWithParam<FileWriter> {};

TEST_P(EachWriter, HasTheNameOfAFormat) {
  EXPECT_TRUE(std::ranges::any_of(formats(), [](const Format& format) { return format.name == GetParam().format; }));
  EXPECT_EQ(find_writer(GetParam().format)->open, GetParam().open);
}

TEST_P(EachWriter, RecordsAreReadAsTheyWereWritten) {
  const auto records = records_for(GetParam(), records_of_all_sizes());
  const auto file = written(GetParam(), records);
  const WrittenRecords all = read_written(file);
  EXPECT_EQ(all.format, GetParam().format);
  EXPECT_EQ(all.problems, std::vector<std::string>());
  EXPECT_TRUE(all.records == records);
}

TEST_P(EachWriter, ChunkThatIsCopiedHasTheSameRecords) {
  const auto records = records_for(GetParam(), records_of_all_sizes());
  const auto file = written(GetParam(), records);
  const WrittenRecords all = read_written(copied(GetParam(), file));
  EXPECT_EQ(all.problems, std::vector<std::string>());
  EXPECT_TRUE(all.records == records);
}

TEST_P(EachWriter, ErrorOfTheSinkIsReturned) {
  FailingSink sink;
  const auto writer = GetParam().open({}, sink, {});
  ASSERT_TRUE(writer);
  const auto outcome = write_all({}, **writer, records_for(GetParam(), {"record"}));
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().os_error, ENOSPC);
}

std::string name_of(const ::testing::TestParamInfo<FileWriter>& tested) {
  std::string name(tested.param.format);
  std::ranges::replace(name, '-', '_');
  return name;
}

// Returns the writers that need no other file to begin with.
std::vector<FileWriter> writers_of_new_files() {
  std::vector<FileWriter> writers(file_writers().begin(), file_writers().end());
  std::erase_if(writers, [](const FileWriter& writer) { return writer.format == "bloscpack"; });
  return writers;
}

INSTANTIATE_TEST_SUITE_P(AllFormats, EachWriter, ::testing::ValuesIn(writers_of_new_files()), name_of);

TEST(BloscpackWriter, CopiedFileHasTheSameRecords) {
  for (const std::string name : {"v0-rc1.blp", "v1-2.blp", "v2-2.blp"}) {
    const std::string file = testing::read_file("tests/corpus/bloscpack/" + name);
    const WrittenRecords before = read_written(file);
    const WrittenRecords after = read_written(copied(*find_writer("bloscpack"), file));
    EXPECT_EQ(after.format, "bloscpack") << name;
    EXPECT_EQ(after.problems, std::vector<std::string>()) << name;
    EXPECT_FALSE(before.records.empty());
    EXPECT_TRUE(after.records == before.records) << name;
  }
}

TEST(BloscpackWriter, NewFileCannotBeWritten) {
  MemorySink sink;
  EXPECT_EQ(find_writer("bloscpack")->open({}, sink, {}).error().code, Code::kUnsupported);
}

TEST(RecordGatherer, ChunksOfSmallRecordsEnd) {
  const auto* const format = find_writer("tfrecord");
  for (const std::size_t size : {0u, 1u, 92u}) {
    struct : ByteSink {
      std::vector<std::size_t> sizes;
      Result<void> write(Bytes bytes) override {
        sizes.push_back(bytes.size());
        return {};
      }
    } sink;
    const auto writer = format->open({}, sink, {.chunk_size = 1000});
    ASSERT_TRUE(write_all({}, **writer, std::vector<std::string>(1000, std::string(size, 'x'))));
    const std::size_t in_a_chunk = 1000 / (size + kRecordOverhead);
    EXPECT_EQ(sink.sizes.front(), in_a_chunk * (size + 16));
    EXPECT_EQ(sink.sizes.size(), (1000 + in_a_chunk - 1) / in_a_chunk);
  }
}

TEST(FindWriter, FormatThatCannotBeWrittenHasNone) { EXPECT_EQ(find_writer("avro"), nullptr); }

}  // namespace
}  // namespace recordfs
