#include "core/codec/codec.h"

#include <fmt/format.h>

#include "core/codec/backend.h"

namespace recordfs {
namespace {

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
  }
  return "unknown";
}

bool is_available(CodecId codec) { return backend_of(codec) != nullptr; }

Result<void> decompress_into(CodecId codec, Bytes stored, MutableBytes out) {
  const Backend* backend = backend_of(codec);
  return backend ? backend->decompress_into(stored, out) : not_built(codec);
}

Result<Buffer> decompress(CodecId codec, Bytes stored, std::uint64_t expected, std::uint64_t limit) {
  const Backend* backend = backend_of(codec);
  return backend ? backend->decompress(stored, expected, limit) : not_built(codec);
}

Result<std::unique_ptr<DecodeStream>> open_stream(CodecId codec, Bytes stored) {
  const Backend* backend = backend_of(codec);
  return backend ? backend->open_stream(stored) : not_built(codec);
}

#ifndef RECORDFS_HAVE_ZSTD
std::optional<std::uint64_t> zstd_content_size(Bytes) { return std::nullopt; }
std::optional<std::uint64_t> zstd_frame_size(Bytes) { return std::nullopt; }
#endif

}  // namespace recordfs
