// The yardstick for sequential reading: for each format a reader as a programmer would write it in an afternoon. It
// verifies every checksum, recovers nothing, and uses the libraries directly. The first error ends the program.
// One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace recordfs::bench {

[[noreturn]] void fail(const char* reason);

// A file, read from its beginning to its end in large pieces, or from another position on.
class Input {
 public:
  // `piece`: bytes that are read at once.
  Input(const char* path, std::size_t piece);

  // Returns the next `size` bytes, or fewer if the file ends before. Valid until the next call.
  std::string_view take(std::size_t size) {
    const std::string_view bytes = peek(size);
    at_ += bytes.size();
    return bytes;
  }
  // The same, and the next call returns them again.
  std::string_view peek(std::size_t size) {
    if (end_ - at_ < size) fill(size);
    return {buffer_.get() + at_, size < end_ - at_ ? size : end_ - at_};
  }
  // Fails if the file ends before.
  std::string_view need(std::size_t size) {
    const std::string_view bytes = take(size);
    if (bytes.size() < size) fail("the file is truncated");
    return bytes;
  }
  // Continues at another position.
  void seek(std::uint64_t position);
  // Reads `size` bytes at a position, independently of take().
  std::string at(std::uint64_t position, std::size_t size) const;
  std::uint64_t size() const;

 private:
  void fill(std::size_t size);

  int file_;
  std::size_t room_;
  std::unique_ptr<char[]> buffer_;
  std::size_t at_ = 0;   // the bytes from here to end_ are not taken
  std::size_t end_ = 0;  // the file's bytes in the buffer
};

// Receives the records in order. Counts them, and also writes them to standard output or searches them for a text.
class Output {
 public:
  static Output counting() { return {false, {}}; }
  static Output writing() { return {true, {}}; }
  static Output searching(std::string text) { return {false, std::move(text)}; }

  void add(std::string_view record) {
    ++records_;
    bytes_ += record.size();
    if (writes_) write(record);
    if (!text_.empty()) found_ += memmem(record.data(), record.size(), text_.data(), text_.size()) != nullptr ? 1 : 0;
  }
  // Writes what is buffered. Call it once after the last record.
  void flush();

  std::uint64_t records() const { return records_; }
  std::uint64_t bytes() const { return bytes_; }
  std::uint64_t found() const { return found_; }

 private:
  Output(bool writes, std::string text) : writes_(writes), text_(std::move(text)) {}
  void write(std::string_view record);

  const bool writes_;
  const std::string text_;
  std::vector<char> pending_;
  std::uint64_t records_ = 0;
  std::uint64_t bytes_ = 0;
  std::uint64_t found_ = 0;  // records that contain the text
};

// Decompresses with contexts and a buffer that it reuses. Results are valid until the next call. Formats that do not
// store the decompressed size are decompressed again with twice the room if the buffer was too small.
class Unpacker {
 public:
  Unpacker();
  ~Unpacker();

  std::string_view zstd(std::string_view stored);
  std::string_view brotli(std::string_view stored, std::size_t size);
  std::string_view snappy(std::string_view stored);
  std::string_view deflate(std::string_view stored);
  std::string_view gzip(std::string_view stored);
  std::string_view lz4(std::string_view stored);
  std::string_view blosc(std::string_view stored, std::size_t size);

 private:
  template <class Decode>
  std::string_view with_room(Decode decode);
  char* room_for(std::size_t size);

  struct Contexts;
  const std::unique_ptr<Contexts> contexts_;
  std::size_t room_ = 0;
  std::unique_ptr<char[]> buffer_;
};

// Returns the little-endian number at `at`. REQUIRES: it is inside `bytes`.
template <class Number>
Number number_at(std::string_view bytes, std::size_t at) {
  Number number;
  std::memcpy(&number, bytes.data() + at, sizeof number);
  return number;
}

// Removes a varint, or `size` bytes, from the front of `bytes`. Fails if they are not there.
inline std::uint64_t take_varint(std::string_view& bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < bytes.size() && i < 10; ++i) {
    const auto byte = static_cast<unsigned char>(bytes[i]);
    value |= std::uint64_t{byte & 0x7Fu} << (7 * i);
    if (byte < 0x80) {
      bytes.remove_prefix(i + 1);
      return value;
    }
  }
  fail("a number is broken");
}
inline std::string_view take_bytes(std::string_view& bytes, std::size_t size) {
  if (size > bytes.size()) fail("a length is too large");
  const std::string_view taken = bytes.substr(0, size);
  bytes.remove_prefix(size);
  return taken;
}

std::uint32_t plain_crc32(std::string_view bytes);
// The CRC-32C as LevelDB and TFRecord store it.
std::uint32_t masked_crc32c(std::string_view bytes);
std::uint64_t plain_riegeli_hash(std::string_view bytes);

void read_leveldb_log(Input& in, Output& out);
void read_leveldb_table(Input& in, Output& out);
void read_tfrecord(Input& in, Output& out);
void read_riegeli(Input& in, Output& out);
// Stops at the chunk that begins at `end`.
void read_riegeli_until(std::uint64_t end, Input& in, Output& out);
// Reads single records, each given as OFFSET/INDEX: the offset of its chunk, and its index there.
void pick_riegeli(Input& in, Output& out, std::span<const char* const> picks);
void read_array_record(Input& in, Output& out);
void read_recordio(Input& in, Output& out);
void read_proio(Input& in, Output& out);
void read_bloscpack(Input& in, Output& out);

}  // namespace recordfs::bench
