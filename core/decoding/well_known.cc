#include "core/decoding/well_known.h"

#include <chrono>
#include <cstddef>
#include <cstdlib>

#include <fmt/format.h>

#include "core/base/utf8.h"

namespace recordfs {
namespace {

constexpr std::int64_t kFirstSecond = -62135596800;  // 0001-01-01T00:00:00Z
constexpr std::int64_t kLastSecond = 253402300799;   // 9999-12-31T23:59:59Z
constexpr std::int64_t kLongestDuration = 315576000000;
constexpr std::int64_t kNanoseconds = 1000000000;  // per second

// Returns a fraction of 3, 6 or 9 digits, such as ".500"; nothing for 0.
std::string fraction(std::int64_t nanoseconds) {
  if (nanoseconds == 0) return {};
  int digits = 9;
  for (; nanoseconds % 1000 == 0; nanoseconds /= 1000) digits -= 3;
  return fmt::format(".{:0{}}", nanoseconds, digits);
}

// Converts "a_b.c" to "aB.c". Returns "" if the conversion would not be reversible.
std::string in_camel_case(std::string_view path) {
  std::string text;
  for (std::size_t i = 0; i < path.size(); ++i) {
    const char c = path[i];
    if (c >= 'A' && c <= 'Z') return {};
    if (c != '_') {
      text += c;
      continue;
    }
    ++i;
    if (i == path.size() || path[i] < 'a' || path[i] > 'z') return {};
    text += static_cast<char>(path[i] - 'a' + 'A');
  }
  return text;
}

}  // namespace

std::optional<std::string> timestamp_text(const TimeParts& time) {
  if (time.seconds < kFirstSecond || time.seconds > kLastSecond) return std::nullopt;
  if (time.nanoseconds < 0 || time.nanoseconds >= kNanoseconds) return std::nullopt;
  namespace chrono = std::chrono;
  const chrono::sys_seconds second{chrono::seconds(time.seconds)};
  const auto day = chrono::floor<chrono::days>(second);
  const chrono::year_month_day date(day);
  const chrono::hh_mm_ss clock(second - day);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}{}Z", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()), clock.hours().count(),
                     clock.minutes().count(), clock.seconds().count(), fraction(time.nanoseconds));
}

std::optional<std::string> duration_text(const TimeParts& time) {
  const auto [seconds, nanoseconds] = time;
  if (seconds < -kLongestDuration || seconds > kLongestDuration) return std::nullopt;
  if (nanoseconds <= -kNanoseconds || nanoseconds >= kNanoseconds) return std::nullopt;
  if ((seconds < 0 && nanoseconds > 0) || (seconds > 0 && nanoseconds < 0)) return std::nullopt;
  const bool is_negative = seconds < 0 || nanoseconds < 0;
  return fmt::format("{}{}{}s", is_negative ? "-" : "", std::abs(seconds), fraction(std::abs(nanoseconds)));
}

bool append_mask_path(std::string& text, std::string_view path) {
  const std::string converted = in_camel_case(path);
  if (converted.empty() || !is_utf8(converted)) return false;
  if (!text.empty()) text += ',';
  text += converted;
  return true;
}

}  // namespace recordfs
