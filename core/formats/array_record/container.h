// The Container of an open ArrayRecord file: the chunks and records of a Riegeli file, without the records of the
// footer and the postscript.
#pragma once

#include <memory>
#include <vector>

#include "core/base/limits.h"
#include "core/formats/array_record/ending.h"
#include "core/formats/container.h"

namespace recordfs::array_record {

class ArrayRecordContainer final : public Container {
 public:
  // REQUIRES: `riegeli` reads the same source.
  ArrayRecordContainer(std::unique_ptr<Container> riegeli, std::shared_ptr<const Source> source, const Limits& limits,
                       Ending ending)
      : riegeli_(std::move(riegeli)),
        source_(std::move(source)),
        size_(source_->size()),
        limits_(limits),
        ending_(std::move(ending)) {}

  std::string_view format() const override;
  std::vector<Fact> facts() const override;
  Result<Step> scan(ChunkKey at) const override;
  // only the end of the file tells which chunks hold no records
  bool grows_by_appending() const override { return false; }
  bool has_seek_structure() const override { return true; }
  Result<std::optional<ChunkInfo>> locate(Position at) const override;
  Result<Layout> layout(const ChunkInfo& chunk) const override;
  Result<void> verify(const ChunkInfo& chunk) const override;
  Result<std::shared_ptr<const Chunk>> decode(const ChunkInfo& chunk) const override;
  Result<std::shared_ptr<const Chunk>> decode_by_parts(const ChunkInfo& chunk) const override;
  Result<std::vector<Attribute>> attributes(const ChunkInfo*) const override { return riegeli_->attributes(nullptr); }

  bool has_parts() const override { return true; }
  std::uint64_t largest_record_with_parts() const override { return limits_.stored_chunk; }
  Result<Parts> parts(Bytes record) const override;
  bool has_values() const override { return true; }
  Result<Value> value(Bytes record) const override;

  Result<std::string_view> record_type() const override { return riegeli_->record_type(); }
  bool may_hold_messages() const override { return riegeli_->may_hold_messages(); }
  bool has_descriptors() const override { return riegeli_->has_descriptors(); }
  Result<std::shared_ptr<const std::string>> descriptors(const ChunkInfo& chunk) const override;
  std::string_view record_media_type(const std::vector<Attribute>& attributes) const override {
    return riegeli_->record_media_type(attributes);
  }

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
  Result<Step> scan_section(ChunkKey key, const Section& section) const;
  Result<Step> scan_without_index(ChunkKey at) const;
  Step lost(ChunkKey key, const Section& section, std::string reason, const Step& found) const;
  static void show_as_ending(ChunkInfo& chunk, EndingPart part);
  Result<EndingPart> part_shown(const ChunkInfo& chunk) const;
  Result<ChunkInfo> in_riegeli(const ChunkInfo& chunk) const;

  const std::unique_ptr<Container> riegeli_;
  const std::shared_ptr<const Source> source_;
  const std::uint64_t size_;
  const Limits limits_;
  const Ending ending_;
};

}  // namespace recordfs::array_record
