#include <lz4.h>

#include "core/codec/compressor.h"

namespace recordfs {

Result<void> append_lz4_block(Bytes content, std::string& out) {
  if (content.size() > LZ4_MAX_INPUT_SIZE) {
    return Error{.code = Code::kLimit, .detail = "lz4: more than 2 GB of content"};
  }
  const auto size = static_cast<int>(content.size());
  const std::size_t begin = out.size();
  const int most = LZ4_compressBound(size);
  out.resize(begin + static_cast<std::size_t>(most));
  const int written =
      LZ4_compress_default(reinterpret_cast<const char*>(content.data()), out.data() + begin, size, most);
  if (written <= 0) return out_of_memory("lz4");
  out.resize(begin + static_cast<std::size_t>(written));
  return {};
}

}  // namespace recordfs
