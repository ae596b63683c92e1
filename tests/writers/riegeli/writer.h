// A small writer of Riegeli/records files, for tests and benchmarks: chunks of any content at any position, with
// valid hashes and block headers. It writes what it is told, sense or nonsense.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace recordfs::riegeli_writer {

// What a chunk's header says and its data holds. Sizes and hashes are computed unless they are given.
struct ChunkSpec {
  char type = 'r';
  std::uint64_t num_records = 0;
  std::uint64_t decoded_data_size = 0;
  std::string data = {};
  std::optional<std::uint64_t> data_size = {};  // another size than the data has; nothing is padded for it
  std::optional<std::uint64_t> data_hash = {};
};

std::string varint(std::uint64_t value);

// The data of a simple chunk. `compression_type` 0 or 'z'.
ChunkSpec simple_chunk(const std::vector<std::string>& records, char compression_type = 0);

// A part of chunk data: with 'z' its size and a zstd frame.
std::string unit(std::string_view content, char compression_type);

class Writer {
 public:
  // Begins with a signature chunk.
  Writer() { add({.type = 's'}); }
  // Continues a file that was begun.
  explicit Writer(std::string file) : file_(std::move(file)) {}

  // Appends a chunk and returns where it begins.
  std::uint64_t add(const ChunkSpec& chunk);
  // Appends a padding chunk that ends at `end`, a position at which a chunk may end.
  void pad_to(std::uint64_t end);

  const std::string& file() const { return file_; }
  std::uint64_t size() const { return taken_ + file_.size(); }

  // The bytes that were not taken yet, for files that are larger than memory should hold; file() begins anew.
  std::string take() {
    taken_ += file_.size();
    return std::exchange(file_, {});
  }

 private:
  void put(std::string_view bytes);
  void put_block_header();

  std::string file_;
  std::uint64_t taken_ = 0;  // bytes that stand before file_
  std::uint64_t chunk_begin_ = 0;
  std::uint64_t chunk_end_ = 0;
};

// The file with the hashes of the chunk header and of its data made right again, for a chunk whose bytes were
// changed in place and which no block header interrupts.
void mend_chunk(std::string& file, std::uint64_t begin);

}  // namespace recordfs::riegeli_writer
