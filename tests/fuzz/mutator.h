// What a format's mutator has to offer, so that changed inputs get past the checksums and reach the
// parsers behind them. One <format>_mutator.cc is linked into each fuzz target.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "core/base/bytes.h"

namespace recordfs::fuzz {

// Changes some bytes of a string, and perhaps its length, by at most `room` bytes. libFuzzer's own.
using ChangeBytes = std::function<void(std::string& bytes, std::size_t room)>;

// Makes all checksums of a file right where they stand, and changes nothing else.
void mend(MutableBytes file);

// One change that knows the format: takes the file apart, changes one part, puts it together again.
std::string restructure(Bytes file, std::uint64_t seed, const ChangeBytes& change);

}  // namespace recordfs::fuzz
