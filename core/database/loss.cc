#include "core/database/loss.h"

namespace recordfs::database {

bool Loss::covers(std::uint32_t other, Bytes key, const KeyOrder& order) const {
  if (family && *family != other) return false;
  if (!order.is_known()) return true;
  const KeyOrder users = order.of_user_keys();
  return (!from || !users.is_before(key, as_bytes(*from))) && (!to || !users.is_before(as_bytes(*to), key));
}

bool Loss::may_be_newer_than(std::uint64_t sequence, const Age& other) const {
  return largest_sequence > sequence && !(age && other.is_newer_than(*age));
}

}  // namespace recordfs::database
