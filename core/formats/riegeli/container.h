// The Container of one open Riegeli/records file.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/limits.h"
#include "core/base/source.h"
#include "core/formats/container.h"
#include "core/formats/riegeli/framing.h"

namespace recordfs::riegeli {

class RiegeliContainer final : public Container, private Metadata {
 public:
  // Opens a file. Reads at most the first three chunk headers, for facts(). Fails as Source does.
  static Result<std::unique_ptr<Container>> open(const RequestContext& context, std::shared_ptr<const Source> source,
                                                 const Limits& limits);

  const ContainerTraits& traits() const override { return traits_; }
  Result<Step> scan(const RequestContext& context, ChunkKey at) const override { return framing_.scan(context, at); }
  Result<std::optional<ChunkInfo>> locate(const RequestContext& context, Position at) const override;
  Result<Layout> layout(const RequestContext& context, const ChunkInfo& chunk) const override;
  Result<Verification> verify(const RequestContext& context, const ChunkInfo& chunk) const override;
  Result<std::shared_ptr<const Chunk>> decode(const RequestContext& context, const ChunkInfo& chunk) const override;
  Result<std::shared_ptr<const Chunk>> open_in_place(const RequestContext& context,
                                                     const ChunkInfo& chunk) const override;
  const Metadata* metadata() const override { return this; }

 private:
  // The record type and its descriptors, from the file metadata.
  struct Described {
    std::string type;
    bool states_type = false;
    std::shared_ptr<const std::string> descriptors;
  };

  RiegeliContainer(std::shared_ptr<const Source> source, const Limits& limits);

  Result<std::vector<Attribute>> attributes(const RequestContext& context, const ChunkInfo* last) const override;
  Result<std::string_view> record_type(const RequestContext& context) const override;
  Result<std::string_view> record_media_type(const RequestContext& context) const override;
  bool has_descriptors() const override { return true; }
  Result<std::shared_ptr<const std::string>> descriptors(const RequestContext& context,
                                                         const ChunkInfo& chunk) const override;

  Result<void> learn_facts(const RequestContext& context);
  // Returns the metadata chunk directly after the signature, if the file has one.
  static Result<std::optional<ChunkInfo>> metadata_chunk(const RequestContext& context, const Framing& framing);
  // Returns the message of a metadata chunk. Fails as decode().
  Result<Buffer> decode_metadata(const RequestContext& context, const ChunkInfo& chunk) const;
  // Returns the parsed metadata, which is read once and cached. Fails as attributes().
  Result<const Described*> described(const RequestContext& context) const;
  // Fails if the chunk violates the rules of its type.
  static Result<void> check_type(const ChunkInfo& chunk);
  // As check_type(); also fails with kLimit if the limits do not allow decoding the chunk as a whole.
  Result<void> check_decodable(const ChunkInfo& chunk) const;
  Error too_large(const ChunkInfo& chunk) const;

  const std::shared_ptr<const Source> source_;
  const Limits limits_;
  const Framing framing_;
  ContainerTraits traits_;  // written before the container is shared
  mutable std::mutex mutex_;
  mutable std::optional<Result<Described>> described_;  // guarded by mutex_; never changes once set
};

}  // namespace recordfs::riegeli
