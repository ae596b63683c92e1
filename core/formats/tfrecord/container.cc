#include "core/formats/tfrecord/container.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>

#include "core/base/parse_number.h"
#include "core/formats/run_names.h"
#include "core/formats/tensorflow_example.h"
#include "core/formats/tfrecord/compressed.h"
#include "core/formats/tfrecord/event_file.h"
#include "core/formats/tfrecord/format.h"
#include "core/formats/tfrecord/wire.h"
#include "core/hash/crc32c.h"

namespace recordfs::tfrecord {
namespace {

constexpr std::uint64_t kLongest = std::uint64_t{1} << 62;

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
constexpr std::size_t kMostPackedHead = 4u << 10;  // bytes of a compressed file, decompressed
constexpr std::size_t kMostJudged = 16;            // records of a head that may be events

// Returns the first record, if the head has it all and its checksums match.
std::optional<Bytes> record_at_begin(Bytes head) {
  const auto length = sound_length(head);
  if (!length) return std::nullopt;
  head = head.subspan(kHeaderSize);
  if (head.size() < kFooterSize || *length > head.size() - kFooterSize) return std::nullopt;
  const Bytes record = head.first(static_cast<std::size_t>(*length));
  const bool is_sound = footer_matches(head.subspan(record.size(), kFooterSize), crc32c(record));
  return is_sound ? std::optional(record) : std::nullopt;
}

// Bids on the first record, as far as it is in the head.
int bid_on_record(Bytes head) {
  if (!sound_length(head)) return 0;
  return record_at_begin(head) ? kBidOnRecord : kBidOnLength;
}

// What the records at the begin of some bytes are.
struct Judgement {
  EventEvidence evidence = EventEvidence::kNone;  // kPossible: no record decides
  std::optional<std::uint64_t> next{};  // where the next record begins, if one before it is too long to be judged
};

// Judges the first intact records, of which the first one that is not merely a possible event decides. So an event file
// is recognized that lost its first record, with the version, or begins with damage. `is_named`: the file has the name
// of an event file. `before`: the evidence of records before these bytes.
Judgement judge(const Bytes head, bool is_named, EventEvidence before) {
  EventEvidence evidence = before;
  std::size_t at = 0;
  for (std::size_t judged = 0; judged < kMostJudged && head.size() - at >= kFrameSize;) {
    const Bytes rest = head.subspan(at);
    const auto length = sound_length(rest);
    const std::uint64_t size = length ? kFrameSize + std::min(*length, kLongest) : 1;
    if (size > rest.size()) {
      if (!may_begin_event(rest.subspan(kHeaderSize))) return {};
      return {.evidence = EventEvidence::kPossible, .next = at + size};
    }
    if (const auto record = length ? record_at_begin(rest) : std::nullopt) {
      evidence = evidence_of_event(*record);
      if (evidence == EventEvidence::kFields) evidence = is_named ? EventEvidence::kPossible : EventEvidence::kNone;
      if (evidence != EventEvidence::kPossible) return {.evidence = evidence};
      ++judged;
    }
    at += static_cast<std::size_t>(size);
  }
  return {.evidence = evidence};
}

bool is_named_as_events(const Source& source) { return run_kind(source.name()) == RunKind::kEvents; }

// If no record decides, the name does.
bool are_events(EventEvidence evidence, bool is_named) {
  return evidence == EventEvidence::kCertain || (evidence == EventEvidence::kPossible && is_named);
}

// Returns whether the file that begins with `head` is an event file. Reads more of it if it begins with long records
// that may be events. Fails as Source does.
Result<bool> has_events(const RequestContext& context, const Source& source, Bytes head) {
  constexpr int kMostPieces = 8;
  const bool is_named = is_named_as_events(source);
  Judgement judgement = judge(head, is_named, EventEvidence::kNone);
  Position at = 0;
  for (int pieces = 0; judgement.next && pieces < kMostPieces; ++pieces) {
    if (*judgement.next >= source.size() - at) break;
    at += *judgement.next;
    ASSIGN_OR_RETURN(const auto piece, read_up_to(context, source, at, kHead));
    judgement = judge(piece.view(), is_named, judgement.evidence);
  }
  return are_events(judgement.evidence, is_named);
}

// Returns whether the compressed file that begins with `head` is an event file. Fails with errors that may pass.
Result<bool> has_packed_events(const RequestContext& context, CodecId codec, Bytes head, bool is_named) {
  auto stream = open_stream(codec, head, Tail::kIgnored);
  if (!stream) return is_permanent(stream.error().code) ? Result<bool>(false) : stream.error();
  std::array<std::byte, kMostPackedHead> bytes;
  const auto got = (*stream)->read(context, bytes);
  if (!got) return is_permanent(got.error().code) ? Result<bool>(false) : got.error();
  return are_events(judge(Bytes(bytes).first(*got), is_named, EventEvidence::kNone).evidence, is_named);
}

Result<int> bid_on_search(const RequestContext& context, const Source& source, std::uint64_t scan_bytes) {
  ASSIGN_OR_RETURN(const auto found, framed::search<Wire>(context, source, 1, source.size(), scan_bytes));
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
    const bool is_named = is_named_as_events(*source);
    ASSIGN_OR_RETURN(const bool is_event_file, has_packed_events(context, packing->codec, head.view(), is_named));
    auto file = open_compressed(std::move(source), limits, packing->codec);
    return is_event_file ? with_event_type(std::move(file)) : std::move(file);
  }
  if (!is_plain) {
    ASSIGN_OR_RETURN(const auto bid, bid_on_search(context, *source, limits.scan_bytes));
    if (bid == 0) return Error{.code = Code::kNoContainer, .detail = "no record of a TFRecord file was found"};
  }
  ASSIGN_OR_RETURN(const bool is_event_file, has_events(context, *source, head.view()));
  auto file = open_plain(source, limits);
  return is_event_file ? with_event_type(std::move(file)) : std::move(file);
}

}  // namespace

ContainerTraits traits_of(std::string_view compression, bool index_fits_in_chunk) {
  return {.format = kFormat.name,
          .facts = {{"compression", std::string(compression)}},
          .index_fits_in_chunk = index_fits_in_chunk};
}

RecordSchema schema_of(const Limits& limits) {
  return {
      .value = [limits](Bytes record, ValueForm form) { return tensorflow::value_of_example(record, limits, form); },
      .type = tensorflow::type_of_example,
      .parts = RecordSchema::Parts::kOptional,
      .largest_record_with_parts = limits.stored_chunk};
}

Result<std::shared_ptr<const Chunk>> split(const RequestContext& context, Buffer stored, Position begin,
                                           const WrongRecord& wrong) {
  Layout layout;
  const MutableBytes out = stored.span();
  std::size_t first = 0;  // where the first record's data remain
  std::uint64_t offset = 0;
  for (Bytes rest = stored.view(); !rest.empty();) {
    const auto length = sound_length(rest);
    if (!length || rest.size() < kFrameSize || *length > rest.size() - kFrameSize) return framed::not_as_found(begin);
    const auto size = static_cast<std::size_t>(*length);
    const Bytes data = rest.subspan(kHeaderSize, size);
    if (layout.records() == 0) first = kHeaderSize;
    const auto at = first + static_cast<std::size_t>(layout.end());
    if (footer_matches(rest.subspan(kHeaderSize + size, kFooterSize), crc32c(data))) {
      layout.add(context, size);
    } else {
      layout.add_failed(context, size, wrong(offset, size + kFrameSize));
    }
    // Moves the data to the front, over bytes that were already moved.
    if (layout.records() > 1 && !data.empty()) std::memmove(&out[at], data.data(), data.size());
    rest = rest.subspan(size + kFrameSize);
    offset += size + kFrameSize;
  }
  stored.truncate(first + static_cast<std::size_t>(layout.end()));
  return std::shared_ptr<const Chunk>(std::make_shared<BufferChunk>(std::move(stored), std::move(layout), first));
}

void RecordFollower::take_header() {
  const auto length = sound_length(header_);
  held_ = 0;
  is_lost_ = !length || *length > kLongest;
  if (is_lost_) return;
  length_ = *length;
  left_ = length_ + kFooterSize;
}

std::vector<RecordFollower::Record> RecordFollower::follow(Bytes piece) {
  std::vector<Record> records;
  while (!piece.empty() && !is_lost_) {
    const std::uint64_t wanted = left_ > 0 ? left_ : kHeaderSize - held_;
    const auto taken = static_cast<std::size_t>(std::min<std::uint64_t>(wanted, piece.size()));
    if (left_ > 0) {
      left_ -= taken;
      if (left_ == 0) records.push_back({followed_ + taken, length_});
    } else {
      copy_bytes(piece.first(taken), MutableBytes(header_).subspan(held_));
      held_ += taken;
      if (held_ == kHeaderSize) take_header();
    }
    followed_ += taken;
    piece = piece.subspan(taken);
  }
  return records;
}

const Format kFormat = {.name = "tfrecord", .probe = probe, .open = open, .suffixes = ".tfrecord .tfrecords"};

}  // namespace recordfs::tfrecord
