// An open table. Its chunks are the file's blocks; each entry of a data block is a record.
#pragma once

#include <memory>
#include <vector>

#include "core/base/limits.h"
#include "core/formats/container.h"
#include "core/formats/leveldb_table/survey.h"

namespace recordfs::leveldb_table {

class TableContainer final : public Container {
 public:
  TableContainer(std::shared_ptr<const Source> source, const Limits& limits, Survey survey)
      : source_(std::move(source)), limits_(limits), survey_(std::move(survey)) {}

  std::string_view format() const override;
  std::vector<Fact> facts() const override;
  Result<Step> scan(ChunkKey at) const override;
  bool grows_by_appending() const override { return false; }  // the index at the end determines what a block is
  bool has_seek_structure() const override { return survey_.has_index(); }
  Result<std::optional<ChunkInfo>> locate(Position at) const override;
  Result<Layout> layout(const ChunkInfo& chunk) const override;
  bool index_fits_in_chunk() const override { return false; }  // entries with shared keys can take three bytes ...
  bool has_checksum(const ChunkInfo&) const override { return survey_.dialect.checksum != Checksum::kNone; }
  Result<std::shared_ptr<const Chunk>> decode(const ChunkInfo& chunk) const override;
  Result<std::vector<Attribute>> attributes(const ChunkInfo* last) const override;

  bool has_parts() const override { return true; }
  Result<Parts> parts(Bytes record) const override;
  bool has_values() const override { return true; }
  Result<Value> value(Bytes record) const override;
  bool may_hold_messages() const override { return false; }
  bool has_keys() const override { return true; }
  Result<void> key_changes(Bytes record, const TakeKeyChange& take) const override;

 private:
  Result<Step> scan_pieces(Position at, const std::vector<Piece>& pieces) const;
  Result<Step> scan_salvaged(ChunkKey at) const;
  Result<Step> search_end(ChunkKey at, Position end) const;
  Result<Step> search_behind(ChunkKey at, Position end) const;
  Result<std::uint64_t> windows_in_hole(Position begin, Position end) const;
  // Returns where a scan by checksums alone ends: at the footer, or at the first block that is known again.
  Position salvaged_end() const;
  Result<Step> rest_is_lost(Position from) const;
  Result<Kind> kind_of_found(const BlockPlace& place) const;
  Result<Step> found_block(ChunkKey key, const BlockPlace& place) const;
  Result<std::optional<DamagedRegion>> region_between(Position begin, Position end) const;
  Result<ChunkInfo> describe(const Piece& piece, ChunkKey key) const;
  Dialect dialect_of(const ChunkInfo& chunk) const;

  const std::shared_ptr<const Source> source_;
  const Limits limits_;
  const Survey survey_;
};

}  // namespace recordfs::leveldb_table
