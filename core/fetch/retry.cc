#include "core/fetch/retry.h"

#include <algorithm>

#include "core/base/parse_number.h"
#include "core/fetch/http_date.h"

namespace recordfs::fetch {

Milliseconds retry_delay(int retry, std::uint64_t random) {
  constexpr std::uint64_t kFirst = 200;  // milliseconds
  constexpr std::uint64_t kLongest = 10'000;
  const int doublings = std::clamp(retry - 1, 0, 10);
  const std::uint64_t most = std::min(kFirst << doublings, kLongest);
  return Milliseconds(random % (most + 1));
}

std::optional<Milliseconds> retry_after(std::string_view value, std::string_view date) {
  constexpr std::int64_t kMost = 86'400;  // seconds
  if (const auto seconds = parse_number<std::uint64_t>(value)) {
    return std::chrono::seconds(std::min<std::uint64_t>(*seconds, kMost));
  }
  const auto then = parse_http_date(value);
  const auto now = parse_http_date(date);
  if (!then || !now) return std::nullopt;
  return std::chrono::seconds(std::clamp<std::int64_t>(*then - *now, 0, kMost));
}

}  // namespace recordfs::fetch
