// A chunk that reads from the file: for records too large for memory.
#pragma once

#include <memory>
#include <vector>

#include "core/base/source.h"
#include "core/formats/chunk.h"
#include "core/formats/leveldb_log/sinks.h"

namespace recordfs::leveldb_log {

// Reads parts of uncompressed records on demand, and verifies each fragment that it touches, every time. Any thread.
class PartsChunk final : public Chunk {
 public:
  // `parts`: of all records, in order.
  PartsChunk(std::shared_ptr<const Source> source, const Wire& wire, Layout layout, std::vector<Part> parts);
  std::uint64_t payload_size() const override { return layout().end(); }
  Result<Slice> read(std::uint64_t offset, std::uint64_t length) const override;
  std::uint64_t memory() const override;

 private:
  const std::shared_ptr<const Source> source_;
  const Wire wire_;
  const std::vector<Part> parts_;
};

}  // namespace recordfs::leveldb_log
