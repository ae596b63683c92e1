#include "core/store/stored_file.h"

#include <algorithm>
#include <mutex>
#include <optional>
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

class CompletePrefix final : public ForwardingContainer {
 public:
  CompletePrefix(std::unique_ptr<const Container> whole, Position size)
      : ForwardingContainer(std::move(whole)), size_(size) {}
  // Chunks after the prefix must not be read.
  const BulkReader* bulk() const override { return nullptr; }

  Result<Step> scan(const RequestContext& context, ChunkKey at) const override;
  Result<std::optional<ChunkInfo>> locate(const RequestContext& context, Position at) const override;
  const TrailerReader* trailer() const override;

 private:
  Result<bool> is_tail(const RequestContext& context, const Step& step) const;

  const Position size_;
  mutable std::once_flag asked_trailer_;
  mutable bool has_trailer_ = false;
};

// Returns whether only unfinished regions follow a step.
Result<bool> CompletePrefix::is_tail(const RequestContext& context, const Step& step) const {
  for (std::optional<ChunkKey> next = step.next; next;) {
    ASSIGN_OR_RETURN(const auto after, below().scan(context, *next));
    if (after.chunk || !std::ranges::all_of(after.damage, is_unfinished)) return false;
    next = after.next;
  }
  return true;
}

Result<Step> CompletePrefix::scan(const RequestContext& context, ChunkKey at) const {
  ASSIGN_OR_RETURN(auto step, below().scan(context, at));
  const auto end = unfinished_from(step);
  if (!end) return step;
  ASSIGN_OR_RETURN(const auto tail, is_tail(context, step));
  if (!tail) return step;
  if (step.chunk && step.chunk->end > *end) step.chunk.reset();
  std::erase_if(step.damage, [&](const DamagedRegion& region) { return region.begin >= *end; });
  step.next.reset();
  return step;
}

// An incomplete chunk extends to the end of the file.
Result<std::optional<ChunkInfo>> CompletePrefix::locate(const RequestContext& context, Position at) const {
  auto found = below().locate(context, at);
  if (!found || !*found || (*found)->end < size_) return found;
  ASSIGN_OR_RETURN(const auto step, scan(context, (*found)->key));
  if (!step.chunk || step.chunk->begin != (*found)->begin) found->reset();
  return found;
}

// A trailer that cannot be decoded is not written yet, whatever the header declares.
const TrailerReader* CompletePrefix::trailer() const {
  const TrailerReader* const read = below().trailer();
  if (read == nullptr) return nullptr;
  std::call_once(asked_trailer_, [&] {
    const auto bytes = (*read)({});
    has_trailer_ = bytes || bytes.error().code != Code::kDamage;
  });
  return has_trailer_ ? read : nullptr;
}

}  // namespace

std::unique_ptr<const Container> complete_prefix(std::unique_ptr<const Container> container, Position size) {
  return std::make_unique<CompletePrefix>(std::move(container), size);
}

}  // namespace recordfs
