// An open table. Its chunks are the file's blocks; each entry of a data block is a record.
#pragma once

#include <memory>
#include <vector>

#include "core/base/limits.h"
#include "core/formats/container.h"
#include "core/formats/leveldb_table/survey.h"

namespace recordfs::leveldb_table {

class TableContainer final : public Container, private Metadata {
 public:
  TableContainer(std::shared_ptr<const Source> source, const Limits& limits, Survey survey);

  const ContainerTraits& traits() const override { return traits_; }
  Result<Step> scan(const RequestContext& context, ChunkKey at) const override;
  Result<std::optional<ChunkInfo>> locate(const RequestContext& context, Position at) const override;
  Result<Layout> layout(const RequestContext& context, const ChunkInfo& chunk) const override;
  Result<Verification> verify(const RequestContext& context, const ChunkInfo& chunk) const override;
  Result<std::shared_ptr<const Chunk>> decode(const RequestContext& context, const ChunkInfo& chunk) const override;
  const Metadata* metadata() const override { return this; }
  const RecordSchema& schema() const override { return schema_; }

 private:
  ContainerTraits make_traits() const;
  RecordSchema make_schema() const;
  Result<std::vector<Attribute>> attributes(const RequestContext& context, const ChunkInfo* last) const override;
  Result<Step> scan_pieces(const RequestContext& context, Position at, const std::vector<Piece>& pieces) const;
  Result<Step> scan_salvaged(const RequestContext& context, ChunkKey at) const;
  Result<Step> search_end(const RequestContext& context, ChunkKey at, Position end) const;
  Result<Step> search_behind(const RequestContext& context, ChunkKey at, Position end) const;
  Result<std::uint64_t> windows_in_hole(const RequestContext& context, Position begin, Position end) const;
  // Returns where a scan by checksums alone ends: at the footer, or at the first block that is known again.
  Position salvaged_end() const;
  Result<Step> rest_is_lost(Position from) const;
  Result<Kind> kind_of_found(const RequestContext& context, const BlockPlace& place) const;
  Result<Step> found_block(const RequestContext& context, ChunkKey key, const BlockPlace& place) const;
  Result<std::optional<DamagedRegion>> region_between(const RequestContext& context, Position begin,
                                                      Position end) const;
  Result<ChunkInfo> describe(const RequestContext& context, const Piece& piece, ChunkKey key) const;
  Dialect dialect_of(const ChunkInfo& chunk) const;

  const std::shared_ptr<const Source> source_;
  const Limits limits_;
  const Survey survey_;
  const ContainerTraits traits_;
  const RecordSchema schema_;
};

}  // namespace recordfs::leveldb_table
