// An uncompressed TFRecord file. Its chunks are runs of records.
#pragma once

#include <memory>

#include "core/base/limits.h"
#include "core/base/source.h"
#include "core/formats/tfrecord/container.h"

namespace recordfs::tfrecord {

class PlainFile final : public File {
 public:
  PlainFile(std::shared_ptr<const Source> source, const Limits& limits)
      : File(limits, "none", true), source_(std::move(source)) {}

  Result<Step> scan(const RequestContext& context, ChunkKey key) const override;
  Result<Layout> layout(const RequestContext& context, const ChunkInfo& chunk) const override;
  Result<Verification> verify(const RequestContext& context, const ChunkInfo& chunk) const override;
  Result<std::shared_ptr<const Chunk>> decode(const RequestContext& context, const ChunkInfo& chunk) const override;
  Result<std::shared_ptr<const Chunk>> open_in_place(const RequestContext& context,
                                                     const ChunkInfo& chunk) const override;

 private:
  Result<Step> pass_damage(const RequestContext& context, ChunkKey key) const;
  static Step step_before(ChunkInfo run, Position last, Position end, Position found);
  bool has_room(const ChunkInfo& run, Position end) const;

  const std::shared_ptr<const Source> source_;
};

}  // namespace recordfs::tfrecord
