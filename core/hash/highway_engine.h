// HighwayHash piece by piece, compiled once for each instruction set.
//
// Included by sources that are compiled with -mavx2 and the like: no header here may define an inline
// function that the rest of the program shares, or the linker might keep the one that needs AVX2.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace recordfs {

// Functions over a state of kHashStateBytes aligned to kHashStateAlignment, which needs no destruction.
struct HashEngine {
  void (*start)(void* state, const uint64_t (&key)[4]);
  void (*append)(void* state, const char* bytes, size_t size);
  uint64_t (*finish)(void* state);
};

inline constexpr size_t kHashStateBytes = 256;
inline constexpr size_t kHashStateAlignment = 64;

extern const HashEngine kBaseEngine;   // needs nothing that the rest of the program does not need
extern const HashEngine kSse41Engine;  // x86-64 only
extern const HashEngine kAvx2Engine;   // x86-64 only

inline constexpr size_t kMaxEngines = 3;

// Writes the engines that this processor can run to `engines`, fastest first, and returns how many.
size_t supported_engines(const HashEngine* (&engines)[kMaxEngines]);

}  // namespace recordfs
