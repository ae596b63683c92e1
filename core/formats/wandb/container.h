// An open run file: an ident followed by a log.
#pragma once

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "core/base/limits.h"
#include "core/base/source.h"
#include "core/formats/container.h"
#include "core/formats/leveldb_log/container.h"
#include "core/formats/wandb/ident.h"

namespace recordfs::wandb {

class RunFile final : public Container {
 public:
  // `ident` is nullopt if it is damaged or cut off.
  RunFile(std::shared_ptr<const Source> source, const Limits& limits, std::optional<Ident> ident,
          const leveldb_log::Wire& wire);

  std::string_view format() const override;
  std::vector<Fact> facts() const override;
  Result<std::string_view> record_type() const override;
  Result<Step> scan(ChunkKey at) const override;
  bool has_seek_structure() const override { return true; }
  Result<std::optional<ChunkInfo>> locate(Position at) const override { return log_.locate(at); }
  Result<Layout> layout(const ChunkInfo& chunk) const override { return log_.layout(chunk); }
  Result<void> verify(const ChunkInfo& chunk) const override { return log_.verify(chunk); }
  Result<std::shared_ptr<const Chunk>> decode(const ChunkInfo& chunk) const override { return log_.decode(chunk); }
  Result<std::shared_ptr<const Chunk>> decode_by_parts(const ChunkInfo& chunk) const override {
    return log_.decode_by_parts(chunk);
  }

 private:
  const std::uint64_t size_;
  const std::optional<Ident> ident_;
  const leveldb_log::Wire wire_;
  const leveldb_log::LogContainer log_;
};

}  // namespace recordfs::wandb
