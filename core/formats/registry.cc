#include "core/formats/registry.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

#include <fmt/format.h>

namespace recordfs {
namespace {

Error no_container(std::string_view file_name) {
  for (const Format& format : formats()) {
    if (!has_name_of(format, file_name)) continue;
    constexpr std::string_view kText =
        "not a record container, or too damaged to be recognized as {}, which its name suggests";
    return {.code = Code::kNoContainer, .detail = fmt::format(kText, format.name)};
  }
  std::string names;
  for (const Format& format : formats()) (names += names.empty() ? "" : ", ") += format.name;
  return {.code = Code::kNoContainer, .detail = fmt::format("not a record container (known formats: {})", names)};
}

// Returns the highest bidder, the first in the list of equal ones; null if all refuse.
Result<const Format*> highest_bidder(const RequestContext& context, const Source& source, std::string_view file_name,
                                     ProbeDepth depth) {
  const Format* best = nullptr;
  int highest = 0;
  for (const Format& format : formats()) {
    ASSIGN_OR_RETURN(const auto bid, format.probe(context, source, file_name, depth));
    if (bid > highest) {
      highest = bid;
      best = &format;
    }
    if (highest >= kBeyondDoubt) break;
  }
  return best;
}

// Returns a name without "-00017-of-00128" at its end.
std::string_view without_shard_number(std::string_view name) {
  for (const std::string_view before : {"-of-", "-"}) {
    const std::size_t digits = name.find_last_not_of("0123456789") + 1;
    if (digits == name.size() || !name.substr(0, digits).ends_with(before)) return name;
    name = name.substr(0, digits - before.size());
  }
  return name;
}

}  // namespace

bool has_name_of(const Format& format, std::string_view file_name) {
  for (const std::string_view packed : {".gz", ".zlib"}) {
    if (file_name.ends_with(packed)) file_name.remove_suffix(packed.size());
  }
  file_name = without_shard_number(file_name);
  for (std::string_view rest = format.suffixes; !rest.empty();) {
    const std::string_view suffix = rest.substr(0, rest.find(' '));
    if (file_name.size() > suffix.size() && file_name.ends_with(suffix)) return true;
    rest.remove_prefix(std::min(suffix.size() + 1, rest.size()));
  }
  return false;
}

bool has_container_name(std::string_view file_name) {
  return std::ranges::any_of(formats(), [&](const Format& format) { return has_name_of(format, file_name); });
}

Result<const Format*> probe(const RequestContext& context, const Source& source, std::string_view file_name,
                            ProbeDepth depth) {
  auto best = highest_bidder(context, source, file_name, ProbeDepth::kHead);
  if (best && *best == nullptr && depth == ProbeDepth::kSearch) {
    best = highest_bidder(context, source, file_name, ProbeDepth::kSearch);
  }
  if (best && *best == nullptr) return no_container(file_name);
  return best;
}

Result<std::unique_ptr<Container>> open_container(const RequestContext& context, std::shared_ptr<const Source> source,
                                                  std::string_view file_name, const Limits& limits) {
  ASSIGN_OR_RETURN(const auto format, probe(context, *source, file_name, ProbeDepth::kSearch));
  return format->open(context, std::move(source), limits);
}

}  // namespace recordfs
