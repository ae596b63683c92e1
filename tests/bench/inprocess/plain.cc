#include "tests/bench/inprocess/plain.h"

#include <benchmark/benchmark.h>
#include <blosc.h>
#include <brotli/decode.h>
#include <lz4frame.h>
#include <snappy.h>
#include <zstd.h>
#ifdef RECORDFS_BENCH_LIBDEFLATE
#include <libdeflate.h>
#else
#include <zlib.h>
#endif

#include <algorithm>

#include "core/base/bytes.h"
#include "core/hash/crc32.h"
#include "core/hash/crc32c.h"
#include "core/hash/digest.h"
#include "core/hash/highway.h"

namespace recordfs::bench {
namespace {

struct ZstdDeleter {
  void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
};

struct Lz4Deleter {
  void operator()(LZ4F_dctx* context) const { LZ4F_freeDecompressionContext(context); }
};

LZ4F_dctx* new_lz4_context() {
  LZ4F_dctx* context = nullptr;
  LZ4F_createDecompressionContext(&context, LZ4F_VERSION);
  return context;
}

#ifdef RECORDFS_BENCH_LIBDEFLATE
class Inflater {
 public:
  bool inflate(bool gzip, std::string_view stored, MutableBytes out) {
    std::size_t size = 0;
    const auto decompress = gzip ? libdeflate_gzip_decompress : libdeflate_deflate_decompress;
    return decompress(context_.get(), stored.data(), stored.size(), out.data(), out.size(), &size) ==
               LIBDEFLATE_SUCCESS &&
           size == out.size();
  }

 private:
  struct Deleter {
    void operator()(libdeflate_decompressor* context) const { libdeflate_free_decompressor(context); }
  };
  std::unique_ptr<libdeflate_decompressor, Deleter> context_{libdeflate_alloc_decompressor()};
};
#else
class Inflater {
 public:
  bool inflate(bool gzip, std::string_view stored, MutableBytes out) {
    z_stream stream{};
    if (inflateInit2(&stream, gzip ? 15 + 16 : -15) != Z_OK) return false;
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(stored.data()));
    stream.avail_in = static_cast<uInt>(stored.size());
    stream.next_out = reinterpret_cast<Bytef*>(out.data());
    stream.avail_out = static_cast<uInt>(out.size());
    const bool whole = ::inflate(&stream, Z_FINISH) == Z_STREAM_END && stream.avail_out == 0;
    inflateEnd(&stream);
    return whole;
  }
};
#endif

void check(Check kind, std::string_view bytes) {
  switch (kind) {
    case Check::kNone: return;
    case Check::kHighway: benchmark::DoNotOptimize(riegeli_hash(as_bytes(bytes))); return;
    case Check::kCrc32: benchmark::DoNotOptimize(crc32(as_bytes(bytes))); return;
    case Check::kCrc32c: benchmark::DoNotOptimize(crc32c(as_bytes(bytes))); return;
    case Check::kAdler32: {
      Digester digester(DigestId::kAdler32);
      digester.append(as_bytes(bytes));
      benchmark::DoNotOptimize(digester.finish());
      return;
    }
  }
}

}  // namespace

struct PlainDecoder::State {
  std::unique_ptr<ZSTD_DCtx, ZstdDeleter> zstd{ZSTD_createDCtx()};
  std::unique_ptr<LZ4F_dctx, Lz4Deleter> lz4{new_lz4_context()};
  Inflater inflater;
  std::unique_ptr<std::byte[]> buffer;
  std::size_t room = 0;

  MutableBytes output(std::uint64_t size) {
    if (size > room) {
      buffer = std::make_unique_for_overwrite<std::byte[]>(size);
      room = size;
    }
    return {buffer.get(), size};
  }

  bool unpack_brotli(std::string_view stored, MutableBytes out) {
    std::size_t size = out.size();
    return BrotliDecoderDecompress(stored.size(), reinterpret_cast<const std::uint8_t*>(stored.data()), &size,
                                   reinterpret_cast<std::uint8_t*>(out.data())) == BROTLI_DECODER_RESULT_SUCCESS &&
           size == out.size();
  }

  bool unpack_lz4(std::string_view stored, MutableBytes out) {
    std::size_t written = out.size(), read = stored.size();
    const std::size_t left = LZ4F_decompress(lz4.get(), out.data(), &written, stored.data(), &read, nullptr);
    return left == 0 && written == out.size();
  }

  bool unpack(Packing packing, std::string_view stored, MutableBytes out) {
    switch (packing) {
      case Packing::kNone: copy_bytes(as_bytes(stored), out); return true;
      case Packing::kZstd:
        return ZSTD_decompressDCtx(zstd.get(), out.data(), out.size(), stored.data(), stored.size()) == out.size();
      case Packing::kBrotli: return unpack_brotli(stored, out);
      case Packing::kDeflate: return inflater.inflate(false, stored, out);
      case Packing::kGzip: return inflater.inflate(true, stored, out);
      case Packing::kLz4: return unpack_lz4(stored, out);
      case Packing::kSnappy:
        return snappy::RawUncompress(stored.data(), stored.size(), reinterpret_cast<char*>(out.data()));
      case Packing::kBlosc:
        return blosc_decompress_ctx(stored.data(), out.data(), out.size(), 1) == static_cast<int>(out.size());
    }
    return false;
  }
};

PlainDecoder::PlainDecoder() : state_(std::make_unique<State>()) {}
PlainDecoder::~PlainDecoder() = default;

bool PlainDecoder::decode(const PackedChunk& chunk) {
  const std::string_view stored = chunk.stored;
  for (std::size_t at = 0; at < stored.size(); at += std::min(chunk.checked_at_once, stored.size() - at)) {
    check(chunk.check, stored.substr(at, chunk.checked_at_once));
  }
  return std::ranges::all_of(chunk.pieces, [&](const PackedChunk::Piece& piece) {
    const MutableBytes out = state_->output(piece.unpacked_size);
    const bool good = state_->unpack(piece.packing, stored.substr(piece.begin, piece.size), out);
    benchmark::DoNotOptimize(out.data());
    return good;
  });
}

bool PlainDecoder::decode_half(const PackedChunk& chunk) {
  const PackedChunk::Piece& piece = chunk.pieces.back();
  const MutableBytes out = state_->output(piece.unpacked_size / 2);
  ZSTD_DCtx_reset(state_->zstd.get(), ZSTD_reset_session_only);
  ZSTD_inBuffer from{chunk.stored.data() + piece.begin, piece.size, 0};
  ZSTD_outBuffer to{out.data(), out.size(), 0};
  while (to.pos < to.size) {
    if (ZSTD_isError(ZSTD_decompressStream(state_->zstd.get(), &to, &from)) != 0 || from.pos == from.size) return false;
  }
  benchmark::DoNotOptimize(out.data());
  return true;
}

}  // namespace recordfs::bench
