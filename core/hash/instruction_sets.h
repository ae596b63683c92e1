// The instruction sets that core/hash selects code by, on x86-64.
#pragma once

namespace recordfs {

struct InstructionSets {
  bool sse41 = false;
  bool sse42 = false;
  bool avx = false;  // with an operating system that saves its registers, like AVX2
  bool avx2 = false;
};

// Returns those of this processor, found at the first call. It executes CPUID three times. In a virtual machine each
// one takes 20 us, and the start of the compiler's __builtin_cpu_supports executes ten of them in every process.
// Thread-safe.
const InstructionSets& instruction_sets();

}  // namespace recordfs
