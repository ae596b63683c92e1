#include <snappy.h>

#include <cstdint>
#include <limits>

#include "core/codec/compressor.h"

namespace recordfs {

Result<void> compress_snappy(Bytes content, std::string& out) {
  if (content.size() > std::numeric_limits<std::uint32_t>::max()) {
    return Error{.code = Code::kLimit, .detail = "snappy: more than 4 GiB of content"};
  }
  const std::size_t begin = out.size();
  out.resize(begin + snappy::MaxCompressedLength(content.size()));
  std::size_t size = 0;
  snappy::RawCompress(reinterpret_cast<const char*>(content.data()), content.size(), out.data() + begin, &size);
  out.resize(begin + size);
  return {};
}

}  // namespace recordfs
