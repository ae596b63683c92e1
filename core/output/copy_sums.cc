#include "core/output/copy_sums.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <span>

#include "core/base/file_io.h"
#include "core/base/write_all.h"

namespace recordfs {
namespace {

constexpr std::size_t kSum = sizeof(std::uint64_t);

}  // namespace

std::uint64_t CopySums::intact(int copy, std::uint64_t end, MutableBytes buffer,
                               const std::function<void(std::uint64_t bytes)>& progress) const {
  std::uint64_t at = 0;
  for (; end - at >= kPiece; at += kPiece) {
    std::uint64_t expected = 0;
    if (!read_fully(file_.number(), at / kPiece * kSum, std::as_writable_bytes(std::span(&expected, 1)))) return at;
    XxHasher hasher(XxHashKind::k3);
    for (std::uint64_t in_piece = 0; in_piece < kPiece;) {
      const MutableBytes part = buffer.first(std::min<std::size_t>(buffer.size(), kPiece - in_piece));
      if (!read_fully(copy, at + in_piece, part)) return at;
      hasher.append(part);
      in_piece += part.size();
    }
    if (hasher.value() != expected) return at;
    progress(kPiece);
  }
  return at;
}

int CopySums::begin_at(std::uint64_t begin) {
  piece_.reset();
  at_ = begin;
  const auto size = static_cast<off_t>(begin / kPiece * kSum);
  return ::ftruncate(file_.number(), size) == 0 && ::lseek(file_.number(), size, SEEK_SET) >= 0 ? 0 : errno;
}

int CopySums::append(Bytes bytes) {
  while (!bytes.empty()) {
    if (!piece_) piece_.emplace(XxHashKind::k3);
    const auto size = std::min<std::size_t>(bytes.size(), kPiece - at_ % kPiece);
    piece_->append(bytes.first(size));
    bytes = bytes.subspan(size);
    at_ += size;
    if (at_ % kPiece != 0) continue;
    const std::uint64_t sum = piece_->value();
    piece_.reset();
    if (const int error = write_all(file_.number(), std::as_bytes(std::span(&sum, 1))); error != 0) return error;
  }
  return 0;
}

}  // namespace recordfs
