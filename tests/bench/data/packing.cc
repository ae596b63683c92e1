#include "tests/bench/data/packing.h"

#include <blosc.h>
#include <brotli/encode.h>
#include <lz4frame.h>
#include <snappy.h>
#include <zlib.h>
#include <zstd.h>

#include <cstdio>
#include <cstdlib>

namespace recordfs::bench {
namespace {

constexpr int kZstdLevel = 3;
constexpr int kBrotliQuality = 6;
constexpr int kBrotliWindowBits = 22;
constexpr int kBloscLevel = 5;
constexpr std::size_t kBloscTypeSize = 1;
constexpr int kRawDeflate = -15;
constexpr int kGzipMember = 15 + 16;

[[noreturn]] void give_up(const char* library) {
  std::fprintf(stderr, "make_data: %s does not compress\n", library);
  std::exit(1);
}

std::string zstd(std::string_view content) {
  std::string out(ZSTD_compressBound(content.size()), '\0');
  const std::size_t size = ZSTD_compress(out.data(), out.size(), content.data(), content.size(), kZstdLevel);
  if (ZSTD_isError(size) != 0) give_up("zstd");
  out.resize(size);
  return out;
}

std::string brotli(std::string_view content) {
  std::size_t size = BrotliEncoderMaxCompressedSize(content.size());
  std::string out(size, '\0');
  if (BrotliEncoderCompress(kBrotliQuality, kBrotliWindowBits, BROTLI_MODE_GENERIC, content.size(),
                            reinterpret_cast<const std::uint8_t*>(content.data()), &size,
                            reinterpret_cast<std::uint8_t*>(out.data())) != BROTLI_TRUE) {
    give_up("brotli");
  }
  out.resize(size);
  return out;
}

std::string deflate_with(int window_bits, std::string_view content) {
  z_stream stream{};
  if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, window_bits, 8, Z_DEFAULT_STRATEGY) != Z_OK)
    give_up("zlib");
  std::string out(deflateBound(&stream, static_cast<uLong>(content.size())), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(content.data()));
  stream.avail_in = static_cast<uInt>(content.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  if (deflate(&stream, Z_FINISH) != Z_STREAM_END) give_up("zlib");
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

std::string lz4(std::string_view content) {
  LZ4F_preferences_t preferences{};
  preferences.frameInfo.blockSizeID = LZ4F_max4MB;
  preferences.frameInfo.blockMode = LZ4F_blockIndependent;
  preferences.frameInfo.contentChecksumFlag = LZ4F_contentChecksumEnabled;
  std::string out(LZ4F_compressFrameBound(content.size(), &preferences), '\0');
  const std::size_t size = LZ4F_compressFrame(out.data(), out.size(), content.data(), content.size(), &preferences);
  if (LZ4F_isError(size) != 0) give_up("lz4");
  out.resize(size);
  return out;
}

std::string snappy(std::string_view content) {
  std::string out;
  ::snappy::Compress(content.data(), content.size(), &out);
  return out;
}

}  // namespace

std::string packed(Packing packing, std::string_view content) {
  switch (packing) {
    case Packing::kNone: return std::string(content);
    case Packing::kZstd: return zstd(content);
    case Packing::kBrotli: return brotli(content);
    case Packing::kDeflate: return deflate_with(kRawDeflate, content);
    case Packing::kGzip: return deflate_with(kGzipMember, content);
    case Packing::kLz4: return lz4(content);
    case Packing::kSnappy: return snappy(content);
    case Packing::kBlosc: break;
  }
  give_up("nothing");
}

std::string packed_by_blosc(const char* codec, std::string_view content) {
  std::string out(content.size() + BLOSC_MAX_OVERHEAD, '\0');
  const int size = blosc_compress_ctx(kBloscLevel, BLOSC_NOSHUFFLE, kBloscTypeSize, content.size(), content.data(),
                                      out.data(), out.size(), codec, 0, 1);
  if (size <= 0) give_up("blosc");
  out.resize(static_cast<std::size_t>(size));
  return out;
}

}  // namespace recordfs::bench
