// Logs whose records are zstd frames.
#include <algorithm>

#include <gtest/gtest.h>

#include "core/formats/leveldb_log/assembly.h"
#include "tests/unit/formats/leveldb_log/reading.h"
#include "tests/unit/support/counted_allocations.h"
#include "tests/writers/leveldb_log/log_writer.h"

namespace recordfs::leveldb_log {
namespace {

using Records = std::vector<std::string>;

const std::string kSetZstd = fragment(9, std::string("\x07\0\0\0", 4));

TEST(Zstd, RecordsAreDecompressed) {
  const Records records{"one", "", text(200000), text(70000, 'k'), "end"};
  for (const bool content_size : {true, false}) {
    LogWriter writer({.zstd = true, .zstd_content_size = content_size});
    for (const std::string& record : records) writer.append(record);
    const Reading reading = read_log(writer.log());
    EXPECT_EQ(reading.records, records);
    EXPECT_EQ(reading.chunks[0].codec, "zstd");
    EXPECT_EQ(describe(reading.damage), "");
  }
}

TEST(Zstd, UndecodableFrameFailsAloneWithItsDeclaredSize) {
  LogWriter good({.zstd = true});
  good.append(text(300));
  const std::size_t header = kSetZstd.size() + 7;
  std::string broken = good.log().substr(header);
  broken.back() = static_cast<char>(broken.back() ^ 1);
  const std::string log = good.log() + fragment(1, broken) + good.log().substr(kSetZstd.size());
  const auto container = open_log(log);
  const Reading reading = read_all(*container);
  EXPECT_EQ(reading.records, (Records{text(300), text(300)}));
  ASSERT_EQ(reading.failures.size(), 1u);
  EXPECT_EQ(reading.failures[0].code, Code::kDamage);
  const auto chunk = container->decode({}, reading.chunks[0]);
  EXPECT_EQ((*chunk)->layout().extent(1).size, 300u);
}

TEST(Zstd, InvalidFrameFailsWithASizeOfOneByte) {
  const auto container = open_log(kSetZstd + fragment(1, "not zstd at all, and long enough"));
  const Reading reading = read_all(*container);
  ASSERT_EQ(reading.failures.size(), 1u);
  EXPECT_EQ(reading.chunks[0].decoded_size, 1u);
  EXPECT_EQ(container->layout({}, reading.chunks[0])->extent(0).size, 1u);
}

TEST(Zstd, ImpossibleContentSizeIsIgnored) {
  const std::string header("\x28\xb5\x2f\xfd\xe0\x00\x00\x00\x10\x00\x00\x00\x00", 13);
  const Reading reading = read_log(kSetZstd + fragment(1, header + std::string(10, 'x')));
  EXPECT_EQ(reading.chunks[0].decoded_size, 1u);
  EXPECT_EQ(reading.failures.size(), 1u);
}

TEST(Zstd, UnknownCompressionIsUnsupported) {
  const Reading reading =
      read_log(fragment(9, std::string("\x63\0\0\0", 4)) + fragment(1, "something") + fragment(1, ""));
  EXPECT_EQ(reading.records, Records{""});
  ASSERT_EQ(reading.failures.size(), 1u);
  EXPECT_EQ(reading.failures[0].code, Code::kUnsupported);
  EXPECT_EQ(reading.chunks[0].codec, "-");
}

TEST(Zstd, LostHeadMakesZstdFramesUnreadable) {
  LogWriter writer({.zstd = true});
  writer.append("one");
  std::string log = writer.log();
  log.replace(0, 4, "XXXX").replace(6, 5, "XXXXX");
  const Reading reading = read_log(log);
  EXPECT_TRUE(reading.records.empty());
  ASSERT_EQ(reading.failures.size(), 1u);
  EXPECT_EQ(reading.failures[0].code, Code::kDamage);
}

TEST(Zstd, LargeAllocationForAFrameWithoutASizeIsAnnounced) {
  const std::string piece(32 << 10, 'x');
  testing::CountedAllocations allocations;
  const RequestContext context = RequestContext().with(allocations);
  SizeSink sink({.kind = Compression::Kind::kZstd});
  sink.begin(0);
  for (std::uint64_t kept = 0; kept < RequestContext::kLargeAllocation / 2; kept += piece.size()) {
    ASSERT_TRUE(sink.piece(context, {}, as_bytes(piece)));
  }
  EXPECT_EQ(allocations.take(), 0);
  ASSERT_TRUE(sink.piece(context, {}, as_bytes(piece)));
  EXPECT_EQ(allocations.take(), 1);
}

}  // namespace
}  // namespace recordfs::leveldb_log
