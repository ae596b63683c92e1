// Recognizing logs, and what is known of a log when it is opened.
#include <gtest/gtest.h>

#include "core/formats/leveldb_log/content.h"
#include "core/formats/leveldb_log/format.h"
#include "tests/unit/formats/leveldb_log/reading.h"
#include "tests/writers/leveldb_log/log_writer.h"

namespace recordfs::leveldb_log {
namespace {

using namespace std::string_literals;

int bid(std::string_view bytes, std::string_view name = "x", ProbeDepth depth = ProbeDepth::kHead) {
  const MemorySource source(std::move(*Buffer::copy_of({}, as_bytes(bytes))));
  return *kFormat.probe({}, source, name, depth);
}

std::string fact(std::string_view bytes, std::string_view name) {
  const auto container = open_log(bytes);
  for (const Fact& known : container->traits().facts) {
    if (known.name != name) continue;
    if (const auto* words = std::get_if<std::string>(&known.value)) return *words;
    if (const auto* number = std::get_if<std::uint64_t>(&known.value)) return std::to_string(*number);
    return std::get<bool>(known.value) ? "true" : "false";
  }
  return "-";
}

TEST(Probe, ValidFirstFragmentIsRecognized) {
  EXPECT_GE(bid(fragment(1, "a")), 32);
  EXPECT_GE(bid(fragment(5, "a", 3)), 32);
  EXPECT_GE(bid(fragment(1, "")), 32);
}

TEST(Probe, FileWithoutAValidFragmentIsNotRecognized) {
  EXPECT_EQ(bid(std::string(65536, '\0'), "000003.log", ProbeDepth::kSearch), 0);
  EXPECT_EQ(bid(std::string(50000, 't'), "000003.log", ProbeDepth::kSearch), 0);
  EXPECT_EQ(bid("abc", "000003.log", ProbeDepth::kSearch), 0);
  EXPECT_EQ(open_log("abc"), nullptr);
}

TEST(Probe, EmptyFileIsRecognizedByItsNameOnly) {
  EXPECT_EQ(bid("", "000003.log"), 1);
  EXPECT_EQ(bid("", "MANIFEST-000003"), 1);
  EXPECT_EQ(bid("", "MANIFEST-3"), 0);
  EXPECT_EQ(bid("", "LOCK"), 0);
}

TEST(Probe, DamagedHeadIsRecognizedOnlyBySearch) {
  LogWriter writer;
  writer.append(text(100000));
  std::string log = writer.log();
  log.replace(0, 32768, 32768, '#');
  EXPECT_EQ(bid(log), 0);
  EXPECT_GE(bid(log, "x", ProbeDepth::kSearch), 32);
  EXPECT_NE(open_log(log), nullptr);
}

TEST(Probe, LogInsideAnUnfinishedFirstRecordIsNotRecognized) {
  LogWriter inner;
  for (int i = 0; i < 20; ++i) inner.append(text(100));
  const std::string there = text(50) + inner.log();
  const std::string log = fragment(1, there + text(1000)).substr(0, 7 + there.size());
  EXPECT_EQ(bid(log, "000003.log", ProbeDepth::kSearch), 0);
  EXPECT_EQ(open_log(log), nullptr);
}

TEST(Facts, ContainVariantLogNumberAndCompression) {
  LogWriter recycled({.log_number = 17, .zstd = true});
  recycled.append("record");
  EXPECT_EQ(fact(recycled.log(), "variant"), "rocksdb");
  EXPECT_EQ(fact(recycled.log(), "compression"), "zstd");
  EXPECT_EQ(fact(recycled.log(), "log_number"), "17");
  EXPECT_EQ(fact(fragment(1, "a"), "variant"), "leveldb or rocksdb");
  EXPECT_EQ(fact(fragment(1, "a"), "log_number"), "-");
}

constexpr std::string_view kPut = "\1\3key\5value";
constexpr std::string_view kPutInFamily = "\5\7\3key\5value";

std::string batch(std::string_view operation) { return std::string(8, '\1') + "\1\0\0\0"s + std::string(operation); }

TEST(Facts, BatchWithRocksDbOperationsIsRocksDb) {
  EXPECT_EQ(fact(fragment(1, batch(kPutInFamily)), "variant"), "rocksdb");
  EXPECT_EQ(fact(fragment(1, batch(kPut)) + fragment(1, batch(kPutInFamily)), "variant"), "rocksdb");
  const std::string cut = std::string(8, '\0') + "\2\0\0\0"s + std::string(kPutInFamily) + "\1\3ke";
  EXPECT_EQ(fact(fragment(2, cut), "variant"), "rocksdb");
}

TEST(Facts, BatchThatBothDatabasesWriteIsEither) {
  EXPECT_EQ(fact(fragment(1, batch(kPut)), "variant"), "leveldb or rocksdb");
  EXPECT_EQ(fact("", "variant"), "leveldb or rocksdb");
}

TEST(Facts, EditTagsIdentifyTheDatabase) {
  const std::string both = "\1\4name\2\0\3\2\4\0"s;
  const std::string new_file = "\7\0\5\1\1a\1b"s;
  const std::string new_file4 = "\x67\0\5\1\1a\1b\0\0\1"s;
  const std::string family = "\xc9\1\1f"s;
  EXPECT_EQ(fact(fragment(1, both), "variant"), "leveldb or rocksdb");
  EXPECT_EQ(fact(fragment(1, both) + fragment(1, new_file), "variant"), "leveldb");
  for (const std::string& change : {new_file4, family, "\x0a\1"s}) {
    EXPECT_EQ(fact(fragment(1, both) + fragment(1, change), "variant"), "rocksdb");
  }
}

TEST(Facts, RecordsUnlikeTheFirstAreNoEvidence) {
  const std::string family = "\xc9\1\1f"s;
  EXPECT_EQ(fact(fragment(1, batch(kPut)) + fragment(1, family), "variant"), "leveldb or rocksdb");
  EXPECT_EQ(fact(fragment(1, "opaque") + fragment(1, batch(kPutInFamily)), "variant"), "leveldb or rocksdb");
}

TEST(Facts, ContainTheKindOfTheFirstRecord) {
  EXPECT_EQ(fact(fragment(1, batch(kPut)), "content"), "write-ahead log");
  EXPECT_EQ(fact(fragment(1, "opaque"), "content"), "opaque");
}

TEST(Content, BatchWithAWrongCountIsOpaque) {
  const std::string head(8, '\1');
  EXPECT_EQ(content_of(as_bytes(head + "\0\0\0\0"s)), "write-ahead log");
  EXPECT_EQ(content_of(as_bytes(head + "\2\0\0\0"s + "\1\3key\5value"s)), "opaque");
  EXPECT_EQ(content_of(as_bytes(head + "\1\0\0\0"s + "\1\3key\7value"s)), "opaque");
}

TEST(Content, EditIsParsedToItsEnd) {
  EXPECT_EQ(content_of(as_bytes("\1\4name\2\0\3\2\4\0"s)), "manifest");
  EXPECT_EQ(content_of(as_bytes("\1\4name\x08"s)), "opaque");
  EXPECT_EQ(content_of({}), "opaque");
}

}  // namespace
}  // namespace recordfs::leveldb_log
