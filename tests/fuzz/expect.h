// Reports a violated rule, and holds what all targets share: options and limits.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/bytes.h"
#include "core/base/limits.h"
#include "core/base/result.h"
#include "tests/contract/rules.h"

namespace recordfs::fuzz {

// Ends the program with a message.
[[noreturn]] void stop(const std::string& why);
// Ends the program if `held` is false.
void expect(bool held, std::string_view what);
void expect_none(const contract::Violations& broken);
// Ends the program if the error cannot come from the input's bytes. A source in memory never fails, so errors that only
// pass on a failure of the source are wrong.
void expect_judgement(const Error& error);

// Returns a hash of the last eight bytes: most mutations leave the options unchanged, and every file is a seed.
std::uint64_t options_of(Bytes input);
// Returns small limits, so that excessive memory or time is a finding and not just a big file.
Limits limits_for(std::uint64_t options);

}  // namespace recordfs::fuzz
