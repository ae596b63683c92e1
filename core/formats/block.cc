#include "core/formats/block.h"

namespace recordfs::block {

bool is_nearly(Bytes marker, Bytes other) {
  constexpr std::size_t kMostWrong = 2;
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < marker.size(); ++i) wrong += marker[i] != other[i] ? 1u : 0u;
  return wrong <= kMostWrong;
}

Result<ResyncResult> search(const RequestContext& context, const Source& source, Bytes marker, Position from,
                            std::uint64_t budget) {
  WindowedReader windows(source, kHeaderWindow, kLargestWindow);
  const auto find = [marker](Bytes window) {
    const std::size_t found = as_text(window).find(as_text(marker));
    return found == std::string_view::npos ? window.size() : found;
  };
  const auto test = [](Position at, Bytes) -> Result<Position> { return at; };
  const auto is_spent = [&](Position) { return windows.bytes_read() >= budget; };
  return resync(context, windows, from, {marker.size(), find, test, is_spent});
}

}  // namespace recordfs::block
