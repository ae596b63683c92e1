#include <blosc.h>
#include <brotli/decode.h>
#include <libdeflate.h>
#include <lz4frame.h>
#include <snappy.h>
#include <zstd.h>
#include <zstd_errors.h>

#include <algorithm>

#include "tests/bench/plain/plain.h"

namespace recordfs::bench {
namespace {

// Room for output of unknown size: enough for LZ4 to decompress its largest block in place.
constexpr std::size_t kFirstRoom = 8u << 20;

// A result of Unpacker::with_room's function.
constexpr std::size_t kTooLittleRoom = SIZE_MAX;

// Calls a function of libdeflate.
template <class Decode>
std::size_t inflated(Decode decode, libdeflate_decompressor* context, std::string_view stored, char* out,
                     std::size_t room) {
  std::size_t size = 0;
  const libdeflate_result result = decode(context, stored.data(), stored.size(), out, room, &size);
  if (result == LIBDEFLATE_INSUFFICIENT_SPACE) return kTooLittleRoom;
  if (result != LIBDEFLATE_SUCCESS) fail("deflate: corrupt data");
  return size;
}

}  // namespace

struct Unpacker::Contexts {
  Contexts() {
    LZ4F_createDecompressionContext(&lz4, LZ4F_VERSION);
    blosc_set_nthreads(1);
  }
  ~Contexts() {
    ZSTD_freeDCtx(zstd);
    LZ4F_freeDecompressionContext(lz4);
    libdeflate_free_decompressor(deflate);
  }

  ZSTD_DCtx* zstd = ZSTD_createDCtx();
  LZ4F_dctx* lz4 = nullptr;
  libdeflate_decompressor* deflate = libdeflate_alloc_decompressor();
};

Unpacker::Unpacker() : contexts_(std::make_unique<Contexts>()) {}
Unpacker::~Unpacker() = default;

char* Unpacker::room_for(std::size_t size) {
  if (size > room_) {
    room_ = size;
    buffer_ = std::make_unique_for_overwrite<char[]>(size);
  }
  return buffer_.get();
}

template <class Decode>
std::string_view Unpacker::with_room(Decode decode) {
  for (std::size_t room = std::max(room_, kFirstRoom);; room *= 2) {
    char* const out = room_for(room);
    const std::size_t size = decode(out, room);
    if (size != kTooLittleRoom) return {out, size};
  }
}

std::string_view Unpacker::zstd(std::string_view stored) {
  const unsigned long long declared = ZSTD_getFrameContentSize(stored.data(), stored.size());
  if (declared < ZSTD_CONTENTSIZE_ERROR) room_for(declared);
  return with_room([&](char* out, std::size_t room) {
    const std::size_t size = ZSTD_decompressDCtx(contexts_->zstd, out, room, stored.data(), stored.size());
    if (ZSTD_getErrorCode(size) == ZSTD_error_dstSize_tooSmall) return kTooLittleRoom;
    if (ZSTD_isError(size) != 0) fail("zstd: corrupt data");
    return size;
  });
}

std::string_view Unpacker::brotli(std::string_view stored, std::size_t size) {
  char* const out = room_for(size);
  if (BrotliDecoderDecompress(stored.size(), reinterpret_cast<const std::uint8_t*>(stored.data()), &size,
                              reinterpret_cast<std::uint8_t*>(out)) != BROTLI_DECODER_RESULT_SUCCESS) {
    fail("brotli: corrupt data");
  }
  return {out, size};
}

std::string_view Unpacker::snappy(std::string_view stored) {
  std::size_t size = 0;
  if (!snappy::GetUncompressedLength(stored.data(), stored.size(), &size) ||
      !snappy::RawUncompress(stored.data(), stored.size(), room_for(size))) {
    fail("snappy: corrupt data");
  }
  return {buffer_.get(), size};
}

std::string_view Unpacker::deflate(std::string_view stored) {
  return with_room([&](char* out, std::size_t room) {
    return inflated(libdeflate_deflate_decompress, contexts_->deflate, stored, out, room);
  });
}

std::string_view Unpacker::gzip(std::string_view stored) {
  return with_room([&](char* out, std::size_t room) {
    return inflated(libdeflate_gzip_decompress, contexts_->deflate, stored, out, room);
  });
}

std::string_view Unpacker::lz4(std::string_view stored) {
  return with_room([&](char* out, std::size_t room) {
    std::size_t size = room;
    std::size_t read = stored.size();
    LZ4F_resetDecompressionContext(contexts_->lz4);
    const std::size_t left = LZ4F_decompress(contexts_->lz4, out, &size, stored.data(), &read, nullptr);
    if (left != 0 && size == room) return kTooLittleRoom;
    if (left != 0) fail("lz4: corrupt data");
    return size;
  });
}

std::string_view Unpacker::blosc(std::string_view stored, std::size_t size) {
  char* const out = room_for(size);
  if (blosc_decompress(stored.data(), out, size) != static_cast<int>(size)) fail("blosc: corrupt data");
  return {out, size};
}

}  // namespace recordfs::bench
