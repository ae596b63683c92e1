#include "core/formats/proio/bulk.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "core/base/cursor.h"
#include "core/base/protobuf.h"
#include "core/formats/proio/framing.h"
#include "core/formats/proio/unpack.h"
#include "core/formats/proio/wire.h"

namespace recordfs::proio {
namespace {

// Larger buckets are steps, which need no copy of bytes that are in two pieces of the file.
constexpr std::uint64_t kMostStored = 256u << 10;
constexpr std::uint32_t kLongestHeader = 64;
constexpr std::uint64_t kPlannedRatio = 8;  // of compressed payloads

// Sets the field of a header. Returns false if it is none of the numbers.
bool set_number(const protobuf::Field& field, BucketHeader& header) {
  if (field.type != protobuf::WireType::kVarint) return false;
  switch (field.number) {
    case header_field::kEvents: header.events = field.value; return true;
    case header_field::kBucketSize: header.stored = field.value; return true;
    case header_field::kCompression: header.compression = static_cast<std::uint32_t>(field.value); return true;
    default: return false;
  }
}

// Returns the header at the front of `rest`, if the bucket is completely in it and has no attributes.
std::optional<BucketHeader> header_at(Position begin, Bytes rest, const Limits& limits) {
  Cursor cursor(rest);
  const bool is_bucket = std::ranges::equal(cursor.take(kMagic.size()), kMagic);
  const std::uint32_t size = cursor.u32_le();
  if (!is_bucket || size > kLongestHeader) return std::nullopt;
  Cursor fields(cursor.take(size));
  BucketHeader header{.begin = begin, .payload = begin + cursor.offset()};
  while (!fields.at_end()) {
    const protobuf::Field field = protobuf::read_field(fields);
    if (!fields.ok() || !set_number(field, header)) return std::nullopt;
  }
  const bool fits = cursor.ok() && header.stored <= cursor.remaining() && header.stored <= kMostStored &&
                    header.stored <= std::min(limits.stored_chunk, limits.decoded_chunk);
  return fits && refused_count(header, header.stored, limits).empty() ? std::optional(header) : std::nullopt;
}

Position end_of(const BucketHeader& header) { return header.payload + header.stored; }

std::uint64_t expected_bytes(const BucketHeader& header) {
  return header.compression == kCompressionNone ? header.stored : header.stored * kPlannedRatio;
}

// Adds `count` events to the end of `records`, and their sizes to `bytes`. Returns false if the payload has fewer.
bool add_events(Bytes payload, std::uint64_t count, std::vector<Bytes>& records, std::uint64_t& bytes) {
  for (std::uint64_t i = 0; i < count; ++i) {
    if (payload.size() < kEventLengthSize) return false;
    const std::size_t size = load_le<std::uint32_t>(payload.data());
    payload = payload.subspan(kEventLengthSize);
    if (size > payload.size()) return false;
    records.push_back(payload.first(size));
    payload = payload.subspan(size);
    bytes += size;
  }
  return true;
}

// Adds a bucket to the batch. Returns false if it cannot be decoded. Then some of its records may be in the batch.
bool add(const RequestContext& context, const BucketHeader& header, Bytes payload, const Limits& limits,
         RecordBatch& batch) {
  if (header.compression != kCompressionNone && header.events > 0) {
    auto unpacked = unpack(context, header.compression, payload, limits);
    if (!unpacked) return false;
    payload = batch.buffers.emplace_back(std::move(*unpacked)).view();
  }
  std::uint64_t bytes = 0;
  if (!add_events(payload, header.events, batch.records, bytes)) return false;
  if (bytes > BulkReader::kMostBytes - batch.run.bytes) return false;
  batch.run.bytes += bytes;
  return true;
}

Limits limits_of_a_batch(Limits limits) {
  limits.decoded_chunk = std::min(limits.decoded_chunk, BulkReader::kMostBytes);
  return limits;
}

}  // namespace

BucketBulkReader::BucketBulkReader(const Limits& limits) : limits_(limits_of_a_batch(limits)) {}

ChunkRun BucketBulkReader::plan(ChunkKey at, Bytes window) const {
  ChunkRun run{.from = at, .next = at};
  if (at.state != 0) return run;
  std::uint64_t expected = 0;
  for (;;) {
    const Position begin = run.next.position;
    const auto header = header_at(begin, window.subspan(static_cast<std::size_t>(begin - at.position)), limits_);
    if (!header) return run;
    expected += expected_bytes(*header);
    if (expected > kMostBytes) return run;
    run.next.position = end_of(*header);
    run.chunks += 1;
  }
}

RecordBatch BucketBulkReader::read(const RequestContext& context, const ChunkRun& planned, Slice window) const {
  RecordBatch batch{.run = {.from = planned.from, .next = planned.from}};
  batch.chunks.reserve(static_cast<std::size_t>(planned.chunks));
  while (batch.run.chunks < planned.chunks) {
    const Position begin = batch.run.next.position;
    const Bytes rest = window.bytes.subspan(static_cast<std::size_t>(begin - planned.from.position));
    const auto header = header_at(begin, rest, limits_);
    if (!header) break;
    const Bytes payload =
        rest.subspan(static_cast<std::size_t>(header->payload - begin), static_cast<std::size_t>(header->stored));
    if (!add(context, *header, payload, limits_, batch)) break;
    batch.chunks.push_back({begin, end_of(*header), header->events});
    batch.run.next.position = end_of(*header);
    batch.run.chunks += 1;
    batch.run.records += header->events;
  }
  batch.records.resize(static_cast<std::size_t>(batch.run.records));
  batch.window = std::move(window);
  return batch;
}

}  // namespace recordfs::proio
