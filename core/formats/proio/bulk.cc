#include "core/formats/proio/bulk.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "core/base/cursor.h"
#include "core/base/protobuf.h"
#include "core/formats/proio/framing.h"
#include "core/formats/proio/payload.h"
#include "core/formats/proio/unpack.h"
#include "core/formats/proio/wire.h"

namespace recordfs::proio {
namespace {

// Bytes of a bucket; larger ones are steps. Usual compression keeps it below BulkReader::kMostBytes.
constexpr std::uint64_t kMostStored = 2u << 20;
constexpr std::uint64_t kMostCompressed = 768u << 10;
// Decompressed bytes of a run with several buckets, so that they stay in the processor's cache.
constexpr std::uint64_t kMostDecompressed = 512u << 10;
constexpr std::uint32_t kLongestHeader = 64;
constexpr std::uint64_t kPlannedRatio = 8;  // of compressed payloads

Position end_of(const BucketHeader& header) { return header.payload + header.stored; }

// Returns the header at the front of `rest`, if the bucket has no attributes. The bucket may end after `rest`.
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
  const bool is_plain = header.compression == kCompressionNone;
  const bool fits = cursor.ok() && header.stored <= (is_plain ? kMostStored : kMostCompressed) &&
                    header.stored <= std::min(limits.stored_chunk, limits.decoded_chunk);
  return fits && refused_count(header, header.stored, limits).empty() ? std::optional(header) : std::nullopt;
}

// Returns the bytes of the window, which begins at `at`, from `next` on.
Bytes after(ChunkKey at, ChunkKey next, Bytes window) {
  return window.subspan(static_cast<std::size_t>(next.position - at.position));
}

// Returns whether the bucket is not completely in `rest`, and if it is the first one, notes how many bytes it needs.
bool ends_after(Bytes rest, const BucketHeader& header, ChunkRun& run) {
  const std::uint64_t size = end_of(header) - header.begin;
  if (size <= rest.size()) return false;
  if (run.chunks == 0) run.needs = size;
  return true;
}

std::uint64_t expected_bytes(const BucketHeader& header) {
  return header.compression == kCompressionNone ? header.stored : header.stored * kPlannedRatio;
}

// Returns whether a bucket may be added to a run of so many decoded bytes.
bool has_room(std::uint64_t bytes, const BucketHeader& header) {
  const bool is_plain = header.compression == kCompressionNone;
  return bytes == 0 || bytes + expected_bytes(header) <= (is_plain ? BulkReader::kMostBytes : kMostDecompressed);
}

// Adds a bucket to the batch. Returns false if it cannot be decoded. Then some of its records may be in the batch.
bool add(const RequestContext& context, const BucketHeader& header, Bytes payload, const Limits& limits,
         RecordBatch& batch) {
  const bool is_covered = is_checksummed(header.compression, payload);
  if (header.compression != kCompressionNone && header.events > 0) {
    auto unpacked = unpack(context, header.compression, payload, limits);
    if (!unpacked) return false;
    payload = batch.buffers.emplace_back(std::move(*unpacked)).view();
  }
  std::uint64_t bytes = 0;
  const EventRun run = each_event(payload, header.events, [&](Bytes event) {
    batch.records.push_back(event);
    bytes += event.size();
  });
  if (run.events < header.events) return false;
  batch.has_checksums = batch.has_checksums && (header.events == 0 || is_covered);
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
    const Bytes rest = after(at, run.next, window);
    const auto header = header_at(run.next.position, rest, limits_);
    if (!header || !has_room(expected, *header) || ends_after(rest, *header, run)) break;
    expected += expected_bytes(*header);
    run.next.position = end_of(*header);
    run.chunks += 1;
  }
  return run;
}

RecordBatch BucketBulkReader::read(const RequestContext& context, const ChunkRun& planned, Slice window) const {
  return take(context, planned.from, planned.chunks, std::move(window));
}

RecordBatch BucketBulkReader::read_at(const RequestContext& context, ChunkKey at, Slice window) const {
  return take(context, at, at.state == 0 ? UINT64_MAX : 0, std::move(window));
}

RecordBatch BucketBulkReader::take(const RequestContext& context, ChunkKey at, std::uint64_t most, Slice window) const {
  RecordBatch batch{.run = {.from = at, .next = at}};
  while (batch.run.chunks < most) {
    const Bytes rest = after(at, batch.run.next, window.bytes);
    const auto header = header_at(batch.run.next.position, rest, limits_);
    if (!header || !has_room(batch.run.bytes, *header) || ends_after(rest, *header, batch.run)) break;
    if (!add(context, *header, rest.subspan(header->payload - header->begin, header->stored), limits_, batch)) break;
    batch.chunks.push_back({header->begin, end_of(*header), header->events});
    batch.run.next.position = end_of(*header);
    batch.run.chunks += 1;
    batch.run.records += header->events;
  }
  batch.records.resize(static_cast<std::size_t>(batch.run.records));
  batch.window = std::move(window);
  return batch;
}

}  // namespace recordfs::proio
