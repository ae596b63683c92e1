// The Container of an open proio stream. Its chunks are the buckets, its records the events.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/limits.h"
#include "core/base/source.h"
#include "core/formats/container.h"
#include "core/formats/proio/framing.h"
#include "core/formats/proio/metadata.h"

namespace recordfs::proio {

class Stream final : public Container, private Metadata {
 public:
  Stream(std::shared_ptr<const Source> source, const Limits& limits);

  const ContainerTraits& traits() const override { return traits_; }
  Result<Step> scan(const RequestContext& context, ChunkKey at) const override { return framing_.scan(context, at); }
  Result<Layout> layout(const RequestContext& context, const ChunkInfo& chunk) const override;
  Result<Verification> verify(const RequestContext& context, const ChunkInfo& chunk) const override;
  Result<std::shared_ptr<const Chunk>> decode(const RequestContext& context, const ChunkInfo& chunk) const override;
  Result<std::shared_ptr<const Chunk>> open_in_place(const RequestContext& context,
                                                     const ChunkInfo& chunk) const override;
  const Metadata* metadata() const override { return this; }
  const RecordSchema& schema() const override { return schema_; }

 private:
  Result<std::vector<Attribute>> attributes(const RequestContext& context, const ChunkInfo* last) const override;
  bool varies() const override { return true; }
  Result<std::vector<Attribute>> attributes_at(const RequestContext& context, const ChunkInfo& chunk) const override;
  bool has_descriptors() const override { return true; }
  Result<std::shared_ptr<const std::string>> descriptors(const RequestContext& context,
                                                         const ChunkInfo& chunk) const override;

  // Reads the stored payload. Fails with kLimit, and as Source does.
  Result<Buffer> read_payload(const RequestContext& context, const ChunkInfo& chunk) const;

  const std::shared_ptr<const Source> source_;
  const Limits limits_;
  const Framing framing_;
  const FoldWalk folds_;
  const DescriptorSets descriptor_sets_;
  const ContainerTraits traits_;
  const RecordSchema schema_;
};

}  // namespace recordfs::proio
