#include <algorithm>

#include "core/formats/leveldb_log/items.h"

namespace recordfs::leveldb_log {

Result<Bytes> FrameReader::rest_of_frame(Position at) {
  const Position end = std::min(wire_.frame_end(at), size());
  const auto length = static_cast<std::size_t>(end - at);
  if (const auto bytes = window_.held(at, length)) return bytes->first(length);
  const Position begin = wire_.frame_begin(at);
  ASSIGN_OR_RETURN(const auto bytes, window_.from(begin, end - begin));
  return bytes.subspan(static_cast<std::size_t>(at - begin), length);
}

Result<Bytes> FrameReader::largest_fragment(Position at) {
  const auto wanted = static_cast<std::size_t>(std::min(kFrameSize, size() - at));
  if (const auto bytes = window_.held(at, wanted)) return bytes->first(wanted);
  ASSIGN_OR_RETURN(crossing_, read_exactly(window_.source(), at, wanted));
  return crossing_.view();
}

}  // namespace recordfs::leveldb_log
