// Reads of one reader that goes through a whole object.
#include <algorithm>
#include <cstring>
#include <utility>

#include "core/remote/interruption.h"
#include "core/remote/remote_source.h"

namespace recordfs::remote {

// Each reply was compared with the snapshot, so there is nothing to check less often than for read_at().
Result<std::size_t> RemoteSource::read_next(const RequestContext& context, Position at, MutableBytes out) const {
  const std::uint64_t end = at >= size_ ? at : at + std::min<std::uint64_t>(out.size(), size_ - at);
  Position done = at;
  while (done < end) {
    const MutableBytes rest = out.subspan(static_cast<std::size_t>(done - at), static_cast<std::size_t>(end - done));
    ASSIGN_OR_RETURN(std::size_t copied, read_part(context, done, rest));
    if (copied == 0) {
      const auto most = static_cast<std::size_t>(std::min(end, next_part(done)) - done);
      ASSIGN_OR_RETURN(copied, read_at(context, done, rest.first(most)));
    }
    done += copied;
  }
  return static_cast<std::size_t>(end - at);
}

void RemoteSource::begin_pass(Position begin) const {
  const Position first = begin / kBlock * kBlock;
  {
    const std::lock_guard lock(mutex_);
    ahead_.begin_pass(first);
  }
  if (!is_changed_.load(std::memory_order_relaxed)) read_ahead(first, first);
}

Position RemoteSource::next_part(Position at) const {
  const std::lock_guard lock(mutex_);
  for (auto part = blocks_.parts.upper_bound(at / kBlock); part != blocks_.parts.end(); ++part) {
    const Position begin = part->second->first * kBlock;
    if (part->second->may_stay && begin > at) return begin;
  }
  return size_;
}

Result<std::size_t> RemoteSource::read_part(const RequestContext& context, Position at, MutableBytes out) const {
  PartPtr part;
  {
    const std::lock_guard lock(mutex_);
    const auto found = blocks_.parts.find(at / kBlock);
    if (found == blocks_.parts.end() || !found->second->may_stay) return std::size_t{0};
    part = found->second;
  }
  const Position begin = part->first * kBlock;
  const Position end = std::min(size_, begin + part->count * kBlock);
  const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(out.size(), end - at));
  const auto in_arena = [&part] {
    const std::lock_guard lock(part->mutex);
    return part->in_arena;
  };
  read_ahead(at, at + size);
  Slice bytes = in_arena();
  if (bytes.bytes.empty()) TRY(context.permit_wait_for(kFilesystem));
  if (auto waited = wait(context, *part); !waited) {
    const bool was_left_out = waited.error().code == Code::kInterrupted && !Interruption::is_cancelled(context);
    // read_at() requests the bytes, from another fetcher if need be.
    if (was_left_out || present_handle().fetcher->has_ended()) return std::size_t{0};
    return std::move(waited).error();
  }
  if (bytes.bytes.empty()) bytes = in_arena();
  if (bytes.bytes.empty()) return std::size_t{0};
  std::memcpy(out.data(), bytes.bytes.data() + (at - begin), size);
  if (is_changed_.load(std::memory_order_relaxed)) return changed();
  if (at + size < end) return size;
  PartPtr before;
  {
    const std::lock_guard lock(mutex_);
    if (last_copied_ != part) before = std::exchange(last_copied_, part);
  }
  if (before) drop(before);
  return size;
}

Result<void> RemoteSource::leave_arena(const PartPtr& part) const {
  Slice bytes;
  {
    const std::lock_guard lock(part->mutex);
    if (part->in_arena.bytes.empty()) return {};
    ASSIGN_OR_RETURN(part->blocks, to_blocks(*part, part->in_arena.bytes));
    bytes = std::exchange(part->in_arena, {});
  }
  drop(part);
  return {};
}

}  // namespace recordfs::remote
