#include "core/database/uncertain_keys.h"

#include <fmt/format.h>

#include "core/base/counted.h"
#include "core/database/directory.h"

namespace recordfs {

std::string reason_of(const database::Problem& problem) {
  const bool is_of_all = problem.error.code == Code::kUnsupported && problem.error.position == 0;
  const bool has_position = !problem.file.empty() && problem.error.code != Code::kNotFound && !is_of_all;
  return has_position ? to_string(problem.error) : problem.error.detail;
}

Impact impact_of(const database::Problem& problem) {
  return problem.loses_data ? impact_of_reading(problem.error) : Impact::kNone;
}

Impact impact_of_reading(const Error& error) {
  if (database::is_gone(error)) return Impact::kPassing;
  return error.code == Code::kNotFound ? Impact::kDamage : impact_of(error);
}

Impact impact_of_opening(const Error& error) {
  return error.code == Code::kIo || error.code == Code::kNotFound ? Impact::kUnopened : impact_of_reading(error);
}

void UncertainKeys::add(const database::Version& version) {
  ++keys;
  if (version.may_be_stale) ++stale;
  if (version.unread) ++unread[*version.unread];
}

bool UncertainKeys::add_unreadable(const database::Version& version, const Error& error) {
  if (version.unread) return true;
  const bool is_counted = error.code == Code::kUnsupported && (version.operation == database::Operation::kMerge ||
                                                               version.operation == database::Operation::kUnknown);
  if (is_counted) ++without_value[error.detail];
  return is_counted;
}

std::string UncertainKeys::stale_text() const {
  return fmt::format("{} of {} may have a newer value, or may be deleted, in what is damaged", stale,
                     counted(keys, "key"));
}

}  // namespace recordfs
