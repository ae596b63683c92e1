// HighwayHash, compiled once for each instruction set.
//
// Included by sources that are compiled with -mavx2 and similar options. This header must not include headers that
// define inline functions shared with the rest of the program. The linker keeps one copy of such a function, possibly
// the one that requires AVX2.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace recordfs {

// Operates on a state of kHashStateBytes bytes, aligned to kHashStateAlignment. The state needs no destructor call.
struct HashEngine {
  void (*start)(void* state, const uint64_t (&key)[4]);
  void (*append)(void* state, const char* bytes, size_t size);
  uint64_t (*finish)(void* state);
  uint64_t (*hash)(const uint64_t (&key)[4], const char* bytes, size_t size);  // of all bytes, without a state
};

inline constexpr size_t kHashStateBytes = 256;
inline constexpr size_t kHashStateAlignment = 64;

extern const HashEngine kAnyOrderEngine;  // slow, for processors of any byte order
extern const HashEngine kBaseEngine;      // requires no additional instructions, but the lowest byte first
extern const HashEngine kSse41Engine;     // x86-64 only
extern const HashEngine kAvx2Engine;      // x86-64 only

inline constexpr size_t kMaxEngines = 4;

// Writes the engines that this processor supports to `engines`, fastest first, and returns their number.
size_t supported_engines(const HashEngine* (&engines)[kMaxEngines]);

}  // namespace recordfs
