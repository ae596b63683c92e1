#include "core/formats/recordio/zstd_window.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "core/base/cursor.h"
#include "core/codec/codec.h"

namespace recordfs::recordio {
namespace {

constexpr std::uint32_t kFrameMagic = 0xFD2FB528;
constexpr unsigned kSingleSegment = 0x20;  // in the descriptor: the window is the content, and has no byte of its own
constexpr unsigned kLeastWindowLog = 10;

// By RFC 8878, 3.1.1.1.2; 0 where no frame begins, and the most where the content's size says it.
std::uint64_t window_size(Bytes head) {
  Cursor cursor(head);
  const std::uint32_t magic = cursor.u32_le();
  const unsigned descriptor = cursor.u8();
  const unsigned window = cursor.u8();
  if (!cursor.ok() || magic != kFrameMagic) return 0;
  if ((descriptor & kSingleSegment) != 0) return std::numeric_limits<std::uint64_t>::max();
  const std::uint64_t base = std::uint64_t{1} << (kLeastWindowLog + (window >> 3));
  return base + base / 8 * (window & 7);
}

}  // namespace

Result<void> check_zstd_windows(Bytes stored, std::uint64_t limit) {
  while (!stored.empty()) {
    const std::uint64_t content = zstd_content_size(stored).value_or(std::numeric_limits<std::uint64_t>::max());
    const std::uint64_t wanted = std::min(window_size(stored), content);
    if (wanted > limit) {
      return Error{.code = Code::kLimit, .detail = fmt::format("zstd: a window of {} bytes", wanted)};
    }
    const auto size = zstd_frame_size(stored);
    if (!size) break;
    stored = stored.subspan(static_cast<std::size_t>(*size));
  }
  return {};
}

}  // namespace recordfs::recordio
