#include "fusefs/tree/joined/joined_streams.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "core/store/scanner.h"
#include "fusefs/tree/joined/set_nodes.h"

namespace recordfs {

// Does not wait for shards that were appended if `until` is before them.
Result<JoinedStreams::Begins> JoinedStreams::begins(Stream stream, std::uint64_t until) const {
  const std::lock_guard lock(mutex_);
  Begins& known = stream == Stream::kConcat ? concat_ : lines_;
  DataSet& sizes = shards_.sizes();
  const std::size_t shards = sizes.size();
  if (known != nullptr && (until <= known->back() || known->size() == shards + 1)) return known;
  TRY(sizes.totals());
  auto made = std::make_shared<std::vector<std::uint64_t>>();
  made->reserve(shards + 1);
  std::uint64_t end = 0;
  for (std::size_t shard = 0; shard < shards; ++shard) {
    made->push_back(end);
    ASSIGN_OR_RETURN(const auto counts, sizes.counts(shard));
    std::uint64_t size = sizes.failure(shard) ? 1 : counts.bytes;
    if (stream == Stream::kLines) size += counts.records;
    end += std::min(size, kLargestSum - end);
  }
  made->push_back(end);
  return known = std::move(made);
}

Stream JoinedStreams::stream_of(const Node& file) {
  return file.value == kSetConcat ? Stream::kConcat : Stream::kLines;
}

Result<std::uint64_t> JoinedStreams::size(const RequestContext&, Node file) const {
  ASSIGN_OR_RETURN(const auto begins, this->begins(stream_of(file), UINT64_MAX));
  return begins->back();
}

Result<Slice> JoinedStreams::read(const RequestContext& context, Node file, std::uint64_t offset,
                                  std::uint64_t length) const {
  const Stream stream = stream_of(file);
  ASSIGN_OR_RETURN(const auto begins, this->begins(stream, offset + std::min(length, UINT64_MAX - offset)));
  if (offset >= begins->back() || length == 0) return Slice{};
  const std::uint64_t wanted = std::min(length, begins->back() - offset);
  std::optional<Buffer> gathered;
  for (std::uint64_t filled = 0;;) {
    // The last shard that begins until there is not empty.
    const std::uint64_t at = offset + filled;
    const auto after = std::ranges::upper_bound(*begins, at);
    const std::uint64_t begin = *std::prev(after);
    const Part part{.shard = static_cast<std::size_t>(after - begins->begin()) - 1,
                    .offset = at - begin,
                    .length = std::min(wanted - filled, *after - at),
                    .whole = *after - begin};
    ASSIGN_OR_RETURN(auto piece, read_part(context, stream, part));
    if (part.length == wanted) return piece;
    if (!gathered) {
      ASSIGN_OR_RETURN(gathered, Buffer::allocate(context, static_cast<std::size_t>(wanted)));
    }
    copy_bytes(piece.bytes, gathered->span().subspan(static_cast<std::size_t>(filled)));
    filled += part.length;
    if (filled == wanted) return owned(std::move(*gathered));
  }
}

// Returns exactly the part.
Result<Slice> JoinedStreams::read_part(const RequestContext& context, Stream stream, const Part& part) const {
  if (const auto failure = shards_.sizes().failure(part.shard)) return *failure;
  if (part.whole > kSmallShard) return read_shard(context, stream, part);
  const auto make = [&]() -> Result<std::shared_ptr<const CachedBytes>> {
    ASSIGN_OR_RETURN(const auto whole, read_shard(context, stream, {part.shard, 0, part.whole, part.whole}));
    ASSIGN_OR_RETURN(auto copy, Buffer::copy_of(context, whole.bytes));
    return std::make_shared<const CachedBytes>(CachedBytes{std::move(copy)});
  };
  auto whole = small_shards_.get(context, {part.shard, static_cast<Position>(stream)}, make);
  // One unreadable record must not make the others of its shard unreadable.
  if (!whole && is_permanent(whole.error().code)) return read_shard(context, stream, part);
  if (!whole) return std::move(whole).error();
  return part_of({(*whole)->bytes.view(), *whole}, part.offset, part.length);
}

Result<Slice> JoinedStreams::read_shard(const RequestContext& context, Stream stream, const Part& part) const {
  ASSIGN_OR_RETURN(const auto container, shards_.container(context, part.shard));
  const StreamReader& streams = container->tree->store().streams();
  ASSIGN_OR_RETURN(auto piece, kept_open(container, streams.read(context, stream, part.offset, part.length)));
  if (piece.bytes.size() != part.length) {
    return Error{.code = Code::kChanged, .detail = "the shard has other records than when it was counted"};
  }
  return piece;
}

}  // namespace recordfs
