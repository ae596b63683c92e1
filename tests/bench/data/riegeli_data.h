// Shared code of simple and transposed Riegeli chunks.
#pragma once

#include <string>
#include <string_view>

#include "tests/bench/data/form.h"
#include "tests/writers/riegeli/writer.h"

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

// Returns a simple chunk of the batch's records.
PackedChunk simple_chunk(const Batch& batch, Packing packing);

// Writes a chunk and returns its begin.
std::uint64_t write_chunk(riegeli_writer::Writer& writer, char type, const PackedChunk& chunk);

}  // namespace recordfs::bench
