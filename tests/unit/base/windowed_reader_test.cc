#include "core/base/windowed_reader.h"

#include <string>

#include <gtest/gtest.h>

#include "tests/unit/support/counting_source.h"

namespace recordfs {
namespace {

using testing::CountingSource;

std::string numbered(std::size_t size) {
  std::string bytes(size, '\0');
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<char>(i * 31 + i / 256);
  return bytes;
}

const std::string kBytes = numbered(100000);

TEST(WindowedReader, OneReadServesSmallSteps) {
  const CountingSource source(kBytes);
  WindowedReader reader(source, 4096);
  for (Position at = 0; at + 10 < kBytes.size(); at += 10) {
    const Bytes bytes = reader.from({}, at, 10).value();
    ASSERT_GE(bytes.size(), 10u);
    ASSERT_EQ(as_text(bytes), std::string_view(kBytes).substr(at, bytes.size()));
  }
  EXPECT_LE(source.take_reads(), 26u);
  EXPECT_EQ(source.take_read_bytes(), reader.bytes_read());
}

TEST(WindowedReader, WindowsThatAreCloseTogetherGrow) {
  const CountingSource source(kBytes);
  WindowedReader reader(source, 100, 400);
  EXPECT_EQ(reader.from({}, 1000, 10)->size(), 100u);
  EXPECT_EQ(reader.from({}, 1150, 10)->size(), 200u);
  EXPECT_EQ(reader.from({}, 1349, 10)->size(), 400u);
  EXPECT_EQ(reader.from({}, 1800, 10)->size(), 400u);
  EXPECT_EQ(reader.from({}, 9000, 10)->size(), 100u);
  EXPECT_EQ(reader.from({}, 8000, 10)->size(), 100u);
}

TEST(WindowedReader, EndOfTheSourceReturnsFewerBytes) {
  const CountingSource source(kBytes);
  WindowedReader reader(source, 100);
  EXPECT_EQ(as_text(reader.from({}, kBytes.size() - 3, 10).value()), kBytes.substr(kBytes.size() - 3));
  EXPECT_TRUE(reader.from({}, kBytes.size(), 10)->empty());
  EXPECT_TRUE(reader.from({}, kBytes.size() + 5, 10)->empty());
}

TEST(WindowedReader, HeldBytesNeedNoRead) {
  const CountingSource source(kBytes);
  WindowedReader reader(source, 100);
  EXPECT_FALSE(reader.held(0, 1));
  ASSERT_TRUE(reader.from({}, 500, 1));
  EXPECT_EQ(as_text(*reader.held(590, 10)), kBytes.substr(590, 10));
  EXPECT_FALSE(reader.held(590, 11));
  EXPECT_FALSE(reader.held(499, 1));
  EXPECT_EQ(source.take_reads(), 1u);
}

}  // namespace
}  // namespace recordfs
