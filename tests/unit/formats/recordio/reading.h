// What the tests of this folder ask of a recordio file: every record, every region, every chunk.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/formats/container.h"

namespace recordfs::recordio {

using Items = std::vector<std::string>;

// Null when the bytes are refused.
std::unique_ptr<Container> open_file(std::string_view bytes, const Limits& limits = {});

struct Reading {
  Items records;                    // those that can be read
  std::vector<Error> failures;      // of the others, and of chunks that can't be decoded
  std::vector<std::string> damage;  // "[7,20) damage: reason"
  std::vector<ChunkInfo> chunks;
};

// The whole file, step by step; it expects every step to succeed, and locate() to find each chunk at each end.
Reading read_all(const Container& container);
Reading read_file(std::string_view bytes, const Limits& limits = {});

// `size` characters that depend on `seed`.
std::string text(std::size_t size, char seed = 'a');

}  // namespace recordfs::recordio
