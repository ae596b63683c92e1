// Where the core's remarks go: it prints nothing itself.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace recordfs {

// In the order of how much they matter.
enum class Severity : std::uint8_t {
  kDetail,  // how things were done: for who asks for it
  kInfo,
  kWarning,
  kError,
};

// Called from any thread, one line a call, without a final newline.
using Log = std::function<void(Severity, const std::string&)>;

}  // namespace recordfs
