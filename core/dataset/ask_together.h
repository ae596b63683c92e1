// Hints about files on servers, where each round trip takes time.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace recordfs {

inline constexpr std::size_t kAskedTogether = 16;  // files: the answers are used while a storage keeps them

// Asks servers for the statuses of the first kAskedTogether files, all at a time, so that files on servers that do
// not answer are waited for together. The storage keeps the answers, also failures, for some seconds: status_of() and
// open_source() then return them. Does nothing for local files, for patterns, and for a single file.
void ask_together(std::span<const std::string> files);

// Hints that a file is opened next, and read from front to end. A server's storage then requests as much of it as may
// be in flight when it is opened. Does nothing for a local file.
void expect_pass(const std::string& file);

}  // namespace recordfs
