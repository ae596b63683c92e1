// Containers of blocks of records, each of which is followed by a marker.
//
// A format supplies Wire, which knows the bytes of a block, and derives its container from BlockContainer, which finds
// blocks, searches for the next marker after damage, and splits blocks into records.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/bytes.h"
#include "core/base/limits.h"
#include "core/base/result.h"
#include "core/base/source.h"
#include "core/base/windowed_reader.h"
#include "core/codec/codec.h"
#include "core/formats/chunk.h"
#include "core/formats/container.h"
#include "core/formats/resync.h"

namespace recordfs {

// What the first bytes of a block say.
struct BlockHeader {
  std::uint64_t size = 0;                       // of the header
  std::uint64_t stored = 0;                     // bytes of payload, which the marker follows
  std::uint64_t records = 0;                    // in the payload
  std::optional<std::uint64_t> decoded_size{};  // the sum of their sizes, if the header tells
};

struct BlockReading {
  enum class Verdict : std::uint8_t { kSound, kInvalid, kNeedMore };
  Verdict verdict = Verdict::kInvalid;
  BlockHeader header{};  // set for kSound
  std::string reason{};  // set for kInvalid
};

// The decoded payload of a block. The layout has its records, from the beginning of `bytes` on. Records that cannot be
// read are failures in the layout, and have bytes too. The layout also tells whether a checksum covers the records.
struct BlockContent {
  Buffer bytes;
  Layout layout;
};

// What a format supplies. Functions read nothing. A Wire is const, and may be called on any thread.
// - marker(): the bytes of the marker, the same for the whole file, of at least one byte.
// - kLongestHeader: bytes of the largest header.
// - parse(bytes): the header at the beginning of `bytes`. kNeedMore if it may be longer than `bytes`, but not for
//   kLongestHeader bytes. A header that counts more records than the payload can have is invalid.
// - codec(): of the payloads; static storage.
// - decode(context, header, stored): the records of a payload, records_of(header) of them. Fails with kDamage,
//   kUnsupported, kLimit and kOutOfMemory; positions in errors are 0.
// - records_of(header): nullopt if only decode() tells whether the payload has the records that the header counts.
template <class Wire>
concept BlockWire = requires(const Wire& wire, Bytes bytes, const RequestContext& context, const BlockHeader& header) {
  { Wire::kLongestHeader } -> std::convertible_to<std::uint64_t>;
  { wire.marker() } -> std::same_as<Bytes>;
  { wire.parse(bytes) } -> std::same_as<BlockReading>;
  { wire.codec() } -> std::same_as<std::string_view>;
  { wire.decode(context, header, bytes) } -> std::same_as<Result<BlockContent>>;
  { wire.records_of(header) } -> std::same_as<std::optional<std::uint64_t>>;
};

namespace block {

inline constexpr std::uint64_t kHeaderWindow = 512;         // bytes; headers of small blocks are close together
inline constexpr std::uint64_t kLargestWindow = 64u << 10;  // bytes, also of a search

// Returns whether two markers of equal size differ in at most two bytes, so that one of them is damaged.
bool is_nearly(Bytes marker, Bytes other);

// Finds the first marker at or after `from`. Reads about `budget` bytes. Fails as Source does. Any thread.
Result<ResyncResult> search(const RequestContext& context, const Source& source, Bytes marker, Position from,
                            std::uint64_t budget);

}  // namespace block

// What a file has before its blocks.
struct BlockFileHead {
  std::uint64_t size = 0;                 // 0: the blocks begin at once
  std::optional<DamagedRegion> damage{};  // covers it, and more if nothing can be read without it
};

// Chunks are blocks, after a chunk without records for the head of the file. A derived class supplies traits().
template <BlockWire Wire>
class BlockContainer : public Container {
 public:
  // ChunkKey::state is where a search continues, or 0.
  Result<Step> scan(const RequestContext& context, ChunkKey key) const override {
    if (key.position >= source_->size()) return Step{};
    if (key.position < head_.size) return scan_head();
    WindowedReader window(*source_, block::kHeaderWindow, block::kLargestWindow);
    ASSIGN_OR_RETURN(const auto reading, read_header(context, window, key.position));
    const bool fits = reading.verdict == Verdict::kSound && block_fits(key.position, reading.header);
    if (!fits || key.state != 0) return pass_damage(context, key, reading, fits);
    ChunkInfo chunk = describe(key, reading.header);
    const Position marker_begin = chunk.end - marker_size();
    ASSIGN_OR_RETURN(const auto after, window.from(context, marker_begin, marker_size()));
    const Bytes marker = after.first(static_cast<std::size_t>(marker_size()));
    if (std::ranges::equal(marker, wire_.marker())) return step_with(chunk, chunk.end);
    const bool is_nearly = block::is_nearly(marker, wire_.marker());
    ASSIGN_OR_RETURN(const auto is_followed, is_block(context, window, chunk.end));  // `marker` is invalid after this
    if (!is_followed && !is_nearly) return pass_damage(context, key, reading, fits);
    // The marker is where it should be, so it alone is damaged.
    const Position end = std::exchange(chunk.end, marker_begin);
    Step step = step_with(chunk, end);
    step.damage.push_back(damaged_region(marker_begin, end, "the marker after the block is damaged"));
    step.damage.back().records_lost = 0;
    step.damage.back().records_before = chunk.records.value_or(0);
    return step;
  }

  Result<Layout> layout(const RequestContext& context, const ChunkInfo& chunk) const override {
    return is_head(chunk) ? Layout() : Container::layout(context, chunk);
  }

  Result<Verification> verify(const RequestContext& context, const ChunkInfo& chunk) const override {
    if (is_head(chunk)) return Verification::kNoChecksum;
    ASSIGN_OR_RETURN(const auto decoded, decode(context, chunk));
    if (const Error* const failure = decoded->layout().first_failure()) return *failure;
    const bool is_checked = traits().records_have_checksums && decoded->layout().has_checksum();
    return is_checked ? Verification::kVerified : Verification::kNoChecksum;
  }

  Result<std::shared_ptr<const Chunk>> decode(const RequestContext& context, const ChunkInfo& chunk) const override {
    if (is_head(chunk)) return std::shared_ptr<const Chunk>(std::make_shared<BufferChunk>(Buffer(), Layout()));
    if (chunk.stored_size > limits_.stored_chunk) {
      return Error{Code::kLimit, chunk.begin,
                   std::to_string(chunk.stored_size) + " bytes stored in one block exceed the limit"};
    }
    ASSIGN_OR_RETURN(const auto stored, view_exactly(context, *source_, payload_begin(chunk), chunk.stored_size));
    auto content = wire_.decode(context, header_of(chunk), stored.bytes);
    if (!content) {
      Error why = std::move(content).error();
      why.position = chunk.begin;
      return why;
    }
    return std::shared_ptr<const Chunk>(
        std::make_shared<BufferChunk>(std::move(content->bytes), std::move(content->layout)));
  }

 protected:
  BlockContainer(std::shared_ptr<const Source> source, const Limits& limits, Wire wire, BlockFileHead head)
      : source_(std::move(source)), limits_(limits), wire_(std::move(wire)), head_(std::move(head)) {}

  const Limits& limits() const { return limits_; }

 private:
  using Verdict = BlockReading::Verdict;

  enum class Kind : std::uint8_t { kHeader, kBlock };

  static bool is_head(const ChunkInfo& chunk) { return chunk.kind.as<Kind>() == Kind::kHeader; }

  Step scan_head() const {
    ChunkInfo chunk;
    chunk.end = head_.size;
    chunk.kind = {Kind::kHeader, "header"};
    chunk.codec = to_string(CodecId::kNone);
    chunk.records = chunk.decoded_size = 0;
    Step step = step_with(chunk, head_.damage ? head_.damage->end : head_.size);
    if (head_.damage) {
      step.chunk.reset();
      step.damage.push_back(*head_.damage);
    }
    return step;
  }

  // Returns the step of a chunk that is the last one before `end`.
  Step step_with(const ChunkInfo& chunk, Position end) const {
    Step step;
    step.chunk = chunk;
    if (end < source_->size()) step.next = ChunkKey{end, 0};
    return step;
  }

  std::uint64_t marker_size() const { return wire_.marker().size(); }

  Result<BlockReading> read_header(const RequestContext& context, WindowedReader& window, Position at) const {
    ASSIGN_OR_RETURN(const auto head, window.from(context, at, Wire::kLongestHeader));
    return wire_.parse(head.first(std::min<std::size_t>(head.size(), Wire::kLongestHeader)));
  }

  // Returns whether the block at `at` ends in the file.
  bool block_fits(Position at, const BlockHeader& header) const {
    const std::uint64_t room = source_->size() - at;
    const std::uint64_t beside = header.size + marker_size();
    return beside <= room && header.stored <= room - beside;
  }

  // Returns whether an intact block is at `at`.
  Result<bool> is_block(const RequestContext& context, WindowedReader& window, Position at) const {
    if (at >= source_->size()) return false;
    ASSIGN_OR_RETURN(const auto reading, read_header(context, window, at));
    if (reading.verdict != Verdict::kSound || !block_fits(at, reading.header)) return false;
    const Position marker_begin = at + reading.header.size + reading.header.stored;
    ASSIGN_OR_RETURN(const auto after, window.from(context, marker_begin, marker_size()));
    return std::ranges::equal(after.first(static_cast<std::size_t>(marker_size())), wire_.marker());
  }

  // ChunkInfo::detail has the size of the header, and the records that it counts.
  ChunkInfo describe(ChunkKey key, const BlockHeader& header) const {
    ChunkInfo chunk;
    chunk.key = key;
    chunk.begin = key.position;
    chunk.end = key.position + header.size + header.stored + marker_size();
    chunk.kind = {Kind::kBlock, "block"};
    chunk.codec = wire_.codec();
    chunk.records = wire_.records_of(header);
    chunk.decoded_size = header.decoded_size;
    chunk.stored_size = header.stored;
    chunk.layout_cost = LayoutCost::kDecode;
    chunk.detail = {header.size, header.records};
    return chunk;
  }
  static Position payload_begin(const ChunkInfo& chunk) { return chunk.begin + chunk.detail[0]; }
  static BlockHeader header_of(const ChunkInfo& chunk) {
    return {.size = chunk.detail[0], .stored = chunk.stored_size, .records = chunk.detail[1]};
  }

  // Reports the bytes from the key's position to the next block. `reading`: of the header there; `fits`: whether the
  // block ends in the file. If it does not, and no marker follows, the block is being written or was cut off.
  Result<Step> pass_damage(const RequestContext& context, ChunkKey key, const BlockReading& reading, bool fits) const {
    const Position from = key.state != 0 ? key.state : key.position;
    ASSIGN_OR_RETURN(const auto found, block::search(context, *source_, wire_.marker(), from, limits_.scan_bytes));
    Step step;
    if (found.kind == ResyncResult::Kind::kLater) {
      step.next = ChunkKey{key.position, found.at};
      return step;
    }
    const bool is_found = found.kind == ResyncResult::Kind::kFound;
    const Position end = is_found ? found.at + marker_size() : found.at;
    if (end < source_->size()) step.next = ChunkKey{end, 0};
    const bool is_invalid = reading.verdict == Verdict::kInvalid;
    const bool is_torn = !is_found && !is_invalid && !fits;
    std::string reason = is_invalid ? reading.reason
                         : fits     ? "the marker after the block is wrong"
                                    : "wrong block size";
    if (is_torn) reason = "the file ends inside a block";
    step.damage.push_back(
        damaged_region(key.position, end, reason, is_torn ? DamageClass::kUnfinished : DamageClass::kDamage));
    return step;
  }

  const std::shared_ptr<const Source> source_;
  const Limits limits_;
  const Wire wire_;
  const BlockFileHead head_;
};

}  // namespace recordfs
