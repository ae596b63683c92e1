#include "core/codec/codec.h"

#include <algorithm>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "core/base/request_context.h"
#include "core/codec/backend.h"
#include "core/codec/inflater.h"
#include "core/codec/lz4_block.h"

namespace recordfs {
namespace {

constexpr std::size_t kScratch = 128u << 10;
constexpr std::size_t kPiece = 4u << 20;  // bytes between two checks for cancellation

// A guessed size is trusted up to this many bytes, or up to this many for each stored byte.
constexpr std::uint64_t kBelievedBytes = 1 << 20;
constexpr std::uint64_t kBelievedRatio = 64;
// The assumed compression ratio if there is no guess.
constexpr std::uint64_t kUsualRatio = 4;

std::uint64_t most_believed(std::uint64_t stored_size) {
  const std::uint64_t stored = std::min(stored_size, std::numeric_limits<std::uint64_t>::max() / kBelievedRatio);
  return std::max(kBelievedBytes, stored * kBelievedRatio);
}

std::uint64_t first_capacity(std::uint64_t stored_size, std::uint64_t expected, std::uint64_t limit) {
  const std::uint64_t believed = most_believed(stored_size);
  const std::uint64_t wanted = expected > 0 ? expected : std::max<std::uint64_t>(stored_size * kUsualRatio, 256);
  return std::min({wanted, believed, limit});
}

std::size_t next_capacity(std::uint64_t full, std::uint64_t limit) {
  return static_cast<std::size_t>(full > limit / 2 ? limit : std::max<std::uint64_t>(2 * full, 256));
}

// Returns nullopt if more than `limit` bytes come out.
Result<std::optional<Buffer>> collect_up_to(const RequestContext& context, DecodeStream& stream,
                                            std::uint64_t stored_size, std::uint64_t expected, std::uint64_t limit) {
  ASSIGN_OR_RETURN(auto buffer,
                   Buffer::allocate(context, static_cast<std::size_t>(first_capacity(stored_size, expected, limit))));
  std::size_t filled = 0;
  for (;;) {
    auto got = stream.read(context, buffer.span().subspan(filled));
    if (!got) return std::move(got).error();
    filled += *got;
    std::byte next{};
    if (filled == buffer.size()) got = stream.read(context, {&next, 1});
    if (!got) return std::move(got).error();
    if (filled < buffer.size() || *got == 0) break;
    if (filled >= limit) return std::optional<Buffer>{};
    TRY(buffer.grow(context, next_capacity(filled, limit)));
    buffer.data()[filled++] = next;
  }
  // Do not hold the memory of a guess that was far too high.
  const bool holds_much_more = filled < buffer.size() - buffer.size() / 4;
  buffer.truncate(filled);
  if (holds_much_more) buffer.fit();
  return std::optional(std::move(buffer));
}

// Reads `stream` to its end into a buffer that grows with the output. `stored_size` bounds how far the first allocation
// trusts `expected`. Fails with kLimit beyond `limit` bytes, and as the stream does.
Result<Buffer> collect(const RequestContext& context, DecodeStream& stream, std::uint64_t stored_size,
                       std::uint64_t expected, std::uint64_t limit) {
  ASSIGN_OR_RETURN(auto bytes, collect_up_to(context, stream, stored_size, expected, limit));
  if (!bytes) return more_than(limit);
  return std::move(*bytes);
}

// As collect(), but fails with kDamage unless exactly `size` bytes come out.
Result<Buffer> collect_exactly(const RequestContext& context, DecodeStream& stream, std::uint64_t stored_size,
                               std::uint64_t size) {
  ASSIGN_OR_RETURN(auto bytes, collect_up_to(context, stream, stored_size, size, size));
  if (!bytes || bytes->size() != size) return wrong_size(size);
  return std::move(*bytes);
}

// Reads `stream` into all of `out`. Fails with kDamage if the stream is shorter or longer.
Result<void> fill(const RequestContext& context, DecodeStream& stream, MutableBytes out) {
  ASSIGN_OR_RETURN(const auto got, stream.read(context, out));
  if (got < out.size()) return wrong_size(out.size());
  std::byte after{};
  ASSIGN_OR_RETURN(const auto more, stream.read(context, {&after, 1}));
  if (more > 0) return wrong_size(out.size());
  return {};
}

// Wraps a stream and reads it in pieces, so that the caller can cancel between them.
class AskingStream final : public DecodeStream {
 public:
  explicit AskingStream(std::unique_ptr<DecodeStream> stream) : stream_(std::move(stream)) {}

  Result<std::size_t> read(const RequestContext& context, MutableBytes out) override {
    std::size_t done = 0;
    for (;;) {
      const std::size_t piece = std::min(kPiece, out.size() - done);
      TRY(context.spend(piece));
      ASSIGN_OR_RETURN(const auto got, stream_->read(context, out.subspan(done, piece)));
      done += got;
      if (got < piece || done == out.size()) return done;
    }
  }
  std::size_t stored_left() const override { return stream_->stored_left(); }

 private:
  const std::unique_ptr<DecodeStream> stream_;
};

class NoneStream final : public DecodeStream {
 public:
  explicit NoneStream(Bytes stored) : rest_(stored) {}

  Result<std::size_t> read(const RequestContext&, MutableBytes out) override {
    const std::size_t size = std::min(out.size(), rest_.size());
    copy_bytes(rest_.first(size), out);
    rest_ = rest_.subspan(size);
    return size;
  }

  std::size_t stored_left() const override { return rest_.size(); }

 private:
  Bytes rest_;
};

Result<void> decompress_none_into(Bytes stored, MutableBytes out) {
  if (stored.size() != out.size()) return wrong_size(out.size());
  copy_bytes(stored, out);
  return {};
}

Result<Buffer> decompress_none(const RequestContext& context, Bytes stored, std::uint64_t, std::uint64_t limit) {
  if (stored.size() > limit) return more_than(limit);
  return Buffer::copy_of(context, stored);
}

Result<std::unique_ptr<DecodeStream>> open_none(Bytes stored, Tail, std::uint64_t /*memory*/) {
  return std::unique_ptr<DecodeStream>(std::make_unique<NoneStream>(stored));
}

const Backend kNoneBackend = {decompress_none_into, decompress_none, open_none};

// Returns null if this build lacks the codec.
const Backend* backend_of(CodecId codec) {
  switch (codec) {
    case CodecId::kNone: return &kNoneBackend;
#ifdef RECORDFS_HAVE_ZSTD
    case CodecId::kZstd: return &kZstdBackend;
#endif
#ifdef RECORDFS_HAVE_BROTLI
    case CodecId::kBrotli: return &kBrotliBackend;
#endif
#ifdef RECORDFS_HAVE_SNAPPY
    case CodecId::kSnappy: return &kSnappyBackend;
#endif
#ifdef RECORDFS_HAVE_ZLIB
    case CodecId::kDeflate: return &kDeflateBackend;
    case CodecId::kZlib: return &kZlibBackend;
    case CodecId::kGzip: return &kGzipBackend;
#endif
#ifdef RECORDFS_HAVE_LZ4
    case CodecId::kLz4Frame: return &kLz4FrameBackend;
#endif
#ifdef RECORDFS_HAVE_LZMA
    case CodecId::kLzma: return &kLzmaBackend;
    case CodecId::kXz: return &kXzBackend;
#endif
#ifdef RECORDFS_HAVE_BZIP2
    case CodecId::kBzip2: return &kBzip2Backend;
#endif
    default: return nullptr;
  }
}

Error not_built(CodecId codec) {
  return {Code::kUnsupported, 0, fmt::format("{} is not part of this build", to_string(codec))};
}

// Returns `expected` plus the extra room that the stream prefers. Returns 0 if `expected` is 0 (no guess).
std::uint64_t with_room(const Backend* backend, Bytes stored, std::uint64_t expected) {
  if (expected == 0 || !backend || !backend->room) return expected;
  const std::uint64_t with = expected + std::min(backend->room(stored), UINT64_MAX - expected);
  return with < RequestContext::kLargeAllocation ? with : expected;
}

// Returns whether memory for an output of `size` bytes may be allocated at once.
bool may_have(const Backend& backend, Bytes stored, std::uint64_t size) {
  return is_plausible(stored.size(), size) || (backend.most_output != nullptr && size <= backend.most_output(stored));
}

// Returns the size that `stored` states for its whole content; nullopt if it states none.
std::optional<std::uint64_t> stated_by_zstd(Bytes stored) {
  return zstd_frame_size(stored) == stored.size() ? zstd_content_size(stored) : std::nullopt;
}

// Returns the content of a unit of `size` bytes, or nullopt if there is no fast path or it fails. Sets `used` to the
// stored bytes used; with Tail::kDamage these must be all.
std::optional<Buffer> take_whole(const RequestContext& context, const Backend* backend, Bytes stored,
                                 std::uint64_t size, Tail tail, std::size_t& used) {
  if (!backend || !backend->whole || !is_plausible(stored.size(), size)) return std::nullopt;
  auto bytes = Buffer::allocate(context, static_cast<std::size_t>(size));
  if (!bytes) return std::nullopt;
  const auto taken = backend->whole->take(stored, bytes->span());
  if (!taken || (tail == Tail::kDamage && *taken != stored.size())) return std::nullopt;
  used = *taken;
  return std::move(*bytes);
}

// The same for a unit that states its own size.
std::optional<Buffer> take_stated(const RequestContext& context, const Backend* backend, Bytes stored,
                                  std::uint64_t limit, Tail tail, std::size_t& used) {
  if (!backend || !backend->whole) return std::nullopt;
  const auto stated = backend->whole->stated_size(stored);
  if (!stated || *stated > limit) return std::nullopt;
  return take_whole(context, backend, stored, *stated, tail, used);
}

}  // namespace

bool is_plausible(std::uint64_t stored_size, std::uint64_t size) { return size <= most_believed(stored_size); }

Error more_than(std::uint64_t limit) {
  return {Code::kLimit, 0, fmt::format("decompresses to more than the limit of {} bytes", limit)};
}

Error wrong_size(std::uint64_t expected) {
  return {Code::kDamage, 0, fmt::format("does not decompress to the expected {} bytes", expected)};
}

std::string_view to_string(CodecId codec) {
  switch (codec) {
    case CodecId::kNone: return "none";
    case CodecId::kZstd: return "zstd";
    case CodecId::kBrotli: return "brotli";
    case CodecId::kSnappy: return "snappy";
    case CodecId::kDeflate: return "flate";
    case CodecId::kZlib: return "zlib";
    case CodecId::kGzip: return "gzip";
    case CodecId::kLz4Frame: return "lz4";
    case CodecId::kLzma: return "lzma";
    case CodecId::kXz: return "xz";
    case CodecId::kBzip2: return "bzip2";
  }
  return "unknown";
}

bool is_available(CodecId codec) { return backend_of(codec) != nullptr; }

bool begins_zlib(Bytes head) {
  constexpr unsigned kDeflateMethod = 8;
  constexpr unsigned kCheck = 31;
  Cursor cursor(head);
  const unsigned method = cursor.u8();
  const unsigned flags = cursor.u8();
  return cursor.ok() && (method & 0x0F) == kDeflateMethod && (method << 8 | flags) % kCheck == 0;
}

Result<void> decompress_into(const RequestContext& context, CodecId codec, Bytes stored, MutableBytes out) {
  const Backend* backend = backend_of(codec);
  if (backend != nullptr && backend->decompress_into) return backend->decompress_into(stored, out);
  if (backend != nullptr && backend->whole != nullptr && backend->whole->take(stored, out) == stored.size()) return {};
  auto stream = open_stream(codec, stored);
  return stream ? fill(context, **stream, out) : std::move(stream).error();
}

Result<Buffer> decompress(const RequestContext& context, CodecId codec, Bytes stored, std::uint64_t expected,
                          std::uint64_t limit, std::uint64_t memory) {
  const Backend* backend = backend_of(codec);
  if (backend && backend->decompress) return backend->decompress(context, stored, expected, limit);
  std::size_t used = 0;
  if (auto whole = take_stated(context, backend, stored, limit, Tail::kDamage, used)) return std::move(*whole);
  // Without a stream, zstd needs no memory besides the output.
  const auto stated = codec == CodecId::kZstd ? stated_by_zstd(stored) : std::nullopt;
  if (backend && stated && *stated <= limit && may_have(*backend, stored, *stated)) {
    return decompress_exactly(context, codec, stored, *stated);
  }
  ASSIGN_OR_RETURN(const auto stream, open_stream(codec, stored, Tail::kDamage, memory));
  if (expected == 0 && codec == CodecId::kZstd) expected = zstd_content_size(stored).value_or(0);
  return collect(context, *stream, stored.size(), with_room(backend, stored, expected), limit);
}

Result<Buffer> decompress_exactly(const RequestContext& context, CodecId codec, Bytes stored, std::uint64_t size,
                                  Tail tail, std::uint64_t memory) {
  const Backend* backend = backend_of(codec);
  if (tail == Tail::kDamage && backend && backend->decompress_into && may_have(*backend, stored, size)) {
    ASSIGN_OR_RETURN(auto bytes, Buffer::allocate(context, static_cast<std::size_t>(size)));
    TRY(backend->decompress_into(stored, bytes.span()));
    return bytes;
  }
  std::size_t used = 0;
  if (auto whole = take_whole(context, backend, stored, size, tail, used)) return std::move(*whole);
  auto stream = open_stream(codec, stored, tail, memory);
  return stream ? collect_exactly(context, **stream, stored.size(), size) : std::move(stream).error();
}

Result<std::uint64_t> decompressed_size(const RequestContext& context, CodecId codec, Bytes stored,
                                        std::uint64_t limit) {
  ASSIGN_OR_RETURN(const auto stream, open_stream(codec, stored));
  ASSIGN_OR_RETURN(auto scratch, Buffer::allocate(context, kScratch));
  std::uint64_t size = 0;
  for (std::size_t got = kScratch; got == kScratch && size <= limit; size += got) {
    ASSIGN_OR_RETURN(const auto read, stream->read(context, scratch.span()));
    got = read;
  }
  if (size > limit) return more_than(limit);
  return size;
}

Result<Front> decompress_front(const RequestContext& context, CodecId codec, Bytes stored, std::uint64_t expected,
                               std::uint64_t limit) {
  const Backend* backend = backend_of(codec);
  std::size_t used = 0;
  if (auto whole = take_stated(context, backend, stored, limit, Tail::kIgnored, used)) {
    return Front{std::move(*whole), used};
  }
  ASSIGN_OR_RETURN(const auto stream, open_stream(codec, stored, Tail::kIgnored));
  ASSIGN_OR_RETURN(auto content, collect(context, *stream, stored.size(), with_room(backend, stored, expected), limit));
  return Front{std::move(content), stored.size() - stream->stored_left()};
}

Result<std::unique_ptr<DecodeStream>> open_stream(CodecId codec, Bytes stored, Tail tail, std::uint64_t memory) {
  const Backend* backend = backend_of(codec);
  if (backend == nullptr) return not_built(codec);
  ASSIGN_OR_RETURN(auto stream, backend->open_stream(stored, tail, memory));
  return std::unique_ptr<DecodeStream>(std::make_unique<AskingStream>(std::move(stream)));
}

#ifndef RECORDFS_HAVE_ZSTD
std::optional<std::uint64_t> zstd_content_size(Bytes) { return std::nullopt; }
Result<Buffer> decompress_zstd_with(const RequestContext&, Bytes, Bytes, std::uint64_t) {
  return not_built(CodecId::kZstd);
}
std::optional<std::uint64_t> zstd_frame_size(Bytes) { return std::nullopt; }
#endif
#ifndef RECORDFS_HAVE_ZLIB
Result<Buffer> decompress_deflate_with(const RequestContext&, Bytes, Bytes, std::uint64_t) {
  return not_built(CodecId::kDeflate);
}
Result<std::unique_ptr<Inflater>> Inflater::open(CodecId codec) { return not_built(codec); }
#endif
#ifndef RECORDFS_HAVE_LZ4
Result<Buffer> decompress_lz4_block(const RequestContext&, Bytes, std::uint64_t, Bytes) {
  return not_built(CodecId::kLz4Frame);
}
#endif

std::vector<CodecVersion> codec_versions() {
  std::vector<CodecVersion> versions;
  for (const std::string_view name :
       {"zstd", "brotli", "snappy", "zlib", "libdeflate", "lz4", "lzma", "bzip2", "blosc"}) {
    versions.push_back({name, {}});
  }
  const auto set = [&](std::string_view name, std::string version) {
    std::ranges::find(versions, name, &CodecVersion::name)->version = std::move(version);
  };
#ifdef RECORDFS_HAVE_ZSTD
  set("zstd", version_of_zstd());
#endif
#ifdef RECORDFS_HAVE_BROTLI
  set("brotli", version_of_brotli());
#endif
#ifdef RECORDFS_HAVE_SNAPPY
  set("snappy", version_of_snappy());
#endif
#ifdef RECORDFS_HAVE_ZLIB
  set("zlib", version_of_zlib());
#endif
#ifdef RECORDFS_HAVE_LIBDEFLATE
  set("libdeflate", version_of_libdeflate());
#endif
#ifdef RECORDFS_HAVE_LZ4
  set("lz4", version_of_lz4());
#endif
#ifdef RECORDFS_HAVE_LZMA
  set("lzma", version_of_lzma());
#endif
#ifdef RECORDFS_HAVE_BZIP2
  set("bzip2", version_of_bzip2());
#endif
#ifdef RECORDFS_HAVE_BLOSC
  set("blosc", version_of_blosc());
#endif
  return versions;
}

}  // namespace recordfs
