#include "core/formats/tfrecord/reader.h"

#include <algorithm>

#include "core/formats/tfrecord/wire.h"
#include "core/hash/crc32c.h"

namespace recordfs::tfrecord {
namespace {

constexpr std::uint64_t kReadPiece = 256u << 10;

}  // namespace

Result<bool> is_sound(const Source& source, Position begin, std::uint64_t length) {
  std::uint32_t crc = 0;
  for (std::uint64_t done = 0; done < length;) {
    ASSIGN_OR_RETURN(const auto piece, source.view_at(begin + done, std::min(kReadPiece, length - done)));
    if (piece.bytes.empty()) return false;
    crc = crc32c(piece.bytes, crc);
    done += piece.bytes.size();
  }
  ASSIGN_OR_RETURN(const auto footer, read_up_to(source, begin + length, kFooterSize));
  return footer.size() == kFooterSize && footer_matches(footer.view(), crc);
}

}  // namespace recordfs::tfrecord
