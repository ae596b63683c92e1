#include "core/formats/proio/format.h"

#include <algorithm>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "core/formats/proio/container.h"
#include "core/formats/proio/framing.h"
#include "core/formats/proio/wire.h"

namespace recordfs::proio {
namespace {

constexpr int kBidOnName = 1;
// A low bid: a valid bucket far from the start may be inside a record of another format, which then bids higher.
constexpr int kBidOnSearch = 24;
// The fewest bytes of a magic to accept in a file that ends inside its first magic.
constexpr std::size_t kLeastOfAMagic = 8;

Result<int> bid_on_head(const Source& source, const Limits& limits) {
  WindowedReader window(source, kHeaderWindow);
  ASSIGN_OR_RETURN(const auto head, window.from(0, kMagic.size()));
  const std::size_t there = std::min(head.size(), kMagic.size());
  if (there < kLeastOfAMagic || !std::ranges::equal(head.first(there), Bytes(kMagic).first(there))) return 0;
  ASSIGN_OR_RETURN(const auto reading, read_header(window, 0, limits));
  return reading.verdict == HeaderReading::Verdict::kBroken ? 0 : 8 * static_cast<int>(there);
}

Result<int> bid_on_stream(const Source& source, ProbeDepth depth, const Limits& limits) {
  auto bid = bid_on_head(source, limits);
  if (!bid || *bid > 0 || depth == ProbeDepth::kHead) return bid;
  ASSIGN_OR_RETURN(const auto found, Framing(source, limits).search(0));
  return found.kind == Framing::Found::Kind::kFound ? kBidOnSearch : 0;
}

Result<int> probe(const Source& source, std::string_view file_name, ProbeDepth depth) {
  if (source.size() == 0) return file_name.ends_with(".proio") ? kBidOnName : 0;
  return bid_on_stream(source, depth, Limits{});
}

Result<std::unique_ptr<Container>> open(std::shared_ptr<const Source> source, const Limits& limits) {
  if (source->size() > kLargestFile) {
    return Error{.code = Code::kLimit,
                 .detail = fmt::format("the stream of {} bytes exceeds the limit", source->size())};
  }
  if (source->size() > 0) {
    ASSIGN_OR_RETURN(const auto bid, bid_on_stream(*source, ProbeDepth::kSearch, limits));
    if (bid == 0) return Error{.code = Code::kNoContainer, .detail = "no bucket of a proio stream was found"};
  }
  return std::unique_ptr<Container>(std::make_unique<Stream>(std::move(source), limits));
}

}  // namespace

const Format kFormat = {.name = "proio", .probe = probe, .open = open};

}  // namespace recordfs::proio
