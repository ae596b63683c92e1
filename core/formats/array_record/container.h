// The Container of an open ArrayRecord file: the chunks and records of a Riegeli file, without the records of the
// footer and the postscript.
#pragma once

#include <memory>
#include <vector>

#include "core/base/limits.h"
#include "core/formats/array_record/ending.h"
#include "core/formats/container.h"

namespace recordfs::array_record {

class ArrayRecordContainer final : public ForwardingContainer {
 public:
  // REQUIRES: `riegeli` reads the same source.
  ArrayRecordContainer(std::unique_ptr<Container> riegeli, std::shared_ptr<const Source> source, const Limits& limits,
                       Ending ending);

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
  // An interval of the file: one chunk of interest, followed by padding.
  struct Section {
    enum class Kind : std::uint8_t { kHead, kRecords, kFooter, kPostscript };
    Kind kind = Kind::kHead;
    Position begin = 0;
    Position end = 0;
    std::uint64_t records = 0;  // as stated by the footer
  };

  Section section_at(Position at) const;
  void add_facts();
  Result<Step> scan_section(const RequestContext& context, ChunkKey key, const Section& section) const;
  Result<Step> scan_without_index(const RequestContext& context, ChunkKey at) const;
  Step lost(ChunkKey key, const Section& section, std::string reason, const Step& found) const;
  static void show_as_ending(ChunkInfo& chunk, EndingPart part);
  Result<EndingPart> part_shown(const RequestContext& context, const ChunkInfo& chunk) const;
  Result<ChunkInfo> in_riegeli(const RequestContext& context, const ChunkInfo& chunk) const;

  const std::shared_ptr<const Source> source_;
  const std::uint64_t size_;
  const Limits limits_;
  const Ending ending_;
  ContainerTraits traits_;
  const RecordSchema schema_;
};

}  // namespace recordfs::array_record
