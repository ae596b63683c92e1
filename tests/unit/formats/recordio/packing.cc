#include "tests/unit/formats/recordio/packing.h"

#include <memory>

#include <gtest/gtest.h>
#include <zlib.h>
#include <zstd.h>

namespace recordfs::recordio {

std::string flate(std::string_view content, int level) {
  z_stream state{};
  EXPECT_EQ(deflateInit2(&state, level, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string in(content);
  std::string out(deflateBound(&state, in.size()) + 16, '\0');
  state.next_in = reinterpret_cast<Bytef*>(in.data());
  state.avail_in = static_cast<uInt>(in.size());
  state.next_out = reinterpret_cast<Bytef*>(out.data());
  state.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&state, Z_FINISH), Z_STREAM_END);
  out.resize(state.total_out);
  deflateEnd(&state);
  return out;
}

std::string zstd(std::string_view content, const ZstdOptions& options) {
  const std::unique_ptr<ZSTD_CCtx, decltype(&ZSTD_freeCCtx)> context(ZSTD_createCCtx(), ZSTD_freeCCtx);
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_compressionLevel, options.level);
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_contentSizeFlag, options.states_size ? 1 : 0);
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_checksumFlag, options.has_checksum ? 1 : 0);
  if (options.window_log > 0) ZSTD_CCtx_setParameter(context.get(), ZSTD_c_windowLog, options.window_log);
  std::string out(ZSTD_compressBound(content.size()) + 64, '\0');
  ZSTD_inBuffer in{content.data(), content.size(), 0};
  ZSTD_outBuffer target{out.data(), out.size(), 0};
  if (options.states_size) {
    ZSTD_CCtx_setPledgedSrcSize(context.get(), content.size());
  } else {
    // The library chooses a smaller window if it sees the end of the content.
    in.size = content.size() / 2;
    ZSTD_compressStream2(context.get(), &target, &in, ZSTD_e_flush);
    in.size = content.size();
  }
  EXPECT_EQ(ZSTD_compressStream2(context.get(), &target, &in, ZSTD_e_end), 0u);
  out.resize(target.pos);
  return out;
}

std::string skippable(std::string_view content) {
  std::string frame = "\x50\x2a\x4d\x18";
  for (unsigned shift = 0; shift < 32; shift += 8) frame.push_back(static_cast<char>(content.size() >> shift & 0xFF));
  return frame + std::string(content);
}

std::string zstd_claiming(std::uint64_t size) {
  std::string frame = "\x28\xb5\x2f\xfd\xe0";  // single segment, eight bytes of size
  for (unsigned shift = 0; shift < 64; shift += 8) frame.push_back(static_cast<char>(size >> shift & 0xFF));
  return frame;
}

}  // namespace recordfs::recordio
