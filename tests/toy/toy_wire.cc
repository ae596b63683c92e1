#include "tests/toy/toy_wire.h"

#include "core/base/cursor.h"

namespace recordfs::toy {

std::uint32_t check_of(Bytes bytes, std::uint32_t previous) {
  std::uint32_t hash = previous;
  for (const std::byte byte : bytes) hash = (hash ^ std::to_integer<std::uint32_t>(byte)) * 16777619u;
  return hash;
}

std::optional<FixedHead> parse_fixed_head(Bytes bytes) {
  Cursor cursor(bytes);
  const Bytes magic = cursor.take(kFileMagic.size());
  const FixedHead head{.size = cursor.u32_le(), .flags = cursor.u32_le(), .stride = cursor.u32_le()};
  if (!cursor.ok() || as_text(magic) != kFileMagic) return std::nullopt;
  if (head.size < kSmallestHead || head.size > kLargestHead) return std::nullopt;
  return head;
}

std::optional<ChunkHeader> parse_chunk_header(Bytes bytes) {
  if (bytes.size() < kChunkHeaderSize) return std::nullopt;
  Cursor cursor(bytes);
  const Bytes magic = cursor.take(kChunkMagic.size());
  const ChunkHeader header{cursor.u32_le(), cursor.u32_le(), cursor.u32_le(), cursor.u32_le()};
  const std::uint32_t check = cursor.u32_le();
  if (as_text(magic) != kChunkMagic || check != check_of(bytes.first(kChunkHeaderSize - 4))) return std::nullopt;
  if (header.records > header.payload_size / 4) return std::nullopt;
  return header;
}

}  // namespace recordfs::toy
