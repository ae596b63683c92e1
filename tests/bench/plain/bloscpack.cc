// Version 3, with no checksum, Adler-32 or CRC-32.
#include <libdeflate.h>

#include "tests/bench/plain/plain.h"

namespace recordfs::bench {
namespace {

enum class Kind : char { kNone, kAdler32, kCrc32 };
enum Options : char { kOffsets = 1, kMetadata = 2 };

std::size_t size_of(Kind kind) { return kind == Kind::kNone ? 0 : 4; }

// `bytes` ends with its checksum. Returns it without that.
std::string_view verified(Kind kind, std::string_view bytes) {
  if (kind == Kind::kNone) return bytes;
  const std::string_view covered = bytes.substr(0, bytes.size() - 4);
  const std::uint32_t sum =
      kind == Kind::kCrc32 ? plain_crc32(covered) : libdeflate_adler32(1, covered.data(), covered.size());
  if (sum != number_at<std::uint32_t>(bytes, covered.size())) fail("bloscpack: a checksum does not match");
  return covered;
}

Kind kind_of(char number) {
  if (number < 0 || number > static_cast<char>(Kind::kCrc32)) fail("bloscpack: unknown checksum");
  return static_cast<Kind>(number);
}

void skip_metadata(Input& in) {
  const std::string_view header = in.need(32);
  const Kind kind = kind_of(header[9]);
  const auto room = number_at<std::uint32_t>(header, 16);
  const auto used = number_at<std::uint32_t>(header, 20);
  if (used > room) fail("bloscpack: the metadata are too large");
  std::string bytes(in.need(room + size_of(kind)));
  verified(kind, bytes.erase(used, room - used));
}

}  // namespace

void read_bloscpack(Input& in, Output& out) {
  const std::string_view header = in.need(32);
  const char options = header[5];
  if (!header.starts_with("blpk\x03") || options > (kOffsets | kMetadata)) fail("bloscpack: not a file of version 3");
  const Kind kind = kind_of(header[6]);
  const auto chunks = number_at<std::uint64_t>(header, 16);
  const auto spare_offsets = number_at<std::uint64_t>(header, 24);
  if (chunks > in.size() || spare_offsets > in.size()) fail("bloscpack: unknown number of chunks");
  if ((options & kMetadata) != 0) skip_metadata(in);
  if ((options & kOffsets) != 0) in.need(8 * (chunks + spare_offsets));
  Unpacker unpacker;
  for (std::uint64_t i = 0; i < chunks; ++i) {
    const std::string_view head = in.peek(16);
    if (head.size() < 16) fail("the file is truncated");
    const auto size = number_at<std::uint32_t>(head, 4);
    const auto stored_size = number_at<std::uint32_t>(head, 12);
    if (stored_size < 16) fail("bloscpack: a chunk is too small");
    out.add(unpacker.blosc(verified(kind, in.need(stored_size + size_of(kind))), size));
  }
}

}  // namespace recordfs::bench
