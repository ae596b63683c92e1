#include "core/codec/compress.h"

#include <fmt/format.h>

#include "core/codec/compressor.h"

namespace recordfs {
namespace {

#ifdef RECORDFS_HAVE_ZSTD
constexpr int kUsualZstdLevel = 3;
#endif
#ifdef RECORDFS_HAVE_BROTLIENC
constexpr int kUsualBrotliLevel = 6;
#endif
#ifdef RECORDFS_HAVE_ZLIB
constexpr int kUsualDeflateLevel = 6;
#endif

class NoCompressor final : public CompressStream {
 public:
  Result<void> append(Bytes content, std::string& out) override {
    out.append(as_text(content));
    return {};
  }
  Result<void> finish(std::string&) override { return {}; }
};

Error cannot_compress(CodecId codec) {
  return {.code = Code::kUnsupported, .detail = fmt::format("this build cannot compress to {}", to_string(codec))};
}

}  // namespace

bool can_compress(CodecId codec) {
  switch (codec) {
#ifdef RECORDFS_HAVE_BROTLIENC
    case CodecId::kBrotli:
#endif
    case CodecId::kNone:
    case CodecId::kZstd:
    case CodecId::kSnappy:
    case CodecId::kDeflate:
    case CodecId::kZlib:
    case CodecId::kGzip: return is_available(codec);
    default: return false;
  }
}

Result<void> compress(CodecId codec, CompressionLevel level, Bytes content, std::string& out) {
  switch (codec) {
#ifdef RECORDFS_HAVE_ZSTD
    case CodecId::kZstd: return compress_zstd(level.value_or(kUsualZstdLevel), content, out);
#endif
#ifdef RECORDFS_HAVE_BROTLIENC
    case CodecId::kBrotli: return compress_brotli(level.value_or(kUsualBrotliLevel), content, out);
#endif
#ifdef RECORDFS_HAVE_SNAPPY
    case CodecId::kSnappy: return compress_snappy(content, out);
#endif
    default: break;
  }
  ASSIGN_OR_RETURN(const auto stream, open_compressor(codec, level));
  TRY(stream->append(content, out));
  return stream->finish(out);
}

Result<void> compress_lz4_block([[maybe_unused]] Bytes content, [[maybe_unused]] std::string& out) {
#ifdef RECORDFS_HAVE_LZ4
  return append_lz4_block(content, out);
#else
  return cannot_compress(CodecId::kLz4Frame);
#endif
}

Result<std::unique_ptr<CompressStream>> open_compressor(CodecId codec, [[maybe_unused]] CompressionLevel level) {
  switch (codec) {
    case CodecId::kNone: return std::unique_ptr<CompressStream>(std::make_unique<NoCompressor>());
#ifdef RECORDFS_HAVE_ZSTD
    case CodecId::kZstd: return open_zstd_compressor(level.value_or(kUsualZstdLevel));
#endif
#ifdef RECORDFS_HAVE_ZLIB
    case CodecId::kDeflate:
    case CodecId::kZlib:
    case CodecId::kGzip: return open_deflate_compressor(codec, level.value_or(kUsualDeflateLevel));
#endif
    default: return cannot_compress(codec);
  }
}

}  // namespace recordfs
