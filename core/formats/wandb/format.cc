#include "core/formats/wandb/format.h"

#include <memory>
#include <optional>
#include <utility>

#include "core/formats/wandb/container.h"
#include "core/formats/wandb/ident.h"

namespace recordfs::wandb {
namespace {

constexpr int kBidOnName = 1;
constexpr int kBidOnIdent = 48;
constexpr int kBidOnFragment = 30;
constexpr int kBits = 8;

bool is_name(std::string_view name) { return name.ends_with(".wandb") || name.ends_with(".swanlab"); }

// Uses the default of Limits: the result must not change with the limits.
constexpr std::uint64_t kSearched = Limits().scan_bytes;

Result<int> bid_on(const Source& source, ProbeDepth depth) {
  ASSIGN_OR_RETURN(const auto head, read_up_to(source, 0, kIdentSize));
  if (parse_ident(head.view())) return kBidOnIdent;
  if (const std::size_t cut = cut_ident(head.view()); cut > 0) return kBits * static_cast<int>(cut);
  if (depth == ProbeDepth::kHead) return 0;
  ASSIGN_OR_RETURN(const auto found, has_fragment(source, kSearched));
  return found ? kBidOnFragment : 0;
}

Result<int> probe(const Source& source, std::string_view file_name, ProbeDepth depth) {
  if (source.size() == 0) return is_name(file_name) ? kBidOnName : 0;
  return bid_on(source, depth);
}

Result<std::unique_ptr<Container>> open(std::shared_ptr<const Source> source, const Limits& limits) {
  if (source->size() > 0) {
    ASSIGN_OR_RETURN(const auto bid, bid_on(*source, ProbeDepth::kSearch));
    if (bid == 0)
      return Error{.code = Code::kNoContainer,
                   .detail = "neither the identifier nor a fragment of a run file was found"};
  }
  ASSIGN_OR_RETURN(const auto head, read_up_to(*source, 0, kIdentSize));
  ASSIGN_OR_RETURN(const auto wire, find_wire(*source, kSearched));
  const auto ident = parse_ident(head.view());
  return std::unique_ptr<Container>(std::make_unique<RunFile>(source, limits, ident, wire));
}

}  // namespace

const Format kFormat = {.name = "wandb", .probe = probe, .open = open};

}  // namespace recordfs::wandb
