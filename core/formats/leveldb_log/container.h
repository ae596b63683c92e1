// An open LevelDB log. Its chunks are the records that begin in one frame.
#pragma once

#include <memory>

#include "core/base/limits.h"
#include "core/formats/container.h"
#include "core/formats/leveldb_log/assembly.h"
#include "core/formats/leveldb_log/content.h"
#include "core/formats/leveldb_log/head.h"

namespace recordfs::leveldb_log {

class LogContainer final : public Container {
 public:
  LogContainer(std::shared_ptr<const Source> source, const Limits& limits, Head head);

  const ContainerTraits& traits() const override { return traits_; }
  Result<Step> scan(const RequestContext& context, ChunkKey at) const override;
  Result<std::optional<ChunkInfo>> locate(const RequestContext& context, Position at) const override;
  Result<Layout> layout(const RequestContext& context, const ChunkInfo& chunk) const override;
  Result<Verification> verify(const RequestContext& context, const ChunkInfo& chunk) const override;
  Result<std::shared_ptr<const Chunk>> decode(const RequestContext& context, const ChunkInfo& chunk) const override;
  Result<std::shared_ptr<const Chunk>> open_in_place(const RequestContext& context,
                                                     const ChunkInfo& chunk) const override;
  const RecordSchema& schema() const override { return schema_; }

 private:
  ContainerTraits make_traits() const;
  RecordSchema make_schema() const;
  ItemReader items() const { return {*source_, head_.session}; }
  ChunkInfo describe(const Tally& tally) const;
  Result<std::optional<ChunkInfo>> chunk_of_frame(const RequestContext& context, Position frame) const;
  Result<bool> passes_through(const RequestContext& context, Position frame) const;
  Result<void> walk_chunk(const RequestContext& context, const ChunkInfo& chunk, SizeSink& sink) const;

  const std::shared_ptr<const Source> source_;
  const Limits limits_;
  const Head head_;
  const ContainerTraits traits_;
  const RecordSchema schema_;
};

}  // namespace recordfs::leveldb_log
