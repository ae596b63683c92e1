// The Container of an open proio stream. Its chunks are the buckets, its records the events.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/limits.h"
#include "core/base/source.h"
#include "core/formats/container.h"
#include "core/formats/proio/descriptor_sets.h"
#include "core/formats/proio/framing.h"
#include "core/formats/proio/metadata.h"

namespace recordfs::proio {

class Stream final : public Container {
 public:
  Stream(std::shared_ptr<const Source> source, const Limits& limits);

  std::string_view format() const override;
  Result<Step> scan(ChunkKey at) const override { return framing_.scan(at); }
  bool headers_have_checksums() const override { return false; }
  bool has_checksum(const ChunkInfo& chunk) const override;
  bool index_fits_in_chunk() const override { return false; }
  Result<Layout> layout(const ChunkInfo& chunk) const override;
  Result<void> verify(const ChunkInfo& chunk) const override;
  Result<std::shared_ptr<const Chunk>> decode(const ChunkInfo& chunk) const override;
  Result<std::shared_ptr<const Chunk>> decode_by_parts(const ChunkInfo& chunk) const override;
  Result<std::vector<Attribute>> attributes(const ChunkInfo* last) const override;
  bool attributes_change() const override { return true; }
  Result<std::vector<Attribute>> chunk_attributes(const ChunkInfo& chunk) const override;
  bool has_parts() const override { return true; }
  std::uint64_t largest_record_with_parts() const override { return limits_.stored_chunk; }
  Result<Parts> parts(Bytes record) const override;
  bool has_values() const override { return true; }
  bool may_hold_messages() const override { return false; }  // only events, which are decoded as values
  Result<Value> value(Bytes record) const override;
  bool has_descriptors() const override { return true; }
  Result<std::shared_ptr<const std::string>> descriptors(const ChunkInfo& chunk) const override;

 private:
  // Reads the stored payload. Fails with kLimit, and as Source does.
  Result<Buffer> read_payload(const ChunkInfo& chunk) const;

  const std::shared_ptr<const Source> source_;
  const Limits limits_;
  const Framing framing_;
  const FoldWalk folds_;
  const DescriptorSets descriptor_sets_;
};

}  // namespace recordfs::proio
