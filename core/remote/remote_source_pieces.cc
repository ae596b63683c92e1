// RemoteSource: few bytes here and there.
#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "core/remote/remote_source.h"

namespace recordfs::remote {

bool RemoteSource::are_known(const Grid& grid, Position at, Position end) const {
  for (std::uint64_t i = at / grid.unit; i * grid.unit < end; ++i) {
    if (!grid.parts.contains(i) && !session_.blocks().find(grid.number, i)) return false;
  }
  return true;
}

bool RemoteSource::is_sparse(Position at, Position end) const {
  const std::lock_guard lock(mutex_);
  if (are_known(blocks_, at, at + 1)) return false;
  if (has_pieces_.load(std::memory_order_relaxed) && are_known(pieces_, at, end)) return true;
  return sparse_.note(at / kBlock, true);
}

Result<Slice> RemoteSource::sparse_bytes(const RequestContext& context, Position at, Position end) const {
  if (at >= end || end - at > SparseReads::kLargest || !is_sparse(at, end)) return Slice{};
  has_pieces_.store(true, std::memory_order_relaxed);
  ASSIGN_OR_RETURN(const auto found, blocks(context, pieces_, at, end));
  const auto begin = static_cast<std::size_t>(at % kPiece);
  const auto size = static_cast<std::size_t>(end - at);
  if (found.size() == 1) return Slice{.bytes = found.front()->view().subspan(begin, size), .owner = found.front()};
  ASSIGN_OR_RETURN(auto joined, Buffer::allocate(context, size));
  std::size_t done = 0;
  for (const BlockPtr& piece : found) {
    const Bytes bytes = piece->view().subspan(done == 0 ? begin : 0);
    const std::size_t taken = std::min(bytes.size(), size - done);
    copy_bytes(bytes.first(taken), joined.span().subspan(done, taken));
    done += taken;
  }
  return owned(std::move(joined));
}

void RemoteSource::will_need(Position begin, Position end) const {
  constexpr std::size_t kMostPiecesAtOnce = 48;  // pieces
  if (begin >= end || end > size_) return;
  if (end - begin > SparseReads::kLargest) {
    if (end == size_) begin_pass(begin);
    return;
  }
  std::vector<PartPtr> added;
  const UnsentParts unsent(*this, added);
  Handle handle;
  {
    const std::lock_guard lock(mutex_);
    handle = handle_;
    if (pieces_.parts.size() >= kMostPiecesAtOnce || are_known(blocks_, begin, begin + 1)) return;
  }
  if (handle.fetcher->has_ended() || is_changed_.load(std::memory_order_relaxed)) return;
  has_pieces_.store(true, std::memory_order_relaxed);
  const std::uint64_t first = begin / kPiece;
  static_cast<void>(
      needed(pieces_, first, (end + kPiece - 1) / kPiece - first, {.first = SparseReads::kLargest}, true, added));
  send_ahead(handle, added);
}

}  // namespace recordfs::remote
