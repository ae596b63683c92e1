#include "core/formats/tfrecord/format.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <utility>

#include "core/formats/tfrecord/compressed.h"
#include "core/formats/tfrecord/container.h"
#include "core/formats/tfrecord/wire.h"
#include "core/hash/crc32c.h"

namespace recordfs::tfrecord {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Returns whether the name ends in "-NNNNN-of-NNNNN".
bool is_shard(std::string_view name) {
  constexpr std::size_t kDigits = 5;
  constexpr std::string_view kOf = "-of-";
  constexpr std::size_t kSize = 1 + kDigits + kOf.size() + kDigits;
  if (name.size() <= kSize) return false;
  name.remove_prefix(name.size() - kSize);
  return name[0] == '-' && std::ranges::all_of(name.substr(1, kDigits), is_digit) &&
         name.substr(1 + kDigits).starts_with(kOf) && std::ranges::all_of(name.substr(kSize - kDigits), is_digit);
}

// Returns whether the name is like "a.tfrecord", "a.tfrecords.gz", "a.tfrecord-00000-of-00010",
// "events.out.tfevents.1611911647.host", or a shard of anything, "a-00000-of-00010". Any thread.
bool is_name(std::string_view file_name) {
  if (file_name.find(".out.tfevents.") != std::string_view::npos || is_shard(file_name)) return true;
  for (const std::string_view packed : {".gz", ".zlib"}) {
    if (file_name.ends_with(packed)) file_name.remove_suffix(packed.size());
  }
  return is_shard(file_name) || file_name.ends_with(".tfrecord") || file_name.ends_with(".tfrecords");
}

constexpr int kBidOnName = 1;
constexpr int kBidOnLength = 32;
constexpr int kBidOnRecord = 64;
constexpr int kBidOnPackedRecord = 48;
// A valid record found by a search may be inside a record of another format, which then bids higher.
constexpr int kBidOnSearch = 24;
constexpr std::uint64_t kHead = 64u << 10;

// Bids on the first record, as far as it is in the head.
int bid_on_record(Bytes head) {
  const auto length = sound_length(head);
  if (!length) return 0;
  head = head.subspan(kHeaderSize);
  if (head.size() < kFooterSize || *length > head.size() - kFooterSize) return kBidOnLength;
  const auto size = static_cast<std::size_t>(*length);
  return footer_matches(head.subspan(size, kFooterSize), crc32c(head.first(size))) ? kBidOnRecord : kBidOnLength;
}

Result<int> bid_on_search(const RequestContext& context, const Source& source, std::uint64_t scan_bytes) {
  ASSIGN_OR_RETURN(const auto found, search(context, source, 1, scan_bytes));
  return found.kind == ResyncResult::Kind::kFound ? kBidOnSearch : 0;
}

Result<int> probe(const RequestContext& context, const Source& source, std::string_view file_name, ProbeDepth depth) {
  if (source.size() == 0) return is_name(file_name) ? kBidOnName : 0;
  ASSIGN_OR_RETURN(const auto head, read_up_to(context, source, 0, kHead));
  if (const int bid = bid_on_record(head.view()); bid > 0) return bid;
  ASSIGN_OR_RETURN(const auto packing, find_packing(context, head.view()));
  if (packing) {
    if (packing->has_record) return kBidOnPackedRecord;
    if (is_name(file_name)) return kBidOnName;
  }
  return depth == ProbeDepth::kHead ? 0 : bid_on_search(context, source, Limits{}.scan_bytes);
}

Result<std::unique_ptr<Container>> open(const RequestContext& context, std::shared_ptr<const Source> source,
                                        const Limits& limits) {
  ASSIGN_OR_RETURN(const auto head, read_up_to(context, *source, 0, kHead));
  const bool is_plain = head.empty() || bid_on_record(head.view()) > 0;
  ASSIGN_OR_RETURN(const auto packing,
                   is_plain ? Result<std::optional<Packing>>(std::nullopt) : find_packing(context, head.view()));
  if (packing) {
    return open_compressed(std::move(source), limits, packing->codec);
  }
  if (!is_plain) {
    ASSIGN_OR_RETURN(const auto bid, bid_on_search(context, *source, limits.scan_bytes));
    if (bid == 0) return Error{.code = Code::kNoContainer, .detail = "no record of a TFRecord file was found"};
  }
  return open_plain(std::move(source), limits);
}

}  // namespace

const Format kFormat = {.name = "tfrecord", .probe = probe, .open = open};

}  // namespace recordfs::tfrecord
