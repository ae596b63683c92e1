#include "core/remote/sparse_reads.h"

#include <algorithm>

namespace recordfs::remote {
namespace {

constexpr int kWholeFirst = 2;  // of whole blocks, since most readers go on

}  // namespace

bool SparseReads::note(std::uint64_t block, bool is_small) {
  // A block is near itself and the one before.
  const bool is_near =
      std::ranges::any_of(recent_, [block](std::uint64_t other) { return other == block || other + 1 == block; });
  if (is_near) far_reads_ = 0;
  if (is_near || !is_small) return false;
  recent_[next_] = block;
  next_ = (next_ + 1) % recent_.size();
  return ++far_reads_ > kWholeFirst;
}

}  // namespace recordfs::remote
