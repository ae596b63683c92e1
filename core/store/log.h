// Where the core's remarks go: it prints nothing itself.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace recordfs {

enum class Severity : std::uint8_t { kInfo, kWarning, kError };

// Called from any thread, one line a call, without a final newline.
using Log = std::function<void(Severity, const std::string&)>;

}  // namespace recordfs
