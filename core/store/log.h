// The log. The core prints nothing itself.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace recordfs {

// In ascending order.
enum class Severity : std::uint8_t {
  kDetail,  // how something was done; shown on request
  kInfo,
  kWarning,
  kError,
};

// Logs one line without a newline. Called from any thread.
using Log = std::function<void(Severity, const std::string&)>;

}  // namespace recordfs
