#include "core/base/scan_cache.h"

#include <iterator>

namespace recordfs {

void ScanCache::forget(std::uint64_t source) {
  if (is_empty()) return;
  Pieces dropped;
  const std::lock_guard lock(mutex_);
  for (auto piece = pieces_.lower_bound({source, 0}); piece != pieces_.end() && piece->first.first == source;) {
    drop(piece++, dropped);
  }
}

void ScanCache::keep(std::uint64_t source, Piece piece) {
  Pieces dropped;
  const std::lock_guard lock(mutex_);
  const auto next = pieces_.upper_bound({source, piece.begin});
  if (next != pieces_.end() && next->first.first == source) piece.end = std::min(piece.end, next->second.begin);
  if (next != pieces_.begin() && std::prev(next)->first.first == source) {
    piece.begin = std::max(piece.begin, std::prev(next)->second.end);
  }
  if (piece.begin >= piece.end) return;
  const std::uint64_t size = piece.buffer->size();
  if (size > limit_) return;
  while (bytes() > limit_ - size) {
    if (pieces_.begin()->first.first >= source) return;
    drop(pieces_.begin(), dropped);
  }
  const std::pair key{source, piece.begin};
  pieces_.emplace(key, std::move(piece));
  bytes_.fetch_add(size, std::memory_order_relaxed);
}

std::optional<ScanCache::Piece> ScanCache::find(std::uint64_t source, Position at) const {
  if (is_empty()) return std::nullopt;
  const std::lock_guard lock(mutex_);
  auto piece = pieces_.upper_bound({source, at});
  if (piece == pieces_.begin()) return std::nullopt;
  --piece;
  if (piece->first.first != source || at >= piece->second.end) return std::nullopt;
  return piece->second;
}

std::uint64_t ScanCache::count(std::uint64_t source, Position begin, Position end) const {
  if (is_empty()) return 0;
  std::uint64_t sum = 0;
  const std::lock_guard lock(mutex_);
  auto piece = pieces_.upper_bound({source, begin});
  if (piece != pieces_.begin()) --piece;
  for (; piece != pieces_.end() && piece->first < std::pair{source, end}; ++piece) {
    if (piece->first.first != source) continue;
    const Position from = std::max(begin, piece->second.begin);
    const Position to = std::min(end, piece->second.end);
    if (from < to) sum += to - from;
  }
  return sum;
}

void ScanCache::set_limit(std::uint64_t limit) {
  Pieces dropped;
  const std::lock_guard lock(mutex_);
  limit_ = limit;
  while (bytes() > limit_) drop(pieces_.begin(), dropped);
}

void ScanCache::drop(Pieces::iterator piece, Pieces& dropped) {
  bytes_.fetch_sub(piece->second.buffer->size(), std::memory_order_relaxed);
  dropped.insert(pieces_.extract(piece));
}

}  // namespace recordfs
