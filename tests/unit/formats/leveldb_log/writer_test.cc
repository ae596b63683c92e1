#include "core/formats/leveldb_log/writer.h"

#include <random>

#include <gtest/gtest.h>

#include "tests/unit/formats/written_file.h"
#include "tests/writers/leveldb_log/log_writer.h"

namespace recordfs::leveldb_log {
namespace {

// Returns a log whose records end at many places in a frame, and of which some have several fragments.
std::string log_of_many(const LogWriter::Options& options) {
  LogWriter writer(options);
  std::mt19937 random(7);
  for (int i = 0; i < 60000; ++i) writer.append(std::string(random() % (i % 1000 == 0 ? 100000 : 200), 'a'));
  return writer.log();
}

TEST(LogRecordWriter, LogsEqualThoseOfTheDatabases) {
  for (const auto& options : {LogWriter::Options{}, LogWriter::Options{.log_number = 17}}) {
    const std::string log = log_of_many(options);
    EXPECT_TRUE(copied(kWriter, log) == log);
  }
}

TEST(LogRecordWriter, CompressedRecordsAreCompressedAgain) {
  for (const std::optional<std::uint32_t> number : {std::optional<std::uint32_t>(), std::optional<std::uint32_t>(17)}) {
    LogWriter writer({.log_number = number, .zstd = true});
    const std::vector<std::string> records = {"", "a", std::string(300000, 'x'), "b"};
    for (const std::string& record : records) writer.append(record);
    const std::string log = copied(kWriter, writer.log());
    EXPECT_EQ(read_written(log).records, records);
    EXPECT_LT(log.size(), 1000u);
    EXPECT_EQ(log.substr(0, 11), writer.log().substr(0, 11));  // names the codec
  }
}

TEST(LogRecordWriter, ControlFragmentsComeBeforeTheRecords) {
  LogWriter writer;
  writer.append(std::string("\1\0\0\0\0\0\0\0\0\0\0\0", 12));  // an empty batch
  const std::string batch = writer.log();
  const std::string sizes = fragment(10, std::string("\1\0\0\0\10\0", 6));
  EXPECT_EQ(copied(kWriter, batch + sizes), sizes + batch);
}

TEST(LogRecordWriter, UnknownCompressionIsRefused) {
  const WrittenFile file = open_written(fragment(9, std::string("\3\0\0\0", 4)) + fragment(1, "record"));
  ASSERT_TRUE(file.container);
  EXPECT_EQ(kWriter.like({}, *file.container, *file.source).error().code, Code::kUnsupported);
}

}  // namespace
}  // namespace recordfs::leveldb_log
