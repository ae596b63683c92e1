// Reads everything from a recordio file: records, damaged regions, chunks.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/formats/container.h"

namespace recordfs::recordio {

using Items = std::vector<std::string>;

// Returns null if the bytes are refused.
std::unique_ptr<Container> open_file(std::string_view bytes, const Limits& limits = {});

struct Reading {
  Items records;                    // the readable ones
  std::vector<Error> failures;      // of the others, and of chunks that cannot be decoded
  std::vector<std::string> damage;  // "[7,20) damage: reason"
  std::vector<ChunkInfo> chunks;
};

// Scans the whole file. Expects every step to succeed, and locate() to find each chunk from its first and last byte.
Reading read_all(const Container& container);
Reading read_file(std::string_view bytes, const Limits& limits = {});

// Returns `size` characters that depend on `seed`.
std::string text(std::size_t size, char seed = 'a');

// Returns `file` with the byte at `at` changed by XOR.
std::string flipped(std::string file, std::size_t at, char with = 1);

}  // namespace recordfs::recordio
