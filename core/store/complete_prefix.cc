#include "core/store/complete_prefix.h"

#include <algorithm>
#include <mutex>
#include <utility>

namespace recordfs {
namespace {

bool is_unfinished(const DamagedRegion& region) { return region.damage_class == DamageClass::kUnfinished; }

// Returns where the unfinished part of a step begins, including the chunk that holds it. Returns nullopt if there is
// none, or if it precedes something else.
std::optional<Position> unfinished_from(const Step& step) {
  const auto first = std::ranges::find_if(step.damage, is_unfinished);
  if (first == step.damage.end() || !std::all_of(first, step.damage.end(), is_unfinished)) return std::nullopt;
  if (!step.chunk || step.chunk->end <= first->begin) return first->begin;
  if (step.chunk->begin > first->begin) return std::nullopt;
  return step.chunk->begin;
}

class CompletePrefix final : public Container {
 public:
  CompletePrefix(std::unique_ptr<const Container> below, Position size) : below_(std::move(below)), size_(size) {}

  std::string_view format() const override { return below_->format(); }
  std::vector<Fact> facts() const override { return below_->facts(); }
  ChunkKey first() const override { return below_->first(); }
  Result<Step> scan(ChunkKey at) const override;
  bool is_in_file_order() const override { return below_->is_in_file_order(); }
  bool grows_by_appending() const override { return below_->grows_by_appending(); }
  bool has_seek_structure() const override { return below_->has_seek_structure(); }
  Result<std::optional<ChunkInfo>> locate(Position at) const override;
  Result<Layout> layout(const ChunkInfo& chunk) const override { return below_->layout(chunk); }
  bool index_fits_in_chunk() const override { return below_->index_fits_in_chunk(); }
  bool headers_have_checksums() const override { return below_->headers_have_checksums(); }
  bool has_checksum(const ChunkInfo& chunk) const override { return below_->has_checksum(chunk); }
  Result<void> verify(const ChunkInfo& chunk) const override { return below_->verify(chunk); }
  Result<std::shared_ptr<const Chunk>> decode(const ChunkInfo& chunk) const override { return below_->decode(chunk); }
  Result<std::shared_ptr<const Chunk>> decode_by_parts(const ChunkInfo& chunk) const override {
    return below_->decode_by_parts(chunk);
  }
  Result<std::vector<Attribute>> attributes(const ChunkInfo* last) const override { return below_->attributes(last); }
  bool attributes_change() const override { return below_->attributes_change(); }
  Result<std::vector<Attribute>> chunk_attributes(const ChunkInfo& chunk) const override {
    return below_->chunk_attributes(chunk);
  }
  std::string_view record_media_type(const std::vector<Attribute>& attributes) const override {
    return below_->record_media_type(attributes);
  }
  bool has_parts() const override { return below_->has_parts(); }
  std::uint64_t largest_record_with_parts() const override { return below_->largest_record_with_parts(); }
  Result<Parts> parts(Bytes record) const override { return below_->parts(record); }
  bool has_values() const override { return below_->has_values(); }
  Result<Value> value(Bytes record) const override { return below_->value(record); }
  bool has_keys() const override { return below_->has_keys(); }
  Result<void> key_changes(Bytes record, const TakeKeyChange& take) const override {
    return below_->key_changes(record, take);
  }
  Result<std::string_view> record_type() const override { return below_->record_type(); }
  bool may_hold_messages() const override { return below_->may_hold_messages(); }
  bool has_descriptors() const override { return below_->has_descriptors(); }
  Result<std::shared_ptr<const std::string>> descriptors(const ChunkInfo& chunk) const override {
    return below_->descriptors(chunk);
  }
  const WholeStream* whole_stream() const override { return below_->whole_stream(); }
  bool has_trailer() const override;
  Result<Buffer> trailer() const override { return below_->trailer(); }

 private:
  Result<bool> is_tail(const Step& step) const;

  const std::unique_ptr<const Container> below_;
  const Position size_;
  mutable std::once_flag asked_trailer_;
  mutable bool has_trailer_ = false;
};

// Returns whether only unfinished regions follow a step.
Result<bool> CompletePrefix::is_tail(const Step& step) const {
  for (std::optional<ChunkKey> next = step.next; next;) {
    ASSIGN_OR_RETURN(const auto after, below_->scan(*next));
    if (after.chunk || !std::ranges::all_of(after.damage, is_unfinished)) return false;
    next = after.next;
  }
  return true;
}

Result<Step> CompletePrefix::scan(ChunkKey at) const {
  ASSIGN_OR_RETURN(auto step, below_->scan(at));
  const auto end = unfinished_from(step);
  if (!end) return step;
  ASSIGN_OR_RETURN(const auto tail, is_tail(step));
  if (!tail) return step;
  if (step.chunk && step.chunk->end > *end) step.chunk.reset();
  std::erase_if(step.damage, [&](const DamagedRegion& region) { return region.begin >= *end; });
  step.next.reset();
  return step;
}

// An incomplete chunk extends to the end of the file.
Result<std::optional<ChunkInfo>> CompletePrefix::locate(Position at) const {
  auto found = below_->locate(at);
  if (!found || !*found || (*found)->end < size_) return found;
  ASSIGN_OR_RETURN(const auto step, scan((*found)->key));
  if (!step.chunk || step.chunk->begin != (*found)->begin) found->reset();
  return found;
}

// A trailer that cannot be decoded is not written yet, whatever the header declares.
bool CompletePrefix::has_trailer() const {
  if (!below_->has_trailer()) return false;
  std::call_once(asked_trailer_, [this] {
    const auto bytes = below_->trailer();
    has_trailer_ = bytes || bytes.error().code != Code::kDamage;
  });
  return has_trailer_;
}

}  // namespace

std::unique_ptr<const Container> complete_prefix(std::unique_ptr<const Container> container, Position size) {
  return std::make_unique<CompletePrefix>(std::move(container), size);
}

}  // namespace recordfs
