#include "core/codec/codec.h"

#include <fmt/format.h>

#include "core/codec/backend.h"

namespace recordfs {
namespace {

constexpr std::size_t kScratch = 128u << 10;

// Null for what this build has not got.
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
#endif
    default: return nullptr;
  }
}

Error not_built(CodecId codec) {
  return {Code::kUnsupported, 0, fmt::format("{} is not part of this build", to_string(codec))};
}

}  // namespace

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
  }
  return "unknown";
}

bool is_available(CodecId codec) { return backend_of(codec) != nullptr; }

Result<void> decompress_into(CodecId codec, Bytes stored, MutableBytes out) {
  const Backend* backend = backend_of(codec);
  if (backend && backend->decompress_into) return backend->decompress_into(stored, out);
  auto stream = open_stream(codec, stored);
  return stream ? fill(**stream, out) : std::move(stream).error();
}

Result<Buffer> decompress(CodecId codec, Bytes stored, std::uint64_t expected, std::uint64_t limit,
                          std::uint64_t memory) {
  const Backend* backend = backend_of(codec);
  if (backend && backend->decompress) return backend->decompress(stored, expected, limit);
  auto stream = open_stream(codec, stored, Tail::kDamage, memory);
  if (!stream) return std::move(stream).error();
  if (expected == 0 && codec == CodecId::kZstd) expected = zstd_content_size(stored).value_or(0);
  return collect(**stream, stored.size(), expected, limit);
}

Result<Buffer> decompress_exactly(CodecId codec, Bytes stored, std::uint64_t size, Tail tail, std::uint64_t memory) {
  const Backend* backend = backend_of(codec);
  if (tail == Tail::kDamage && backend && backend->decompress_into && is_plausible(stored.size(), size)) {
    auto bytes = Buffer::allocate(static_cast<std::size_t>(size));
    if (!bytes) return bytes;
    if (auto done = backend->decompress_into(stored, bytes->span()); !done) return std::move(done).error();
    return bytes;
  }
  auto stream = open_stream(codec, stored, tail, memory);
  return stream ? collect_exactly(**stream, stored.size(), size) : std::move(stream).error();
}

Result<std::uint64_t> decompressed_size(CodecId codec, Bytes stored, std::uint64_t limit) {
  auto stream = open_stream(codec, stored);
  if (!stream) return std::move(stream).error();
  auto scratch = Buffer::allocate(kScratch);
  if (!scratch) return std::move(scratch).error();
  std::uint64_t size = 0;
  for (std::size_t got = kScratch; got == kScratch && size <= limit; size += got) {
    auto read = (*stream)->read(scratch->span());
    if (!read) return std::move(read).error();
    got = *read;
  }
  if (size > limit) return more_than(limit);
  return size;
}

Result<Front> decompress_front(CodecId codec, Bytes stored, std::uint64_t expected, std::uint64_t limit) {
  auto stream = open_stream(codec, stored, Tail::kIgnored);
  if (!stream) return std::move(stream).error();
  auto content = collect(**stream, stored.size(), expected, limit);
  if (!content) return std::move(content).error();
  return Front{std::move(*content), stored.size() - (*stream)->stored_left()};
}

Result<std::unique_ptr<DecodeStream>> open_stream(CodecId codec, Bytes stored, Tail tail, std::uint64_t memory) {
  const Backend* backend = backend_of(codec);
  return backend ? backend->open_stream(stored, tail, memory) : not_built(codec);
}

#ifndef RECORDFS_HAVE_ZSTD
std::optional<std::uint64_t> zstd_content_size(Bytes) { return std::nullopt; }
std::optional<std::uint64_t> zstd_frame_size(Bytes) { return std::nullopt; }
#endif

}  // namespace recordfs
