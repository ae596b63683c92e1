// What the tests of this folder ask of a log: every record, every region, every chunk.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/formats/container.h"

namespace recordfs::leveldb_log {

// Null when the bytes are refused.
std::unique_ptr<Container> open_log(std::string_view bytes, const Limits& limits = {});

struct Reading {
  std::vector<std::string> records;  // those that can be read
  std::vector<Error> failures;       // of those that can't
  std::vector<DamagedRegion> damage;
  std::vector<ChunkInfo> chunks;
  std::uint64_t steps = 0;
};

// The whole log, step by step; it expects every step and every chunk to succeed.
Reading read_all(const Container& container);
Reading read_log(std::string_view bytes, const Limits& limits = {});

// "[7,20) damage 1: reason" with the number of records lost, or "?"; one line each.
std::string describe(const std::vector<DamagedRegion>& damage);

// A name of `size` bytes that depends on `seed`.
std::string text(std::size_t size, char seed = 'a');

}  // namespace recordfs::leveldb_log
