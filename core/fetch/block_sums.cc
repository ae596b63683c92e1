#include "core/fetch/block_sums.h"

#include <algorithm>
#include <array>

namespace recordfs::fetch {
namespace {

using remote::kBlock;

void begin(std::uint64_t block, XxHasher& hasher) {
  std::array<std::byte, sizeof(block)> number{};
  for (std::size_t i = 0; i < number.size(); ++i) number[i] = static_cast<std::byte>(block >> (8 * i));
  hasher.append(number);
}

std::uint64_t sum_of(const XxHasher& hasher) { return std::max<std::uint64_t>(hasher.value(), 1); }

}  // namespace

std::uint64_t block_sum(std::uint64_t block, Bytes bytes) {
  XxHasher hasher(XxHashKind::k3);
  begin(block, hasher);
  hasher.append(bytes);
  return sum_of(hasher);
}

void BlockSums::append(Bytes bytes) {
  if (has_given_up_) return;
  while (!bytes.empty()) {
    const std::uint64_t in_block = at_ % kBlock;
    const auto taken = static_cast<std::size_t>(std::min<std::uint64_t>(bytes.size(), kBlock - in_block));
    if (in_block == 0) begin(at_ / kBlock, hasher_.emplace(XxHashKind::k3));
    if (hasher_) hasher_->append(bytes.first(taken));
    at_ += taken;
    bytes = bytes.subspan(taken);
    if (at_ % kBlock == 0) complete();
  }
}

void BlockSums::complete() {
  if (hasher_) sums_[(at_ - 1) / kBlock] = sum_of(*hasher_);
  hasher_.reset();
}

void BlockSums::end() {
  if (!has_given_up_ && at_ % kBlock != 0) complete();
}

void BlockSums::give_up() {
  has_given_up_ = true;
  hasher_.reset();
  sums_.clear();
}

}  // namespace recordfs::fetch
