#include "core/formats/proio/framing.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "core/formats/proio/payload.h"
#include "core/formats/proio/wire.h"

namespace recordfs::proio {
namespace {

using Verdict = HeaderReading::Verdict;

constexpr std::uint64_t kSearchWindow = 64 << 10;
constexpr std::uint64_t kHasAttributes = std::uint64_t{1} << 32;  // in ChunkInfo::detail[1], above the compression

DamagedRegion region(Position begin, Position end, DamageClass damage_class, std::string reason) {
  return {.begin = begin,
          .end = end,
          .damage_class = damage_class,
          .records_before = 0,
          .records_lost = std::nullopt,
          .reason = std::move(reason)};
}

ChunkInfo describe(ChunkKey key, const BucketHeader& header, Position end, std::uint64_t events) {
  ChunkInfo info;
  info.key = key;
  info.begin = header.begin;
  info.end = end;
  info.kind = "bucket";
  info.codec = name_of_compression(header.compression);
  info.records = events;
  if (events == 0) info.decoded_size = 0;
  info.stored_size = end - header.payload;
  info.layout_cost = header.compression == kCompressionNone || events == 0 ? LayoutCost::kSmall : LayoutCost::kDecode;
  info.detail = {header.payload, header.compression | (header.has_attributes ? kHasAttributes : 0)};
  return info;
}

// Why a bucket can't hold the events that its header counts in so many stored bytes; "" where it can.
std::string refused_count(const BucketHeader& header, std::uint64_t stored, const Limits& limits) {
  const std::uint64_t most = std::min(limits.records_per_chunk, limits.decoded_chunk / kEventLengthSize);
  if (header.events > most) return fmt::format("{} events in one bucket are more than the limits allow", header.events);
  if (header.events > most_events(header.compression, stored)) {
    return fmt::format("{} events are more than {} stored bytes can hold", header.events, stored);
  }
  return {};
}

}  // namespace

bool has_attributes(const ChunkInfo& chunk) { return (chunk.detail[1] & kHasAttributes) != 0; }

std::optional<ChunkKey> Framing::next_after(Position end) const {
  return end < source_.size() ? std::optional(ChunkKey{end, 0}) : std::nullopt;
}

Result<Step> Framing::scan(ChunkKey key) const {
  if (key.position >= source_.size()) return Step{};
  Window window(source_, kHeaderWindow);
  auto reading = read_header(window, key.position, limits_);
  if (!reading) return std::move(reading).error();
  if (reading->verdict != Verdict::kSound) return pass_damage(key, *reading, reading->search_from);
  if (reading->header.stored > source_.size() - reading->header.payload) {
    return take_torn_bucket(key, std::move(*reading));
  }
  return take_bucket(key, std::move(*reading));
}

// All of the bucket is in the file.
Result<Step> Framing::take_bucket(ChunkKey key, HeaderReading reading) const {
  const BucketHeader& header = reading.header;
  const Position end = header.payload + header.stored;
  Step step{.chunk = std::nullopt, .damage = {}, .next = next_after(end)};
  if (std::string reason = refused_count(header, header.stored, limits_); !reason.empty()) {
    step.damage.push_back(region(header.begin, end, DamageClass::kDamage, std::move(reason)));
    return step;
  }
  step.chunk = describe(key, header, end, header.events);
  step.damage = std::move(reading.bad);
  return step;
}

// The header says that the payload ends behind the file: the file was cut, or the size is wrong. If it is wrong, the
// payload goes up to the next bucket.
Result<Step> Framing::take_torn_bucket(ChunkKey key, HeaderReading reading) const {
  const BucketHeader& header = reading.header;
  const Position size = source_.size();
  if (std::string reason = refused_count(header, header.stored, limits_); !reason.empty()) {
    reading.reason = std::move(reason);
    return pass_damage(key, reading, header.payload);
  }
  const bool is_plain = header.compression == kCompressionNone;
  Position from = header.payload;
  if (is_plain && key.state == 0) {
    const std::uint64_t there = std::min(size - header.payload, limits_.stored_chunk);
    auto run = find_events(source_, header.payload, there, header.events, nullptr);
    if (!run) return std::move(run).error();
    from += run->end;
    // An event leaves the file as well: both can't be wrong.
    if (run->events < header.events) return end_inside(key, std::move(reading), run->events, from);
  }
  auto found = search(key.state == 0 ? from : key.state);
  if (!found) return std::move(found).error();
  switch (found->kind) {
    case Found::Kind::kLater:
      return Step{.chunk = std::nullopt, .damage = {}, .next = ChunkKey{header.begin, found->at}};
    case Found::Kind::kBucket: return end_at_bucket(key, header, found->at);
    case Found::Kind::kNothing: break;
  }
  return end_inside(key, std::move(reading), is_plain ? header.events : 0, is_plain ? size : header.payload);
}

// The payload of a bucket whose size is wrong goes up to the bucket at `end`.
Step Framing::end_at_bucket(ChunkKey key, const BucketHeader& header, Position end) const {
  Step step{.chunk = std::nullopt, .damage = {}, .next = next_after(end)};
  std::string reason = refused_count(header, end - header.payload, limits_);
  if (!reason.empty()) {
    step.damage.push_back(region(header.begin, end, DamageClass::kDamage, std::move(reason)));
    return step;
  }
  step.chunk = describe(key, header, end, header.events);
  step.damage.push_back(
      region(header.begin, header.payload, DamageClass::kDamage,
             fmt::format("a bucket's size of {} bytes leaves the file, which has another bucket before "
                         "that",
                         header.stored)));
  step.damage.back().records_lost = 0;
  return step;
}

// The file ends inside a payload, of which `events` are there, up to `end`.
Step Framing::end_inside(ChunkKey key, HeaderReading reading, std::uint64_t events, Position end) const {
  const BucketHeader& header = reading.header;
  const Position size = source_.size();
  Step step{.chunk = describe(key, header, size, events), .damage = std::move(reading.bad), .next = std::nullopt};
  // What is missing may begin right at the end: then the header stands for it.
  const bool is_part_there = end < size;
  if (!is_part_there) step.damage.clear();
  step.damage.push_back(region(is_part_there ? end : header.begin, is_part_there ? size : header.payload,
                               DamageClass::kUnfinished, "the file ends inside the payload of a bucket"));
  step.damage.back().records_before = is_part_there ? events : 0;
  step.damage.back().records_lost = header.events - events;
  return step;
}

// No bucket begins at the key's position: the walk goes on at the next one.
Result<Step> Framing::pass_damage(ChunkKey key, const HeaderReading& reading, Position search_from) const {
  Step step;
  if (reading.verdict == Verdict::kTorn) {
    step.damage.push_back(region(key.position, source_.size(), DamageClass::kUnfinished, reading.reason));
    return step;
  }
  auto found = search(key.state == 0 ? search_from : key.state);
  if (!found) return std::move(found).error();
  if (found->kind == Found::Kind::kLater) {
    step.next = ChunkKey{key.position, found->at};
    return step;
  }
  const bool goes_on = found->kind == Found::Kind::kBucket;
  const Position end = goes_on ? found->at : source_.size();
  step.damage.push_back(region(key.position, end, DamageClass::kDamage, reading.reason));
  if (goes_on) step.next = ChunkKey{end, 0};
  return step;
}

Result<Framing::Found> Framing::search(Position from) const {
  Window window(source_, kSearchWindow);
  Window headers(source_, kHeaderWindow);
  for (Position at = from; at < source_.size() && source_.size() - at >= kPreambleSize;) {
    const bool read_enough = window.bytes_read() + headers.bytes_read() >= limits_.scan_bytes;
    if (read_enough && at > from) return Found{Found::Kind::kLater, at};
    auto bytes = window.from(at, kMagic.size());
    if (!bytes) return std::move(bytes).error();
    if (bytes->size() < kMagic.size()) break;
    const auto magic = std::search(bytes->begin(), bytes->end(), kMagic.begin(), kMagic.end());
    if (magic == bytes->end()) {
      at += bytes->size() - (kMagic.size() - 1);
      continue;
    }
    at += static_cast<Position>(magic - bytes->begin());
    auto reading = read_header(headers, at, limits_, {}, kStraysOfAFoundHeader);
    if (!reading) return std::move(reading).error();
    if (reading->verdict == Verdict::kSound) return Found{Found::Kind::kBucket, at};
    at = reading->search_from;
  }
  return Found{};
}

}  // namespace recordfs::proio
