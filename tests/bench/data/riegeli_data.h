// Shared code of simple and transposed Riegeli chunks.
#pragma once

#include <string>
#include <string_view>

#include "tests/bench/data/form.h"

namespace recordfs::bench {

// Returns the first byte of a chunk's data.
char compression_type(Packing packing);

// A compressed part of a chunk's data.
struct Part {
  Packing packing = Packing::kNone;
  std::string size;  // of the content, as a varint; empty if not compressed
  std::string stored;
  std::uint64_t unpacked_size = 0;

  std::size_t length() const { return size.size() + stored.size(); }
};

Part part_of(Packing packing, std::string_view content);
void append(PackedChunk& chunk, const Part& part);

}  // namespace recordfs::bench
