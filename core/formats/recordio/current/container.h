// An open recordio file of the current format; see core/formats/container.h.
#pragma once

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "core/base/limits.h"
#include "core/base/source.h"
#include "core/formats/container.h"
#include "core/formats/recordio/current/chunk_frames.h"
#include "core/formats/recordio/current/header.h"
#include "core/formats/recordio/current/transform.h"

namespace recordfs::recordio {

class CurrentContainer final : public Container, private Metadata {
 public:
  // Reads the header chunk, and the end of the file to look for a trailer. Fails as Source does.
  static Result<std::unique_ptr<Container>> open(const RequestContext& context, std::shared_ptr<const Source> source,
                                                 const Limits& limits);

  const ContainerTraits& traits() const override { return traits_; }
  Result<Step> scan(const RequestContext& context, ChunkKey at) const override;
  Result<std::optional<ChunkInfo>> locate(const RequestContext& context, Position at) const override;
  Result<Layout> layout(const RequestContext& context, const ChunkInfo& chunk) const override;
  Result<Verification> verify(const RequestContext& context, const ChunkInfo& chunk) const override;
  Result<std::shared_ptr<const Chunk>> decode(const RequestContext& context, const ChunkInfo& chunk) const override;
  Result<std::shared_ptr<const Chunk>> open_in_place(const RequestContext& context,
                                                     const ChunkInfo& chunk) const override;
  const Metadata* metadata() const override { return this; }
  const TrailerReader* trailer() const override { return read_trailer_ ? &read_trailer_ : nullptr; }

 private:
  CurrentContainer(std::shared_ptr<const Source> source, const Limits& limits)
      : source_(std::move(source)), limits_(limits) {}

  Result<void> read_header(const RequestContext& context);
  Result<void> find_trailer(const RequestContext& context);
  void set_traits();
  Result<std::vector<Attribute>> attributes(const RequestContext& context, const ChunkInfo* last) const override;
  bool has_trailer() const;
  Result<Buffer> trailer_content(const RequestContext& context) const;
  Result<ChunkInfo> describe(const RequestContext& context, ChunkFrames& frames, const Run& run) const;
  // Returns the damage inside a chunk.
  Result<std::vector<DamagedRegion>> damage_in(const RequestContext& context, const ChunkInfo& chunk,
                                               const Run& run) const;
  bool is_plain(const ChunkInfo& chunk) const;
  // Verifies the chunk and undoes its transformers. Fails as decode.
  Result<Transform::Content> content(const RequestContext& context, const ChunkInfo& chunk, const Limits& limits) const;
  // REQUIRES: the chunk is a body, and transform_ is set and is not "none".
  Result<std::shared_ptr<const Chunk>> decode_transformed(const RequestContext& context, const ChunkInfo& chunk) const;

  const std::shared_ptr<const Source> source_;
  const Limits limits_;
  mutable RunLengths run_lengths_;
  // Set before the container is shared.
  Header header_;
  std::string_view header_state_ = "missing";
  std::optional<Transform> transform_;  // nullopt: the header is lost, so each chunk is decoded by trial
  ContainerTraits traits_{};
  TrailerReader read_trailer_;        // null: no trailer
  std::optional<ChunkInfo> trailer_;  // the chunk that ends the file, if it is a trailer
};

}  // namespace recordfs::recordio
