#include "core/formats/registry.h"

#include <string>

#include <fmt/format.h>

namespace recordfs {
namespace {

Error no_container() {
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

}  // namespace

Result<const Format*> probe(const RequestContext& context, const Source& source, std::string_view file_name,
                            ProbeDepth depth) {
  auto best = highest_bidder(context, source, file_name, ProbeDepth::kHead);
  if (best && *best == nullptr && depth == ProbeDepth::kSearch) {
    best = highest_bidder(context, source, file_name, ProbeDepth::kSearch);
  }
  if (best && *best == nullptr) return no_container();
  return best;
}

Result<std::unique_ptr<Container>> open_container(const RequestContext& context, std::shared_ptr<const Source> source,
                                                  std::string_view file_name, const Limits& limits) {
  ASSIGN_OR_RETURN(const auto format, probe(context, *source, file_name, ProbeDepth::kSearch));
  return format->open(context, std::move(source), limits);
}

}  // namespace recordfs
