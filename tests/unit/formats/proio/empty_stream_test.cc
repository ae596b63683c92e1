#include "core/formats/proio/format.h"

#include <gtest/gtest.h>

namespace recordfs::proio {
namespace {

std::shared_ptr<const Source> source_of(std::string_view bytes) {
  return std::make_shared<MemorySource>(*Buffer::copy_of(as_bytes(bytes)));
}

TEST(EmptyStream, AnEmptyStreamHasNoRecords) {
  const auto source = source_of("");
  EXPECT_EQ(*kFormat.probe(*source, "run7.proio", ProbeDepth::kHead), 1);
  const auto container = kFormat.open(source, Limits{});
  ASSERT_TRUE(container);
  EXPECT_EQ((*container)->format(), "proio");
  const auto step = (*container)->scan((*container)->first());
  ASSERT_TRUE(step);
  EXPECT_FALSE(step->chunk);
  EXPECT_FALSE(step->next);
  EXPECT_TRUE(step->damage.empty());
}

TEST(EmptyStream, AnotherNameIsRefused) { EXPECT_EQ(*kFormat.probe(*source_of(""), "run7.bin", ProbeDepth::kHead), 0); }

TEST(EmptyStream, BytesAreRefusedWhateverTheName) {
  const auto source = source_of("x");
  EXPECT_EQ(*kFormat.probe(*source, "run7.proio", ProbeDepth::kHead), 0);
  const auto container = kFormat.open(source, Limits{});
  ASSERT_FALSE(container);
  EXPECT_EQ(container.error().code, Code::kNoContainer);
}

}  // namespace
}  // namespace recordfs::proio
