#include "core/base/impact.h"

#include <cerrno>

#include <fmt/format.h>

namespace recordfs {

bool is_denied(const Error& error) { return error.os_error == EACCES || error.os_error == EPERM; }

Impact impact_of(const Error& error) {
  switch (error.code) {
    case Code::kUnreadable:
    case Code::kDamage:
    case Code::kUnfinished:
    case Code::kStale: return Impact::kDamage;
    case Code::kNoContainer: return Impact::kUnopened;
    case Code::kIo: return is_denied(error) ? Impact::kUnopened : Impact::kIncomplete;
    default: return Impact::kIncomplete;
  }
}

void LossCount::add(std::optional<std::uint64_t> count, std::uint64_t at_least) {
  records += count.value_or(at_least);
  may_be_more = may_be_more || !count;
}

std::string to_string(const LossCount& losses) {
  if (losses.may_be_more && losses.records == 0) return "an unknown number";
  return fmt::format("{}{}", losses.may_be_more ? "at least " : "", losses.records);
}

}  // namespace recordfs
