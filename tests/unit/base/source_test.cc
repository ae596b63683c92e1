#include "core/base/source.h"

#include <gtest/gtest.h>

#include <limits>

namespace recordfs {
namespace {

constexpr auto kFarAway = std::numeric_limits<std::uint64_t>::max();

MemorySource source_of(std::string_view text) { return MemorySource(std::move(*Buffer::copy_of({}, as_bytes(text)))); }

std::string read(const Source& source, Position at, std::size_t size) {
  std::string out(size, '?');
  auto got = source.read_at({}, at, std::as_writable_bytes(std::span(out)));
  return got ? out.substr(0, *got) : to_string(got.error());
}

TEST(MemorySource, ReadsInsideAndAcrossTheEnd) {
  const auto source = source_of("0123456789");
  EXPECT_EQ(source.size(), 10u);
  EXPECT_EQ(read(source, 0, 10), "0123456789");
  EXPECT_EQ(read(source, 3, 4), "3456");
  EXPECT_EQ(read(source, 8, 4), "89");
  EXPECT_EQ(read(source, 10, 1), "");
  EXPECT_EQ(read(source, kFarAway, 4), "");
  EXPECT_EQ(source.generation(), 0u);
}

TEST(MemorySource, EmptySourceReadsNothing) {
  const auto source = source_of("");
  EXPECT_EQ(source.size(), 0u);
  EXPECT_EQ(read(source, 0, 4), "");
}

TEST(ReadUpTo, ReturnsFewerBytesOnlyAtTheEndOfTheSource) {
  const auto source = source_of("0123456789");
  EXPECT_EQ(as_text(read_up_to({}, source, 2, 3)->view()), "234");
  EXPECT_EQ(as_text(read_up_to({}, source, 8, kFarAway)->view()), "89");
  EXPECT_TRUE(read_up_to({}, source, 10, 1)->empty());
  EXPECT_TRUE(read_up_to({}, source, kFarAway, kFarAway)->empty());
}

TEST(ReadExactly, ReturnsAllBytesOrReportsWhereTheSourceEnds) {
  const auto source = source_of("0123456789");
  EXPECT_EQ(as_text(read_exactly({}, source, 6, 4)->view()), "6789");
  EXPECT_TRUE(read_exactly({}, source, 10, 0));
  for (const auto& [at, size] : {std::pair<Position, std::uint64_t>{6, 5}, {10, 1}, {0, kFarAway}, {kFarAway, 1}}) {
    auto cut = read_exactly({}, source, at, size);
    ASSERT_FALSE(cut) << at;
    EXPECT_EQ(cut.error().code, Code::kUnfinished);
    EXPECT_EQ(cut.error().position, 10u);
  }
}

// A source must not do this, but a file truncated during the read may.
TEST(ReadExactly, SourceThatEndsBeforeItsSizeIsAnErrorNotAShortBuffer) {
  class Short final : public Source {
   public:
    std::uint64_t size() const override { return 10; }
    Result<std::size_t> read_at(const RequestContext&, Position, MutableBytes) const override { return std::size_t{3}; }
  };
  const auto cut = read_exactly({}, Short(), 2, 8);
  ASSERT_FALSE(cut);
  EXPECT_EQ(cut.error().code, Code::kUnfinished);
  EXPECT_EQ(cut.error().position, 5u);
}

}  // namespace
}  // namespace recordfs
