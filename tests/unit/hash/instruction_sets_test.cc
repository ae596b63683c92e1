#include "core/hash/instruction_sets.h"

#include <gtest/gtest.h>

namespace recordfs {
namespace {

TEST(InstructionSets, AreThoseThatTheCompilerFinds) {
  const InstructionSets& found = instruction_sets();
  EXPECT_EQ(found.sse41, __builtin_cpu_supports("sse4.1") != 0);
  EXPECT_EQ(found.sse42, __builtin_cpu_supports("sse4.2") != 0);
  EXPECT_EQ(found.avx, __builtin_cpu_supports("avx") != 0);
  EXPECT_EQ(found.avx2, __builtin_cpu_supports("avx2") != 0);
}

}  // namespace
}  // namespace recordfs
