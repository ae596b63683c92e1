#include "core/formats/framed.h"

#include <fmt/format.h>

#include "core/hash/crc32c.h"

namespace recordfs::framed {

Result<std::optional<std::uint32_t>> content_crc32c(const RequestContext& context, const Source& source, Position begin,
                                                    std::uint64_t size) {
  constexpr std::uint64_t kPiece = 256u << 10;
  std::uint32_t crc = 0;
  for (std::uint64_t done = 0; done < size;) {
    ASSIGN_OR_RETURN(const auto piece, source.view_at(context, begin + done, std::min(kPiece, size - done)));
    if (piece.bytes.empty()) return std::optional<std::uint32_t>{};
    crc = crc32c(piece.bytes, crc);
    done += piece.bytes.size();
  }
  return std::optional(crc);
}

Error not_as_found(Position at) { return {Code::kDamage, at, "the records are not those that the scan found"}; }

Error too_large(Position at, std::uint64_t size) {
  return {Code::kLimit, at, fmt::format("a record of {} bytes exceeds the limit", size)};
}

}  // namespace recordfs::framed
