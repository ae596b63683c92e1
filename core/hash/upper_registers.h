// Clears the upper halves of the vector registers, which ISA-L uses and does not clear. Otherwise every later SSE
// instruction depends on the old register content. That doubles the time of a scan over short records.
#pragma once

namespace recordfs {

#if defined(RECORDFS_HASH_X86)
[[gnu::target("avx")]] inline void zero_upper_halves() { __builtin_ia32_vzeroupper(); }

// Call after each ISA-L call. Does nothing on processors without AVX. Thread-safe.
inline void clear_upper_registers() {
  static const bool has_them = static_cast<bool>(__builtin_cpu_supports("avx"));
  if (has_them) zero_upper_halves();
}
#else
inline void clear_upper_registers() {}
#endif

}  // namespace recordfs
