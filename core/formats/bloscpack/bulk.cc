#include "core/formats/bloscpack/bulk.h"

#include <algorithm>
#include <new>
#include <optional>
#include <utility>

#include "core/base/cursor.h"
#include "core/codec/blosc.h"
#include "core/hash/digest.h"

namespace recordfs::bloscpack {
namespace {

// Small, so that decoded records stay in the processor's cache until they are used.
constexpr std::uint64_t kUsualBytes = 1u << 20;
constexpr std::uint64_t kMostChunks = 64;
constexpr std::uint64_t kOffsetsAtOnce = 4096;

bool matches(DigestId digest, Bytes stored, Bytes due) {
  Digester digester(digest);
  digester.append(stored);
  return std::ranges::equal(digester.finish().view(), due);
}

// Gives memory for the decoded records of a run. It is allocated only if there are such.
class RecordMemory {
 public:
  RecordMemory(RecordBatch& batch, std::uint64_t size) : batch_(batch), size_(size) {}

  // Throws std::bad_alloc. REQUIRES: all calls together take at most `size`.
  MutableBytes take(const RequestContext& context, std::uint32_t size) {
    if (batch_.buffers.empty()) {
      auto buffer = Buffer::allocate(context, static_cast<std::size_t>(size_));
      if (!buffer) throw std::bad_alloc();
      batch_.buffers.push_back(std::move(*buffer));
      rest_ = batch_.buffers.back().span();
    }
    const MutableBytes taken = rest_.first(size);
    rest_ = rest_.subspan(size);
    return taken;
  }

 private:
  RecordBatch& batch_;
  const std::uint64_t size_;
  MutableBytes rest_{};
};

}  // namespace

// Returns whether the chunk can be decoded in memory.
bool BloscpackBulkReader::is_usual(const BloscHeader& header) const {
  return header.size <= std::min<std::uint64_t>(limits_.decoded_chunk, kMostBytes) &&
         header.stored_size <= limits_.stored_chunk && (header.is_plain() || has_blosc()) &&
         check_blosc(header).has_value();
}

std::shared_ptr<const BloscpackBulkReader::Listed> BloscpackBulkReader::listed_from(std::uint64_t index) const {
  const std::uint64_t needed = std::min(offsets_.count() - std::min(index, offsets_.count()), kMostChunks + 1);
  const std::lock_guard lock(mutex_);
  const bool is_known = listed_ && index >= listed_->first && index - listed_->first + needed <= listed_->begins.size();
  if (is_known) return listed_;
  auto listed = std::make_shared<Listed>();
  listed->first = index;
  const std::uint64_t wanted = std::min(offsets_.count() - std::min(index, offsets_.count()), kOffsetsAtOnce);
  if (const auto bytes = read_exactly({}, source_, offsets_.place_of(index), wanted * kOffsetSize)) {
    Cursor cursor(bytes->view());
    while (!cursor.at_end()) listed->begins.push_back(cursor.u64_le());
  }
  listed_ = listed;
  return listed;
}

// A chunk belongs to the run if the next one begins directly after it, also by the offsets. So the scan finds neither
// damage nor free bytes between them, and their keys have no other state than their number.
ChunkRun BloscpackBulkReader::plan(ChunkKey at, Bytes window) const {
  ChunkRun run{.from = at, .next = at};
  if (at.position < survey_.first_chunk) return run;
  const auto listed = survey_.order == Order::kAnchored ? listed_from(at.state) : nullptr;
  const auto begins_at = [&](const ChunkKey& key) { return survey_.order == Order::kChain || listed->says(key); };
  while (run.chunks < kMostChunks && run.next.state < survey_.count.value_or(UINT64_MAX) && begins_at(run.next)) {
    const Bytes rest = window.subspan(static_cast<std::size_t>(run.next.position - at.position));
    if (rest.size() < kBloscHeaderSize) break;
    const auto header = parse_blosc_header(rest);
    if (!header || !is_usual(*header)) break;
    const std::uint64_t size = std::uint64_t{header->stored_size} + survey_.header.digest_bytes();
    const ChunkKey next{run.next.position + size, run.next.state + 1};
    if (next.position >= survey_.file_size || !begins_at(next)) break;
    if (size > rest.size()) {
      if (run.chunks == 0) run.needs = size;
      break;
    }
    if (run.chunks > 0 && run.bytes + header->size > kUsualBytes) break;
    run.next = next;
    run.chunks += 1;
    run.records += 1;
    run.bytes += header->size;
  }
  return run;
}

Bytes BloscpackBulkReader::take_verified(const BloscHeader& header, Bytes& rest) const {
  const Bytes stored = rest.first(header.stored_size);
  rest = rest.subspan(stored.size());
  const std::optional<DigestId> digest = survey_.header.digest;
  if (!digest) return stored;
  const Bytes due = rest.first(digest_size(*digest));
  rest = rest.subspan(due.size());
  return matches(*digest, stored, due) ? stored : Bytes{};
}

RecordBatch BloscpackBulkReader::read(const RequestContext& context, const ChunkRun& planned, Slice window) const {
  RecordBatch batch{.run = {.from = planned.from, .next = planned.from}};
  RecordMemory memory(batch, planned.bytes);
  Bytes rest = window.bytes;
  while (batch.run.chunks < planned.chunks) {
    const auto header = parse_blosc_header(rest);
    if (!header) break;
    const Bytes stored = take_verified(*header, rest);
    if (stored.empty()) break;
    Bytes record = stored.subspan(kBloscHeaderSize);
    if (header->is_plain()) {
      batch.window = window;
    } else {
      const MutableBytes decoded = memory.take(context, header->size);
      if (!decompress_blosc_chunk(context, stored, decoded)) break;
      record = decoded;
    }
    ChunkRun& run = batch.run;
    const Position end = planned.from.position + (window.bytes.size() - rest.size());
    batch.chunks.push_back({run.next.position, end, 1});
    batch.records.push_back(record);
    run.next = {end, run.next.state + 1};
    run.chunks += 1;
    run.records += 1;
    run.bytes += header->size;
  }
  return batch;
}

}  // namespace recordfs::bloscpack
