#include <string>

#include <gtest/gtest.h>

#include "core/formats/proio/format.h"
#include "tests/unit/formats/proio/streams.h"

namespace recordfs::proio {
namespace {

int bid(std::string_view bytes, ProbeDepth depth = ProbeDepth::kHead, std::string_view name = "run7.proio") {
  return *kFormat.probe({}, *source_of(bytes), name, depth);
}

TEST(Probe, EmptyFileIsRecognizedByItsNameOnly) {
  EXPECT_EQ(bid(""), 1);
  EXPECT_EQ(bid("", ProbeDepth::kSearch, "run7.bin"), 0);
  EXPECT_TRUE(open_bytes(""));
}

TEST(Probe, MagicAndHeaderAreRecognizedUnderAnyName) {
  EXPECT_EQ(bid(bucket({}), ProbeDepth::kHead, "x"), 128);
  EXPECT_EQ(bid(magic() + std::string("\x01\x00\x00\x00\x07", 5)), 0);
}

TEST(Probe, StreamTruncatedInItsFirstMagicIsRecognized) {
  EXPECT_EQ(bid(magic().substr(0, 8)), 64);
  EXPECT_EQ(bid(magic().substr(0, 7)), 0);
  EXPECT_TRUE(open_bytes(magic().substr(0, 8)));
}

TEST(Probe, BucketAfterADamagedHeadIsFoundOnlyBySearch) {
  const std::string bytes = std::string(100, 'x') + bucket({});
  EXPECT_EQ(bid(bytes), 0);
  EXPECT_GT(bid(bytes, ProbeDepth::kSearch), 1);
  EXPECT_LT(bid(bytes, ProbeDepth::kSearch), 32);
  EXPECT_TRUE(open_bytes(bytes));
}

}  // namespace
}  // namespace recordfs::proio
