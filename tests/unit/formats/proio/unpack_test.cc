#include "core/formats/proio/unpack.h"

#include <gtest/gtest.h>

#include <string>

#include "core/formats/proio/wire.h"

namespace recordfs::proio {
namespace {

constexpr char kOfContent = 0x04, kOfBlocks = 0x10;  // flags of an LZ4 frame: what has checksums
const std::string kSkipped("\x50\x2a\x4d\x18\x02\x00\x00\x00zz", 10);

// Returns an LZ4 frame whose blocks are stored as they are, with any checksums.
std::string frame(char checksums, std::string_view content) {
  std::string bytes("\x04\x22\x4d\x18", 4);
  bytes += {static_cast<char>(0x40 | checksums), 0x40, 0};
  if (!content.empty()) {
    bytes += {static_cast<char>(content.size()), 0, 0, '\x80'};
    bytes += content;
    if ((checksums & kOfBlocks) != 0) bytes += "sum ";
  }
  bytes += std::string(4, '\0');
  if ((checksums & kOfContent) != 0) bytes += "sum ";
  return bytes;
}

bool has_checksums(const std::string& stored) { return is_checksummed(kCompressionLz4, as_bytes(stored)); }

TEST(Unpack, ChecksumsCoverLz4DataIfAllFramesHaveThem) {
  for (const char checksums : {kOfContent, kOfBlocks, static_cast<char>(kOfContent | kOfBlocks)}) {
    const std::string good = frame(checksums, "event");
    EXPECT_TRUE(has_checksums(good));
    EXPECT_TRUE(has_checksums(kSkipped + good + frame(kOfContent, "") + kSkipped + good));
    EXPECT_TRUE(has_checksums(good + "ignored")) << "nothing of it is data";
    EXPECT_FALSE(has_checksums(good + frame(0, "event")));
    EXPECT_FALSE(has_checksums(frame(checksums, "") + frame(0, "event")));
    for (std::size_t size = 0; size < good.size(); ++size) EXPECT_FALSE(has_checksums(good.substr(0, size))) << size;
  }
  EXPECT_FALSE(has_checksums(frame(0, "event")));
  EXPECT_FALSE(has_checksums(kSkipped));
}

}  // namespace
}  // namespace recordfs::proio
