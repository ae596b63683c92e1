#include "core/formats/riegeli/transposed/buffers.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "core/codec/codec.h"

namespace recordfs::riegeli::transposed {
namespace {

// Parses `count` lengths, each at least one byte long.
Result<std::vector<std::uint64_t>> parse_lengths(const RequestContext& context, Cursor& header, std::uint32_t count,
                                                 std::uint64_t limit) {
  if (count > header.remaining()) return damage("more lengths than the header holds");
  if (count > limit) {
    return Error{.code = Code::kLimit,
                 .detail = fmt::format("{} buffers or buckets where the output can use {}", count, limit)};
  }
  context.announce(count * sizeof(std::uint64_t));
  std::vector<std::uint64_t> lengths(count);
  for (std::uint64_t& length : lengths) length = header.varint64();
  if (!header.ok()) return damage("truncated header");
  return lengths;
}

Result<std::uint64_t> sum_within(const std::vector<std::uint64_t>& lengths, std::uint64_t limit) {
  std::uint64_t left = limit;
  for (const std::uint64_t length : lengths) {
    if (length > left) {
      return Error{.code = Code::kLimit, .detail = fmt::format("the buffers are longer than {} bytes", limit)};
    }
    left -= length;
  }
  return limit - left;
}

struct Lengths {
  std::vector<std::uint64_t> stored;   // of buckets
  std::vector<std::uint64_t> buffers;  // of buffers
  std::uint64_t content = 0;           // the sum of these
};

Result<Lengths> parse_all_lengths(const RequestContext& context, Cursor& header, const BufferLimits& limits) {
  const std::uint32_t bucket_count = header.varint32();
  const std::uint32_t buffer_count = header.varint32();
  Lengths lengths;
  ASSIGN_OR_RETURN(lengths.stored, parse_lengths(context, header, bucket_count, limits.count));
  ASSIGN_OR_RETURN(lengths.buffers, parse_lengths(context, header, buffer_count, limits.count));
  if (lengths.stored.empty() && !lengths.buffers.empty()) return damage("buffers without a bucket");
  ASSIGN_OR_RETURN(lengths.content, sum_within(lengths.buffers, limits.bytes));
  return lengths;
}

// Cuts the buffers from the buckets in order. Opens a bucket when the previous one is used up.
class Cutter {
 public:
  Cutter(const RequestContext& context, CodecId codec, Cursor& data, const std::vector<std::uint64_t>& stored,
         std::uint64_t content, std::size_t buffer_count)
      : codec_(codec), data_(data), stored_(stored), left_(content) {
    context.announce(stored.size() * sizeof(UnitContent) + buffer_count * sizeof(Bytes));
    result_.buckets.reserve(stored.size());
    result_.buffers.reserve(buffer_count);
  }

  Result<void> open_next(const RequestContext& context) {
    const Bytes stored = data_.take(stored_[result_.buckets.size()]);
    if (!data_.ok()) return damage("a bucket is longer than the chunk");
    auto bucket = open_unit(context, codec_, stored, left_);
    if (!bucket && bucket.error().code == Code::kLimit) return damage("a bucket is longer than its buffers");
    if (!bucket) return std::move(bucket).error();
    left_ -= bucket->bytes().size();
    rest_ = bucket->bytes();
    result_.buckets.push_back(std::move(*bucket));
    return {};
  }

  bool has_next() const { return result_.buckets.size() < stored_.size(); }
  bool used_up() const { return rest_.empty(); }

  Result<void> cut(const RequestContext& context, std::uint64_t length) {
    if (length > rest_.size()) return damage("a buffer is longer than its bucket");
    result_.buffers.push_back(rest_.first(static_cast<std::size_t>(length)));
    rest_ = rest_.subspan(static_cast<std::size_t>(length));
    while (used_up() && has_next()) {
      TRY(open_next(context));
    }
    return {};
  }

  Buffers take() { return std::move(result_); }

 private:
  const CodecId codec_;
  Cursor& data_;
  const std::vector<std::uint64_t>& stored_;
  std::uint64_t left_;  // bytes of all buffers that the opened buckets do not contain
  Bytes rest_;          // unused part of the bucket opened last
  Buffers result_;
};

}  // namespace

Result<Buffers> open_buffers(const RequestContext& context, Cursor& header, Cursor& data, CodecId codec,
                             const BufferLimits& limits) {
  ASSIGN_OR_RETURN(const auto lengths, parse_all_lengths(context, header, limits));
  Cutter cutter(context, codec, data, lengths.stored, lengths.content, lengths.buffers.size());
  if (cutter.has_next()) {
    TRY(cutter.open_next(context));
  }
  for (const std::uint64_t length : lengths.buffers) {
    if (auto cut = cutter.cut(context, length); !cut) return std::move(cut).error();
  }
  if (!cutter.used_up() || cutter.has_next()) return damage("a bucket is not used up by its buffers");
  return cutter.take();
}

Result<LazyBuffers> LazyBuffers::parse(const RequestContext& context, Cursor& header, Cursor& data, CodecId codec,
                                       const BufferLimits& limits) {
  ASSIGN_OR_RETURN(const auto lengths, parse_all_lengths(context, header, limits));
  LazyBuffers buffers;
  buffers.codec_ = codec;
  context.announce(lengths.stored.size() * sizeof(Bucket) + lengths.buffers.size() * sizeof(Place));
  buffers.buckets_.reserve(lengths.stored.size());
  buffers.places_.reserve(lengths.buffers.size());
  for (const std::uint64_t size : lengths.stored) {
    const Bytes stored = data.take(size);
    if (!data.ok()) return damage("a bucket is longer than the chunk");
    ASSIGN_OR_RETURN(const auto declared, declared_size(codec, stored));
    buffers.buckets_.push_back({.stored = stored, .size = declared});
  }
  Place next;
  const auto left = [&] { return buffers.buckets_[next.bucket].size - next.begin; };
  for (const std::uint64_t length : lengths.buffers) {
    if (length > left()) return damage("a buffer is longer than its bucket");
    next.size = length;
    buffers.places_.push_back(next);
    next.begin += length;
    while (left() == 0 && next.bucket + 1 < buffers.buckets_.size()) next = {.bucket = next.bucket + 1};
  }
  const bool is_used_up = buffers.buckets_.empty() || (left() == 0 && next.bucket + 1 == buffers.buckets_.size());
  if (!is_used_up) return damage("a bucket is not used up by its buffers");
  return buffers;
}

Result<void> LazyBuffers::check_sizes_before(const RequestContext& context, std::size_t bucket) {
  for (; checked_ < bucket; ++checked_) {
    const Bucket& before = buckets_[checked_];
    const bool is_whole = before.is_open && before.stream == nullptr;
    if (is_whole || codec_ == CodecId::kNone || codec_ == CodecId::kSnappy) continue;
    ASSIGN_OR_RETURN(const auto stream, unit_stream(codec_, before.stored));
    if (codec_ == CodecId::kZstd && zstd_content_size(stream) == before.size) continue;
    TRY(content_of(context, before));
  }
  return {};
}

Result<Bytes> LazyBuffers::open(const RequestContext& context, std::size_t buffer) {
  TRY(check_sizes_before(context, places_[buffer].bucket));
  const auto begin = static_cast<std::size_t>(places_[buffer].begin);
  const auto size = static_cast<std::size_t>(places_[buffer].size);
  ASSIGN_OR_RETURN(const auto front, front_of(context, buckets_[places_[buffer].bucket], begin + size));
  return front.subspan(begin, size);
}

Result<Bytes> LazyBuffers::front_of(const RequestContext& context, Bucket& bucket, std::size_t size) const {
  // A stream is slower than decompression at once.
  const bool can_stop = codec_ == CodecId::kZstd || codec_ == CodecId::kBrotli;
  const bool is_short = size <= bucket.size / 4 * 3 && is_plausible(bucket.stored.size(), bucket.size);
  if (!bucket.is_open) {
    TRY(can_stop && is_short ? open_front(context, bucket) : open(context, bucket));
    bucket.is_open = true;
  }
  if (bucket.stream == nullptr) return bucket.content.bytes();
  if (bucket.filled < size) {
    const auto piece = bucket.front.span().subspan(bucket.filled, size - bucket.filled);
    ASSIGN_OR_RETURN(const auto read, bucket.stream->read(context, piece));
    bucket.filled += read;
    if (bucket.filled < size) return damage("a bucket is shorter than it declares");
  }
  return bucket.front.view().first(size);
}

Result<void> LazyBuffers::open_front(const RequestContext& context, Bucket& bucket) const {
  ASSIGN_OR_RETURN(const auto stored, unit_stream(codec_, bucket.stored));
  ASSIGN_OR_RETURN(bucket.front, Buffer::allocate(context, static_cast<std::size_t>(bucket.size)));
  ASSIGN_OR_RETURN(bucket.stream, open_stream(codec_, stored, Tail::kDamage, std::max(bucket.size, kStreamMemory)));
  return {};
}

Result<UnitContent> LazyBuffers::content_of(const RequestContext& context, const Bucket& bucket) const {
  auto content = open_unit(context, codec_, bucket.stored, bucket.size);
  if (!content && content.error().code == Code::kLimit) return damage("a bucket is longer than it declares");
  if (!content) return std::move(content).error();
  if (content->bytes().size() != bucket.size) return damage("a bucket is shorter than it declares");
  return content;
}

Result<void> LazyBuffers::open(const RequestContext& context, Bucket& bucket) const {
  ASSIGN_OR_RETURN(bucket.content, content_of(context, bucket));
  return {};
}

}  // namespace recordfs::riegeli::transposed
