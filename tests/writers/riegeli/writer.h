// A small writer of Riegeli/records files for tests and benchmarks: writes chunks of any content, valid or not, at any
// position, with valid hashes and block headers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace recordfs::riegeli_writer {

// A chunk's header fields and data. Sizes and hashes are computed if they are not given.
struct ChunkSpec {
  char type = 'r';
  std::uint64_t num_records = 0;
  std::uint64_t decoded_data_size = 0;
  std::string data = {};
  std::optional<std::uint64_t> data_size = {};  // a false data size; no padding is added for it
  std::optional<std::uint64_t> data_hash = {};
};

std::string varint(std::uint64_t value);

// Returns the data of a simple chunk. `compression_type` is 0 or 'z'.
ChunkSpec simple_chunk(const std::vector<std::string>& records, char compression_type = 0);

// Returns a part of chunk data; with 'z' or 'b', its size and a zstd frame or a Brotli stream.
std::string unit(std::string_view content, char compression_type);

class Writer {
 public:
  // Starts with a signature chunk.
  Writer() { add({.type = 's'}); }
  // Continues an existing file.
  explicit Writer(std::string file) : file_(std::move(file)) {}

  // Appends a chunk and returns its begin.
  std::uint64_t add(const ChunkSpec& chunk);
  // Appends a padding chunk that ends at `end`, which must be a possible end of a chunk.
  void pad_to(std::uint64_t end);

  const std::string& file() const { return file_; }
  std::uint64_t size() const { return taken_ + file_.size(); }

  // Returns and removes the bytes written so far, for files too large to hold in memory.
  std::string take() {
    taken_ += file_.size();
    return std::exchange(file_, {});
  }

 private:
  void put(std::string_view bytes);
  void put_block_header();

  std::string file_;
  std::uint64_t taken_ = 0;  // bytes of the file before file_
  std::uint64_t chunk_begin_ = 0;
  std::uint64_t chunk_end_ = 0;
};

// Recomputes the hashes of a chunk's header and data after its bytes were changed in place. REQUIRES: no block header
// interrupts the chunk.
void mend_chunk(std::string& file, std::uint64_t begin);

}  // namespace recordfs::riegeli_writer
