// An open recordio file of the legacy format; see core/formats/container.h. Each of its records is a chunk.
#pragma once

#include <memory>

#include "core/base/limits.h"
#include "core/base/source.h"
#include "core/formats/container.h"
#include "core/formats/recordio/legacy/wire.h"

namespace recordfs::recordio::legacy {

// The packed record: a table of item sizes, and items that may be compressed by an undeclared transform. FORMAT.md,
// "Legacy".
struct Packed {
  Layout layout;             // of the items, from 0
  Position items = 0;        // file position of the stored items
  std::uint64_t stored = 0;  // their stored size in bytes
  // Returns whether the items are stored unchanged. Bytes after them are ignored.
  bool is_plain() const { return layout.total() == stored; }
};

// Why a search is in progress, as stored in ChunkKey::state.
enum class Loss : std::uint8_t { kNone, kNoRecord, kTooLong };

class LegacyContainer final : public Container {
 public:
  LegacyContainer(std::shared_ptr<const Source> source, const Limits& limits);

  const ContainerTraits& traits() const override { return traits_; }
  Result<Step> scan(const RequestContext& context, ChunkKey at) const override;
  Result<Layout> layout(const RequestContext& context, const ChunkInfo& chunk) const override;
  Result<Verification> verify(const RequestContext& context, const ChunkInfo& chunk) const override;
  Result<std::shared_ptr<const Chunk>> decode(const RequestContext& context, const ChunkInfo& chunk) const override;
  Result<std::shared_ptr<const Chunk>> open_in_place(const RequestContext& context,
                                                     const ChunkInfo& chunk) const override;

 private:
  Result<Step> describe(const RequestContext& context, Position begin, const RecordHeader& header) const;
  // Searches for the next record from `from` on, reading about Limits::scan_bytes.
  Result<Step> search(const RequestContext& context, Position from, Loss loss) const;
  // Returns the chunk as stored. An unpacked record is one item.
  Result<Packed> read_items(const RequestContext& context, const ChunkInfo& chunk) const;
  Result<void> check_limits(const ChunkInfo& chunk, const Packed& packed) const;

  const std::shared_ptr<const Source> source_;
  const Limits limits_;
  const ContainerTraits traits_;
};

}  // namespace recordfs::recordio::legacy
