// The current format.
#include <algorithm>

#include "tests/bench/plain/plain.h"

namespace recordfs::bench {
namespace {

constexpr std::size_t kChunkSize = 32768;
constexpr std::size_t kHeaderSize = 28;  // magic (8), CRC-32 (4), flags (4), size (4), total (4), index (4)
constexpr std::uint64_t kHeaderMagic = 0xF70416C25CD9E1D9;
constexpr std::uint64_t kBodyMagic = 0x2E3C0734EB47762E;

struct Block {
  std::uint64_t magic = 0;
  std::string_view content;
};

// Reads the chunks of a block, and joins them in `joined` if there are several. Returns false at the end of the file.
bool next(Input& in, Block& block, std::string& joined) {
  joined.clear();
  for (std::uint32_t index = 0;; ++index) {
    const std::string_view chunk = in.take(kChunkSize);
    if (chunk.empty() && index == 0) return false;
    if (chunk.size() < kChunkSize) fail("recordio: the file is truncated");
    const auto magic = number_at<std::uint64_t>(chunk, 0);
    const auto size = number_at<std::uint32_t>(chunk, 16);
    const auto total = number_at<std::uint32_t>(chunk, 20);
    if (size > kChunkSize - kHeaderSize ||
        plain_crc32(chunk.substr(12, kHeaderSize - 12 + size)) != number_at<std::uint32_t>(chunk, 8)) {
      fail("recordio: the checksum of a chunk does not match");
    }
    if (number_at<std::uint32_t>(chunk, 24) != index || (index > 0 && magic != block.magic)) {
      fail("recordio: a chunk is missing");
    }
    block = {magic, chunk.substr(kHeaderSize, size)};
    if (total <= 1) return true;
    joined += block.content;
    if (index + 1 >= total) break;
  }
  block.content = joined;
  return true;
}

// Calls add(item) for each item of a block.
template <class Add>
void for_each_item(std::string_view content, Add add) {
  const std::uint64_t items = take_varint(content);
  std::string_view sizes = content;
  for (std::uint64_t i = 0; i < items; ++i) take_varint(content);
  for (std::uint64_t i = 0; i < items; ++i) add(take_bytes(content, take_varint(sizes)));
  if (!content.empty()) fail("recordio: the sizes do not fit the block");
}

// Returns a key or a value of the header as text: a string's bytes, otherwise nothing.
std::string_view take_value(std::string_view& item) {
  switch (take_bytes(item, 1)[0]) {
    case 1: take_bytes(item, 1); return {};
    case 2:
    case 3: take_varint(item); return {};
    case 4: take_bytes(item, 1); return take_bytes(item, take_varint(item));
    default: fail("recordio: unknown type in the header");
  }
}

char transformer_of(std::string_view item) {
  char transformer = '\0';
  take_bytes(item, 1);
  for (std::uint64_t pairs = take_varint(item); pairs > 0; --pairs) {
    const std::string_view key = take_value(item);
    const std::string_view value = take_value(item);
    if (key != "transformer") continue;
    if (transformer != '\0' || (!value.starts_with("zstd") && !value.starts_with("flate"))) {
      fail("recordio: unknown transformers");
    }
    transformer = value[0];
  }
  return transformer;
}

}  // namespace

void read_recordio(Input& in, Output& out) {
  Unpacker unpacker;
  Block block;
  std::string joined;
  char transformer = '\0';
  while (next(in, block, joined)) {
    if (block.magic == kHeaderMagic) {
      for_each_item(block.content, [&](std::string_view item) { transformer = transformer_of(item); });
    } else if (block.magic == kBodyMagic) {
      const std::string_view content = transformer == 'z'   ? unpacker.zstd(block.content)
                                       : transformer == 'f' ? unpacker.deflate(block.content)
                                                            : block.content;
      for_each_item(content, [&](std::string_view item) { out.add(item); });
    }
  }
}

}  // namespace recordfs::bench
