#include "core/formats/riegeli/format.h"

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "core/formats/riegeli/wire.h"
#include "tests/unit/formats/riegeli/walk.h"
#include "tests/writers/riegeli/writer.h"

namespace recordfs::riegeli {
namespace {

using riegeli_writer::simple_chunk;
using riegeli_writer::Writer;

TEST(Probe, RecognizesTheSignatureOrValidChunksAfterADamagedHead) {
  const auto bid = [](const std::string& file, std::string_view name, ProbeDepth depth) {
    auto buffer = Buffer::copy_of({}, as_bytes(file));
    return kFormat.probe({}, MemorySource(std::move(*buffer)), name, depth).value_or(-1);
  };
  Writer writer;
  while (writer.size() < 3 * kBlockSize) writer.add(simple_chunk(std::vector<std::string>(10, std::string(90, 'r'))));
  std::string file = writer.file();
  EXPECT_EQ(bid(file, "any", ProbeDepth::kHead), 200);
  EXPECT_EQ(bid(file.substr(0, 10), "any", ProbeDepth::kHead), 80);
  EXPECT_EQ(bid(file.substr(0, 7), "any", ProbeDepth::kHead), 0);
  EXPECT_EQ(bid("", "a.riegeli", ProbeDepth::kHead), 1);
  EXPECT_EQ(bid("", "a", ProbeDepth::kSearch), 0);
  file[30] = static_cast<char>(file[30] ^ 0x10);
  EXPECT_EQ(bid(file, "any", ProbeDepth::kHead), 60);
  file[3] = static_cast<char>(file[3] ^ 0x10);
  EXPECT_EQ(bid(file, "any", ProbeDepth::kHead), 0);
  EXPECT_EQ(bid(file, "any", ProbeDepth::kSearch), 60);
  EXPECT_EQ(bid(std::string(300000, 'x'), "any.riegeli", ProbeDepth::kSearch), 0);
}

TEST(Facts, DescribeTheFirstChunks) {
  Writer writer;
  writer.add(simple_chunk({"a"}, 'z'));
  const auto facts = open_bytes(writer.file())->traits().facts;
  ASSERT_EQ(facts.size(), 4u);
  EXPECT_EQ(facts[1].name, "metadata");
  EXPECT_EQ(std::get<bool>(facts[1].value), false);
  EXPECT_EQ(std::get<std::string>(facts[2].value), "simple");
  EXPECT_EQ(std::get<std::string>(facts[3].value), "zstd");
}

}  // namespace
}  // namespace recordfs::riegeli
