#include <brotli/encode.h>

#include <algorithm>

#include "core/codec/compressor.h"

namespace recordfs {

Result<void> compress_brotli(int level, Bytes content, std::string& out) {
  const std::size_t begin = out.size();
  std::size_t size = BrotliEncoderMaxCompressedSize(content.size());
  if (size == 0) return Error{.code = Code::kLimit, .detail = "brotli: content too long"};
  out.resize(begin + size);
  const int quality = std::clamp(level, BROTLI_MIN_QUALITY, BROTLI_MAX_QUALITY);
  const auto* from = reinterpret_cast<const std::uint8_t*>(content.data());
  auto* to = reinterpret_cast<std::uint8_t*>(out.data() + begin);
  if (BrotliEncoderCompress(quality, BROTLI_DEFAULT_WINDOW, BROTLI_MODE_GENERIC, content.size(), from, &size, to) ==
      BROTLI_FALSE) {
    return out_of_memory("brotli");
  }
  out.resize(begin + size);
  return {};
}

}  // namespace recordfs
