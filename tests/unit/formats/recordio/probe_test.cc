// Recognizing recordio files and their version.
#include <gtest/gtest.h>

#include "core/formats/recordio/format.h"
#include "tests/unit/formats/recordio/reading.h"
#include "tests/writers/recordio/writer.h"

namespace recordfs::recordio {
namespace {

using namespace recordio_writer;

int bid(std::string_view bytes, std::string_view name = "file", ProbeDepth depth = ProbeDepth::kSearch) {
  const MemorySource source(Buffer::copy_of({}, as_bytes(bytes)).value());
  return kFormat.probe({}, source, name, depth).value();
}

std::string version(std::string_view bytes) {
  const auto container = open_file(bytes);
  return container ? std::get<std::string>(container->traits().facts.at(0).value) : "refused";
}

TEST(Probe, BothFormatsAreRecognized) {
  EXPECT_EQ(version(header({})), "current");
  EXPECT_EQ(version(unpacked("a")), "legacy");
  EXPECT_EQ(version(packed({"a"})), "legacy");
  EXPECT_EQ(bid(header({}), "file", ProbeDepth::kHead), 96);
  EXPECT_EQ(bid(packed({"a"}), "file", ProbeDepth::kHead), 96);
}

// The magic of a body block is the same as that of a legacy packed record.
TEST(Probe, BodyWithoutAHeaderIsTheCurrentFormat) { EXPECT_EQ(version(body({"a"})), "current"); }

TEST(Probe, DamagedHeadIsStillRecognized) {
  const std::string file = header({}) + body({"a"}) + body({"b"});
  for (std::size_t at = 0; at < 40; ++at) {
    std::string broken = file;
    broken[at] = static_cast<char>(broken[at] ^ 1);
    EXPECT_GT(bid(broken, "file", ProbeDepth::kHead), 0) << at;
    EXPECT_EQ(version(broken), "current") << at;
  }
  for (std::size_t at = 0; at < 20; ++at) {
    std::string broken = unpacked("one") + unpacked("two");
    broken[at] = static_cast<char>(broken[at] ^ 1);
    EXPECT_GT(bid(broken, "file", ProbeDepth::kHead), 0) << at;
    EXPECT_EQ(version(broken), "legacy") << at;
  }
}

TEST(Probe, EmptyFileIsRecognizedByItsNameOnly) {
  EXPECT_EQ(bid("", "a.grail-rio"), 1);
  EXPECT_EQ(bid("", "a.grail-rpk-gz"), 1);
  EXPECT_EQ(bid("", "a.log"), 0);
  EXPECT_TRUE(read_file("").records.empty());
}

TEST(Probe, BeginningOfAMagicIsRecognized) {
  EXPECT_EQ(version(header({}).substr(0, 4)), "current");
  EXPECT_EQ(version(unpacked("a").substr(0, 7)), "legacy");
  EXPECT_EQ(version(header({}).substr(0, 3)), "refused");
}

TEST(Probe, DestroyedHeadIsRecognizedBySearch) {
  std::string file = header({}) + body({"a"}) + body({"b"}) + body({"c"});
  file.replace(0, 70000, 70000, 'x');
  EXPECT_EQ(bid(file, "file", ProbeDepth::kHead), 0);
  EXPECT_GT(bid(file), 0);
  EXPECT_EQ(version(file), "current");
}

TEST(Probe, FileThatOnlyEmbedsAContainerIsNotRecognized) {
  const std::string archive = std::string(512, 'x') + header({}) + body({"a"}) + std::string(512, 'y');
  EXPECT_EQ(bid(archive), 0);
  EXPECT_EQ(bid(std::string(512, 'x') + unpacked("a")), 0);
  EXPECT_GT(bid(archive, "damaged.grail-rio"), 0);
}

TEST(Probe, OtherBytesAreRefused) {
  EXPECT_EQ(version(std::string(100000, '\0')), "refused");
  EXPECT_EQ(version(text(100000)), "refused");
  EXPECT_EQ(version("x"), "refused");
}

}  // namespace
}  // namespace recordfs::recordio
