#include "core/fetch/options.h"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "core/base/parse_number.h"

namespace recordfs::fetch {

Result<FetcherOptions> parse_options(std::span<const char* const> arguments) {
  FetcherOptions options;
  for (const std::string_view argument : arguments) {
    const std::string_view name = argument.substr(0, argument.find('='));
    const std::string_view value = argument.substr(std::min(name.size() + 1, argument.size()));
    const auto number = parse_number<std::uint64_t>(value);
    constexpr std::uint64_t kLongestTimeout = 86'400;  // seconds
    if (argument == "--no-sign-request") {
      options.sign = false;
    } else if (argument == "--no-cache") {
      options.has_cache = false;
    } else if (name == "--timeout" && number && *number > 0 && *number <= kLongestTimeout) {
      options.timeout = std::chrono::seconds(*number);
    } else if (name == "--cache-size" && number) {
      options.cache_size = *number;
      if (*number == 0) options.has_cache = false;
    } else if (name == "--cache-dir" && value.starts_with('/')) {
      options.cache_folder = value;
    } else {
      return Error{.code = Code::kUnsupported, .detail = fmt::format("invalid argument: {}", argument)};
    }
  }
  return options;
}

}  // namespace recordfs::fetch
