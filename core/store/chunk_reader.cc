#include "core/store/chunk_reader.h"

#include <algorithm>
#include <utility>

#include "core/base/request_context.h"

namespace recordfs {
namespace {

constexpr std::uint64_t kLargeChunk = 8u << 20;
// Bytes that a record needs during decoding: its end in the output, and in the layout.
constexpr std::uint64_t kMemoryOfAPlace = 8 + 4;

// Returns whether reading or decoding so many bytes needs permission for slow work.
bool is_slow(std::uint64_t bytes) { return bytes >= RequestContext::kLargeAllocation; }

// Fails if the decoded chunk does not match the scan. Ordinals and offsets would be wrong then.
Result<void> check_counts(const ChunkInfo& chunk, const Layout& layout) {
  const bool same = chunk.records.value_or(layout.records()) == layout.records() &&
                    chunk.decoded_size.value_or(layout.total()) == layout.total();
  if (same) return {};
  return Error{Code::kChanged, chunk.begin, "the chunk's records no longer match its header"};
}

}  // namespace

ChunkReader::ChunkReader(const StoredFile& file, const ChunkIndex& index, DamageLog& log)
    : file_(file), index_(index), log_(log), read_ahead_(new_read_ahead()) {}

std::unique_ptr<ReadAhead> ChunkReader::new_read_ahead() const {
  const ReadAhead::Work work{
      .next = [this](const RequestContext& context, const ChunkInfo& chunk) -> std::optional<ChunkInfo> {
        auto next = index_.next_with_records(context, chunk);
        if (next && is_large(*next)) next.reset();
        return next;
      },
      // A chunk may postpone work to its first read, so read it here.
      .decode =
          [this](const RequestContext& context, const ChunkInfo& chunk) {
            if (auto ahead = get_quietly(context, chunk))
              static_cast<void>(
                  log_.reported(context, read(context, **ahead, 0, (*ahead)->payload_size())).has_value());
          },
      .may = file_.source->filesystem() == 0 ? RequestContext::Work::kNonBlocking : RequestContext::Work::kMayBlock};
  const ReadAhead::Bounds bounds{.chunks = std::size_t{2} * file_.services.executor.threads(),
                                 .bytes = file_.services.chunks.capacity() / 4};
  return std::make_unique<ReadAhead>(file_.services.executor, work, bounds);
}

bool ChunkReader::is_large(const ChunkInfo& chunk) const {
  const std::uint64_t size = std::max(chunk.stored_size, chunk.decoded_size.value_or(0));
  return size > std::min(kLargeChunk, file_.services.chunks.capacity() / 4);
}

Result<std::uint64_t> ChunkReader::records_in(const RequestContext& context, const ChunkInfo& chunk) const {
  if (chunk.records) return *chunk.records;
  ASSIGN_OR_RETURN(const auto known, layout(context, chunk));
  return known->records();
}

Result<std::shared_ptr<const Layout>> ChunkReader::layout(const RequestContext& context, const ChunkInfo& info) const {
  if (info.layout_cost != LayoutCost::kDecode) return log_.reported(context, cached_layout(context, info));
  ASSIGN_OR_RETURN(auto decoded, get(context, info));
  return std::shared_ptr<const Layout>(decoded, &decoded->layout());
}

Result<std::shared_ptr<const Layout>> ChunkReader::cached_layout(const RequestContext& context,
                                                                 const ChunkInfo& info) const {
  const CacheKey key = file_.key_of(info);
  if (auto decoded = file_.services.chunks.peek(key); decoded && *decoded) {
    const Layout& of_decoded = (**decoded)->chunk->layout();
    if (check_counts(info, of_decoded)) return std::shared_ptr<const Layout>(**decoded, &of_decoded);
  }
  ASSIGN_OR_RETURN(auto known, file_.services.layouts.get(context, key, [&]() -> Result<std::shared_ptr<const Layout>> {
    ASSIGN_OR_RETURN(auto made, file_.make_layout(context, info));
    return std::make_shared<const Layout>(std::move(made));
  }));
  if (auto same = check_counts(info, *known); !same) {
    file_.services.layouts.forget(key);
    index_.invalidate();
    return std::move(same).error();
  }
  return known;
}

Result<ChunkReader::Pointer> ChunkReader::decode(const RequestContext& context, const ChunkInfo& chunk) const {
  auto decoded = decode_in_turn(context, chunk);
  if (decoded) file_.services.decoded_bytes.fetch_add((*decoded)->payload_size(), std::memory_order_relaxed);
  return decoded;
}

Result<ChunkReader::Pointer> ChunkReader::decode_in_turn(const RequestContext& context, const ChunkInfo& chunk) const {
  DecodeBudgets& budgets = file_.budgets;
  if (is_large(chunk)) {
    DecodeBudget::Turn turn(budgets.slow);
    auto in_place = file_.container->open_in_place(context.with(turn), chunk);
    if (!in_place || *in_place) return in_place;
  }
  if (is_large(chunk) && chunk.decoded_size) {
    const std::uint64_t places = chunk.records.value_or(0) * kMemoryOfAPlace;
    const std::uint64_t bytes = std::max(chunk.stored_size, *chunk.decoded_size) + places;
    if (is_slow(bytes)) {
      TRY(context.permit_slow_work());
    }
    const DecodeBudget::Share share(context, is_slow(bytes) ? budgets.slow : budgets.small, bytes);
    TRY(context.spend(0));
    if (is_slow(bytes)) return file_.container->decode(context, chunk);
    DecodeBudget::Turn turn(budgets.slow);  // for decoding that needs more than declared
    return file_.container->decode(context.with(turn), chunk);
  }
  DecodeBudget::Turn turn(budgets.slow);
  return file_.container->decode(context.with(turn), chunk);
}

// The cached chunk may come from a caller with less information about it.
Result<ChunkReader::Pointer> ChunkReader::get_quietly(const RequestContext& context, const ChunkInfo& info) const {
  const CacheKey key = file_.key_of(info);
  ASSIGN_OR_RETURN(const auto decoded,
                   file_.services.chunks.get(context, key, [&]() -> Result<std::shared_ptr<const CachedChunk>> {
                     auto made = decode(context, info);
                     if (file_.source->has_grown()) log_.report_growth();
                     if (!made) return std::move(made).error();
                     return std::make_shared<const CachedChunk>(CachedChunk{info, std::move(*made)});
                   }));
  if (auto same = check_counts(info, decoded->chunk->layout()); !same) {
    file_.services.chunks.forget(key);
    index_.invalidate();
    return std::move(same).error();
  }
  return decoded->chunk;
}

Result<ChunkReader::Pointer> ChunkReader::get(const RequestContext& context, const ChunkInfo& info) const {
  auto decoded = log_.reported(context, get_quietly(context, info));  // includes failures that read-ahead found
  if (decoded) was_read(info);
  return decoded;
}

Result<ChunkReader::Pointer> ChunkReader::decode_ahead(const RequestContext& context, const ChunkInfo& info) const {
  ASSIGN_OR_RETURN(auto decoded, decode(context, info));
  TRY(check_counts(info, decoded->layout()));
  // A chunk may postpone work to its first read. If that fails, each unreadable record reports it later.
  if (!is_large(info)) {
    static_cast<void>(read(context, *decoded, 0, decoded->payload_size()).has_value());
  }
  return decoded;
}

Result<ChunkReader::Pointer> ChunkReader::decode_uncached(const RequestContext& context, const ChunkInfo& info) const {
  return log_.reported(context, decode_ahead(context, info));
}

// Reading a chunk on demand may decode.
Result<Slice> ChunkReader::read(const RequestContext& context, const Chunk& chunk, std::uint64_t offset,
                                std::uint64_t length) const {
  DecodeBudget::Turn turn(file_.budgets.slow);
  return chunk.read(context.with(turn), offset, length);
}

Result<void> ChunkReader::check_readable(const RequestContext& context, const Layout& layout,
                                         std::uint64_t index) const {
  const Error* failure = layout.failure(index);
  if (failure == nullptr) return {};
  log_.report(context, *failure);
  return *failure;
}

Result<std::uint64_t> ChunkReader::payload_size(const RequestContext& context, const ChunkInfo& info) const {
  auto decoded = get(context, info);
  if (decoded) return (*decoded)->payload_size();
  if (is_permanent(decoded.error().code)) return at_least_one(counted_size(info));
  return std::move(decoded).error();
}

Result<Slice> ChunkReader::read_payload(const RequestContext& context, const ChunkInfo& info, std::uint64_t offset,
                                        std::uint64_t length) const {
  ASSIGN_OR_RETURN(const auto decoded, get(context, info));
  const std::uint64_t size = decoded->payload_size();
  if (offset >= size) return Slice{};
  const Layout& layout = decoded->layout();
  const std::uint64_t end = offset + std::min(length, size - offset);
  if (layout.has_failures()) {
    for (std::uint64_t i = layout.index_at(offset); i < layout.records() && layout.extent(i).begin < end; ++i) {
      TRY(check_readable(context, layout, i));
    }
  }
  return log_.reported(context, read(context, *decoded, offset, end - offset));
}

Result<Slice> ChunkReader::read_raw(const RequestContext& context, Position begin, Position end, std::uint64_t offset,
                                    std::uint64_t length) const {
  if (offset >= end - begin) return Slice{};
  ASSIGN_OR_RETURN(auto bytes, log_.reported(context, read_exactly(context, *file_.source, begin + offset,
                                                                   std::min(length, end - begin - offset))));
  return owned(std::move(bytes));
}

Result<Slice> ChunkReader::read_raw(const RequestContext& context, const ChunkInfo& chunk, std::uint64_t offset,
                                    std::uint64_t length) const {
  auto slice = read_raw(context, chunk.begin, chunk.end, offset, length);
  const std::uint64_t generation = file_.source->generation();
  if (!slice || generation == 0) return slice;
  // A touched file whose ends are unchanged may have changed in between.
  if (auto sound = file_.container->verify(context, chunk); !sound) {
    if (!is_permanent(sound.error().code)) return std::move(sound).error();
    const Error changed{Code::kChanged, chunk.begin, "the file was modified, and this chunk is not valid"};
    log_.report(context, changed);
    return changed;
  }
  if (file_.source->generation() != generation) {
    return Error{Code::kChanged, chunk.begin, "the file is being written"};
  }
  return slice;
}

}  // namespace recordfs
