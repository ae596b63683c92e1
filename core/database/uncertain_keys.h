// What problems of a database mean for its keys.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "core/base/impact.h"
#include "core/base/result.h"
#include "core/database/database.h"

namespace recordfs {

// Counts keys whose value is uncertain, for messages at the end. Not thread-safe.
struct UncertainKeys {
  std::uint64_t keys = 0, stale = 0;
  std::map<Code, std::uint64_t> unread{};                             // by Version::unread
  std::map<std::string, std::uint64_t, std::less<>> without_value{};  // by the reason

  void add(const database::Version& version);
  // Counts a value that is unreadable because recordfs does not support what it needs. Returns false, and does not
  // count it, if that is not the reason.
  bool add_unreadable(const database::Version& version, const Error& error);
  // Returns how many of the keys may be stale, and what that means. REQUIRES: stale > 0.
  std::string stale_text() const;
};

// Returns what is wrong, with the position in the file if it has one, but without the file.
std::string reason_of(const database::Problem& problem);
// Returns the impact of a problem.
Impact impact_of(const database::Problem& problem);
// Returns the impact of a failure to read an open database: kPassing if the database replaces its files faster than
// they can be read, kDamage if a file of the state is missing, otherwise as impact_of().
Impact impact_of_reading(const Error& error);
// Returns the impact of a failure to open a database, or one of its files: the same, but kUnopened for kIo.
Impact impact_of_opening(const Error& error);

}  // namespace recordfs
