// What ISA-L leaves undone: its functions use the upper halves of the vector registers and return without clearing
// them. From then on each SSE instruction of the rest of the program waits for the register's old content, which costs
// a walk over short records half of its time.
#pragma once

namespace recordfs {

#if defined(RECORDFS_HASH_X86)
[[gnu::target("avx")]] inline void zero_upper_halves() { __builtin_ia32_vzeroupper(); }

// To be called behind each call of ISA-L. Any thread, any processor.
inline void clear_upper_registers() {
  static const bool has_them = static_cast<bool>(__builtin_cpu_supports("avx"));
  if (has_them) zero_upper_halves();
}
#else
inline void clear_upper_registers() {}
#endif

}  // namespace recordfs
