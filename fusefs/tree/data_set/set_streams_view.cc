// streams/ of a data set: the streams of the shards, one after another.
#include <algorithm>
#include <iterator>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "core/store/scanner.h"
#include "fusefs/tree/data_set/set_views.h"

namespace recordfs {
namespace {

// A shard that cannot be opened takes one byte, and reading that fails, so that its absence shows. Keeps 8 bytes per
// shard for each stream that was used.
class SetStreamsView final : public View {
 public:
  SetStreamsView(const NodeTree& nodes, DataSetShards& shards) : View(nodes), shards_(shards) {}

  // kPending until all shards of DataSetShards::sizes() are scanned for sizes.
  Result<std::uint64_t> size(const RequestContext&, Node file) const override {
    ASSIGN_OR_RETURN(const auto begins, this->begins(stream_of(file), UINT64_MAX));
    return begins->back();
  }

  // Fails if anything in the range is unreadable, as StreamReader::read() and DataSetShards::container().
  Result<Slice> read(const RequestContext& context, Node file, std::uint64_t offset,
                     std::uint64_t length) const override {
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
      const Stretch stretch{.shard = static_cast<std::size_t>(after - begins->begin()) - 1,
                            .offset = at - begin,
                            .length = std::min(wanted - filled, *after - at),
                            .whole = *after - begin};
      ASSIGN_OR_RETURN(auto piece, read_stretch(context, stream, stretch));
      if (stretch.length == wanted) return piece;
      if (!gathered) {
        ASSIGN_OR_RETURN(gathered, Buffer::allocate(context, static_cast<std::size_t>(wanted)));
      }
      copy_bytes(piece.bytes, gathered->span().subspan(static_cast<std::size_t>(filled)));
      filled += stretch.length;
      if (filled == wanted) return owned(std::move(*gathered));
    }
  }

 private:
  // Where each shard begins, and where the last one ends.
  using Begins = std::shared_ptr<const std::vector<std::uint64_t>>;
  // What a read needs of a shard's stream.
  struct Stretch {
    std::size_t shard = 0;
    std::uint64_t offset = 0;
    std::uint64_t length = 0;
    std::uint64_t whole = 0;  // size of the shard's stream
  };

  // Streams of shards up to this size are cached as a whole, so that a READ of many tiny shards can continue where it
  // had to wait although their containers are closed meanwhile.
  static constexpr std::uint64_t kSmallShard = 128u << 10;

  static Stream stream_of(const Node& file) { return file.value == kSetConcat ? Stream::kConcat : Stream::kLines; }

  // Does not wait for shards that were appended if `until` is before them.
  Result<Begins> begins(Stream stream, std::uint64_t until) const {
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

  // Returns exactly the stretch.
  Result<Slice> read_stretch(const RequestContext& context, Stream stream, const Stretch& stretch) const {
    if (const auto failure = shards_.sizes().failure(stretch.shard)) return *failure;
    if (stretch.whole > kSmallShard) return read_shard(context, stream, stretch);
    const auto make = [&]() -> Result<std::shared_ptr<const CachedBytes>> {
      ASSIGN_OR_RETURN(const auto whole, read_shard(context, stream, {stretch.shard, 0, stretch.whole, stretch.whole}));
      ASSIGN_OR_RETURN(auto copy, Buffer::copy_of(context, whole.bytes));
      return std::make_shared<const CachedBytes>(CachedBytes{std::move(copy)});
    };
    auto whole = small_shards_.get(context, {stretch.shard, static_cast<Position>(stream)}, make);
    // One unreadable record must not make the others of its shard unreadable.
    if (!whole && is_permanent(whole.error().code)) return read_shard(context, stream, stretch);
    if (!whole) return std::move(whole).error();
    return part_of({(*whole)->bytes.view(), *whole}, stretch.offset, stretch.length);
  }

  Result<Slice> read_shard(const RequestContext& context, Stream stream, const Stretch& stretch) const {
    ASSIGN_OR_RETURN(const auto container, shards_.container(context, stretch.shard));
    const StreamReader& streams = container->tree->store().streams();
    ASSIGN_OR_RETURN(auto piece, kept_open(container, streams.read(context, stream, stretch.offset, stretch.length)));
    if (piece.bytes.size() != stretch.length) {
      return Error{.code = Code::kChanged, .detail = "the shard has other records than when it was counted"};
    }
    return piece;
  }

  DataSetShards& shards_;
  mutable SharedCache<CachedBytes> small_shards_{4u << 20};
  mutable std::mutex mutex_;  // guards the following
  mutable Begins concat_;
  mutable Begins lines_;
};

}  // namespace

SetViewPointer make_set_streams_view(const NodeTree& nodes, DataSetShards& shards, TreeContext&) {
  return std::make_unique<SetStreamsView>(nodes, shards);
}

}  // namespace recordfs
