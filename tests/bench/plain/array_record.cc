#include "tests/bench/plain/plain.h"

namespace recordfs::bench {
namespace {

constexpr std::size_t kBlockSize = 1u << 16;
constexpr std::size_t kBlockHeaderSize = 24;
constexpr std::size_t kChunkHeaderSize = 40;
constexpr std::uint64_t kMagic = 0x71930E704FDAE05E;

bool matches(std::string_view header) {
  return plain_riegeli_hash(header.substr(8)) == number_at<std::uint64_t>(header, 0);
}

// Returns the position of the footer, from the first record of the postscript.
std::uint64_t footer_of(std::string_view block) {
  const std::string_view header = block.substr(kBlockHeaderSize, kChunkHeaderSize);
  if (!matches(block.substr(0, kBlockHeaderSize)) || !matches(header)) fail("array_record: no postscript");
  std::string_view data = block.substr(kBlockHeaderSize + kChunkHeaderSize);
  data = take_bytes(data, number_at<std::uint64_t>(header, 8));
  if (plain_riegeli_hash(data) != number_at<std::uint64_t>(header, 16) || take_bytes(data, 1)[0] != '\0') {
    fail("array_record: the postscript is broken");
  }
  take_bytes(data, take_varint(data));  // the sizes
  std::uint64_t fields[3] = {};
  for (int i = 0; i < 2; ++i) {
    const std::uint64_t field = take_varint(data) >> 3;
    (field == 1 || field == 2 ? fields[field] : fields[0]) = take_varint(data);
  }
  if (fields[2] != kMagic) fail("array_record: the postscript has another magic");
  return fields[1];
}

}  // namespace

void read_array_record(Input& in, Output& out) {
  if (in.size() < kBlockSize) fail("array_record: no postscript");
  read_riegeli_until(footer_of(in.at(in.size() - kBlockSize, kBlockSize)), in, out);
}

}  // namespace recordfs::bench
