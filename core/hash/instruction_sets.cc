#include "core/hash/instruction_sets.h"

#include <cpuid.h>
#include <immintrin.h>

namespace recordfs {
namespace {

// REQUIRES: OSXSAVE.
[[gnu::target("xsave")]] bool saves_vector_registers() {
  constexpr unsigned kXmmAndYmm = 6;
  return (_xgetbv(0) & kXmmAndYmm) == kXmmAndYmm;
}

InstructionSets of_processor() {
  InstructionSets found;
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  const auto highest = static_cast<unsigned>(__get_cpuid_max(0, nullptr));  // clang returns int
  __cpuid(1, a, b, c, d);
  found.sse41 = (c & bit_SSE4_1) != 0;
  found.sse42 = (c & bit_SSE4_2) != 0;
  found.avx = (c & bit_AVX) != 0 && (c & bit_OSXSAVE) != 0 && saves_vector_registers();
  if (!found.avx || highest < 7) return found;
  __cpuid_count(7, 0, a, b, c, d);
  found.avx2 = (b & bit_AVX2) != 0;
  return found;
}

}  // namespace

const InstructionSets& instruction_sets() {
  static const InstructionSets found = of_processor();
  return found;
}

}  // namespace recordfs
