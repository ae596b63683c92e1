// What scan, layout, decode and decode_by_parts want of the records that an Assembly puts together.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "core/base/buffer.h"
#include "core/formats/chunk.h"
#include "core/formats/leveldb_log/assembly.h"

namespace recordfs::leveldb_log {

// What a log's records are compressed with.
struct Compression {
  enum class Kind : std::uint8_t {
    kNone,
    kZstd,
    kUnknown,  // a number that is not known here
    kLost,     // there is one perhaps, but the fragment that names it is damaged
  };
  Kind kind = Kind::kNone;
  std::uint32_t number = 0;  // as in the file

  // "none", "zstd", or "-". Static storage.
  std::string_view codec() const;
};

// Learns the size of each record and nothing else: what scan needs.
class SizeSink : public RecordSink {
 public:
  explicit SizeSink(Compression compression) : compression_(compression) {}
  void begin(Position at) override;
  Result<void> piece(const Fragment& fragment, Bytes payload) override;
  Result<std::uint64_t> size(std::uint64_t limit) override;
  Result<void> keep() override { return {}; }

 protected:
  const Compression& compression() const { return compression_; }
  // Of the record at hand: where it begins, and its stored bytes, as far as they are needed for what the sink wants.
  Position record_begin() const { return begin_; }
  Bytes stored() const { return stored_; }
  std::uint64_t decoded_size() const { return decoded_size_; }
  // Why the record can't be read although its fragments are sound, as far as its size tells.
  const std::optional<Error>& failure() const { return failure_; }

 private:
  // Whether more of the record's stored bytes are wanted.
  virtual bool wants_stored() const;

  Compression compression_;
  Position begin_ = 0;
  std::uint64_t stored_size_ = 0;
  std::uint64_t decoded_size_ = 0;
  std::vector<std::byte> stored_;
  std::optional<Error> failure_;
};

// Learns where the records stand in the decoded chunk.
class LayoutSink : public SizeSink {
 public:
  using SizeSink::SizeSink;
  Result<void> keep() override;
  Layout take_layout() { return std::move(layout_); }

 protected:
  // The record at hand is there, and can't be read.
  void keep_failed(const Error& why) { layout_.add_failed(decoded_size(), why); }
  std::uint64_t kept() const { return layout_.end(); }

 private:
  Layout layout_;
};

// Decodes all records into a buffer, one behind the other.
class DecodeSink final : public LayoutSink {
 public:
  // `payload` has the size of all records together, as scan has counted them.
  DecodeSink(Compression compression, MutableBytes payload) : LayoutSink(compression), payload_(payload) {}
  void begin(Position at) override;
  Result<void> piece(const Fragment& fragment, Bytes payload) override;
  Result<void> keep() override;

 private:
  bool wants_stored() const override { return compression().kind == Compression::Kind::kZstd; }

  MutableBytes payload_;
  std::uint64_t copied_ = 0;  // of the record at hand, uncompressed
};

// A fragment of a record as a part of the decoded chunk.
struct Part {
  std::uint64_t offset = 0;  // where its payload stands in the decoded chunk
  Position begin = 0;        // of its header in the file
};

// Notes where each part of the records stands in the file. For uncompressed records.
class PartsSink final : public LayoutSink {
 public:
  PartsSink() : LayoutSink(Compression{}) {}
  void begin(Position at) override;
  Result<void> piece(const Fragment& fragment, Bytes payload) override;
  Result<void> keep() override;
  std::vector<Part> take_parts();

 private:
  std::vector<Part> parts_;
  std::size_t kept_parts_ = 0;
  std::uint64_t pending_ = 0;
};

}  // namespace recordfs::leveldb_log
