#include "core/database/loss.h"

#include <algorithm>

namespace recordfs::database {

bool Loss::covers(std::uint32_t other, Bytes key, const KeyOrder& order) const {
  if (family && *family != other) return false;
  if (!order.is_known()) return true;
  return (!from || !order.is_before(key, as_bytes(*from))) && (!to || !order.is_before(as_bytes(*to), key));
}

bool Loss::may_be_newer_than(std::uint64_t sequence, const Age& other) const {
  return largest_sequence > sequence && !(age && other.is_newer_than(*age));
}

bool may_be_stale(const std::vector<Loss>& losses, std::uint32_t family, Bytes key, const KeyOrder& order,
                  std::uint64_t sequence, const Age& age) {
  return std::ranges::any_of(losses, [&](const Loss& loss) {
    return loss.may_be_newer_than(sequence, age) && loss.covers(family, key, order);
  });
}

}  // namespace recordfs::database
