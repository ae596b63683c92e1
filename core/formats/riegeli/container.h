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

class RiegeliContainer final : public Container {
 public:
  // Opens a file. Reads at most the first three chunk headers, for facts(). Fails as Source does.
  static Result<std::unique_ptr<Container>> open(std::shared_ptr<const Source> source, const Limits& limits);

  std::string_view format() const override;
  std::vector<Fact> facts() const override { return facts_; }
  Result<Step> scan(ChunkKey at) const override { return framing_.scan(at); }
  bool has_seek_structure() const override { return true; }
  Result<std::optional<ChunkInfo>> locate(Position at) const override;
  Result<Layout> layout(const ChunkInfo& chunk) const override;
  Result<void> verify(const ChunkInfo& chunk) const override;
  Result<std::shared_ptr<const Chunk>> decode(const ChunkInfo& chunk) const override;
  Result<std::shared_ptr<const Chunk>> decode_by_parts(const ChunkInfo& chunk) const override;
  Result<std::vector<Attribute>> attributes(const ChunkInfo* last) const override;
  Result<std::string_view> record_type() const override;
  bool has_descriptors() const override { return true; }
  Result<std::shared_ptr<const std::string>> descriptors(const ChunkInfo& chunk) const override;
  std::string_view record_media_type(const std::vector<Attribute>& attributes) const override;

 private:
  // The record type and its descriptors, from the file metadata.
  struct Described {
    std::string type;
    std::shared_ptr<const std::string> descriptors;
  };

  RiegeliContainer(std::shared_ptr<const Source> source, const Limits& limits);

  Result<void> learn_facts();
  // Returns the metadata chunk directly after the signature, if the file has one.
  static Result<std::optional<ChunkInfo>> metadata_chunk(const Framing& framing);
  // Returns the message of a metadata chunk. Fails as decode().
  Result<Buffer> decode_metadata(const ChunkInfo& chunk) const;
  // Returns the parsed metadata, which is read once and cached. Fails as attributes().
  Result<const Described*> described() const;
  // Fails if the chunk violates the rules of its type.
  static Result<void> check_type(const ChunkInfo& chunk);
  // As check_type(); also fails with kLimit if the limits do not allow decoding the chunk as a whole.
  Result<void> check_decodable(const ChunkInfo& chunk) const;
  Error too_large(const ChunkInfo& chunk) const;

  const std::shared_ptr<const Source> source_;
  const Limits limits_;
  const Framing framing_;
  std::vector<Fact> facts_;  // written before the container is shared
  mutable std::mutex mutex_;
  mutable std::optional<Result<Described>> described_;  // guarded by mutex_; never changes once set
};

}  // namespace recordfs::riegeli
