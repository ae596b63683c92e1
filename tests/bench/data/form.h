// Forms: containers of each format with the codecs that the benchmarks use, written record by record.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/bench/data/packing.h"

namespace recordfs::bench {

enum class Check : std::uint8_t { kNone, kHighway, kCrc32, kCrc32c, kAdler32 };

// A chunk as a decoder sees it, without the file around it: the bytes to verify and decompress.
struct PackedChunk {
  struct Piece {
    Packing packing = Packing::kNone;
    std::size_t begin = 0;  // in `stored`
    std::size_t size = 0;
    std::uint64_t unpacked_size = 0;
  };

  std::string stored = {};  // what the checksums cover
  Check check = Check::kNone;
  std::size_t checked_at_once = SIZE_MAX;  // bytes covered by one checksum
  std::vector<Piece> pieces = {};
  std::uint64_t records = 0;
  std::uint64_t record_bytes = 0;

  // Appends a piece to `stored`.
  void add(Packing packing, std::string_view packed_bytes, std::uint64_t unpacked_size);
};

// Writes a container. One thread.
class FormWriter {
 public:
  virtual ~FormWriter() = default;
  virtual void add(std::string record) = 0;
  // Returns the bytes that are ready, each once; at the end all remaining ones.
  virtual std::string take(bool at_end) = 0;
  // Makes chunks of `records` records. Returns false if the form has no such chunks. Call it before add().
  virtual bool set_records_per_chunk(std::uint64_t /*records*/) { return false; }
  // Returns the chunks finished since the last call, if keep_chunks() was called before.
  std::vector<PackedChunk> take_chunks() { return std::exchange(chunks_, {}); }
  void keep_chunks() { keeps_chunks_ = true; }

 protected:
  void note(PackedChunk chunk) {
    if (keeps_chunks_) chunks_.push_back(std::move(chunk));
  }

 private:
  bool keeps_chunks_ = false;
  std::vector<PackedChunk> chunks_;
};

// Collects records until they have 1 MiB together, the default chunk size of Riegeli's own writer, or are as many as
// set.
class Batch {
 public:
  static constexpr std::size_t kBytes = 1u << 20;

  explicit Batch(std::uint64_t largest = UINT64_MAX) : largest_(largest) {}

  void add(std::string record) {
    bytes_ += record.size();
    records_.push_back(std::move(record));
  }
  bool is_full() const { return bytes_ >= kBytes || records_.size() >= largest_; }
  bool empty() const { return records_.empty(); }
  const std::vector<std::string>& records() const { return records_; }
  std::uint64_t bytes() const { return bytes_; }
  void clear() { *this = Batch(largest_); }

 private:
  std::uint64_t largest_;  // number of records
  std::vector<std::string> records_;
  std::uint64_t bytes_ = 0;
};

// A writer that makes chunks from batches.
class BatchWriter : public FormWriter {
 public:
  void add(std::string record) final;
  std::string take(bool at_end) final;
  bool set_records_per_chunk(std::uint64_t records) final;

 protected:
  // Appends a chunk.
  virtual void close(const Batch& batch) = 0;
  // Appends what follows the last chunk.
  virtual void finish() {}
  // Returns the bytes that are ready.
  virtual std::string take_bytes() = 0;

 private:
  void close_batch();
  Batch batch_;
};

std::unique_ptr<FormWriter> riegeli_writer_of(Packing packing);
std::unique_ptr<FormWriter> transposed_writer_of(Packing packing);    // for kEvents only
std::unique_ptr<FormWriter> wide_writer_of(Packing packing);          // for kWide only
std::unique_ptr<FormWriter> array_record_writer_of(Packing packing);  // kNone or kZstd
std::unique_ptr<FormWriter> tfrecord_writer();
std::unique_ptr<FormWriter> leveldb_writer();
std::unique_ptr<FormWriter> leveldb_table_writer_of(Packing packing);  // kNone, kSnappy or kZstd
std::unique_ptr<FormWriter> recordio_writer_of(Packing packing);
std::unique_ptr<FormWriter> proio_writer_of(Packing packing);
std::unique_ptr<FormWriter> bloscpack_writer_of(const char* codec);

struct Form {
  std::string_view name;
  std::unique_ptr<FormWriter> (*writer)();
};

std::span<const Form> forms();
// Returns null for an unknown name.
const Form* form_named(std::string_view name);

}  // namespace recordfs::bench
