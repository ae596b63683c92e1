// The instruction sets that core/hash selects code by, on x86-64.
#pragma once

namespace recordfs {

struct InstructionSets {
  bool sse41 = false;
  bool sse42 = false;
  bool avx = false;  // with an operating system that saves its registers, like AVX2
  bool avx2 = false;
};

// Returns this processor's instruction sets. The first call finds them, and executes CPUID three times. In a virtual
// machine each one can take 8 us, and the compiler's __builtin_cpu_supports executes it twelve times at the start of
// every process. Thread-safe.
const InstructionSets& instruction_sets();

}  // namespace recordfs
