// How a broken rule ends a run, and what is the same for all targets: options and limits.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/bytes.h"
#include "core/base/limits.h"
#include "core/base/result.h"
#include "tests/contract/rules.h"

namespace recordfs::fuzz {

// Stops the program with a message.
[[noreturn]] void stop(const std::string& why);
// Stops it where something did not hold.
void expect(bool held, std::string_view what);
void expect_none(const contract::Violations& broken);
// An error is a judgement about bytes: a source in memory never fails, so neither does what only fails as the source
// does.
void expect_judgement(const Error& error);

// A hash of the last eight bytes, so that most changes of an input leave the options alone, and every file is a seed.
std::uint64_t options_of(Bytes input);
// Small ones, so that too much memory or time is a finding and not a big file.
Limits limits_for(std::uint64_t options);

}  // namespace recordfs::fuzz
