#include "core/fetch/http_date.h"

#include <ctime>
#include <string>

namespace recordfs::fetch {

std::optional<std::int64_t> parse_http_date(std::string_view text) {
  constexpr std::size_t kMost = 64;
  if (text.empty() || text.size() > kMost) return std::nullopt;
  const std::string date(text);
  // The two last forms are obsolete. The program has the locale "C", so the names are English.
  for (const char* const form : {"%a, %d %b %Y %H:%M:%S GMT", "%A, %d-%b-%y %H:%M:%S GMT", "%a %b %e %H:%M:%S %Y"}) {
    std::tm parts{};
    const char* const end = ::strptime(date.c_str(), form, &parts);
    if (end == nullptr || *end != '\0') continue;
    const std::int64_t seconds = ::timegm(&parts);
    return seconds >= 0 ? std::optional(seconds) : std::nullopt;
  }
  return std::nullopt;
}

}  // namespace recordfs::fetch
