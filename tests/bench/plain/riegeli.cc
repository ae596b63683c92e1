// Simple chunks only; metadata and padding are verified and skipped.
#include "tests/bench/plain/riegeli_content.h"

namespace recordfs::bench {
namespace {

constexpr std::uint64_t kChunkHeaderSize = 40;

std::string_view unpacked(char codec, std::string_view stored, Unpacker& unpacker) {
  if (codec == '\0') return stored;
  const std::uint64_t size = take_varint(stored);
  switch (codec) {
    case 'z': return unpacker.zstd(stored);
    case 'b': return unpacker.brotli(stored, size);
    case 's': return unpacker.snappy(stored);
    default: fail("riegeli: unknown compression type");
  }
}

struct Unpackers {
  Unpacker sizes, values;
};

void add_records(std::uint64_t records, std::uint64_t decoded_size, std::string_view data, Unpackers& unpackers,
                 Output& out) {
  const char codec = take_bytes(data, 1)[0];
  const std::uint64_t sizes_length = take_varint(data);
  std::string_view sizes = unpacked(codec, take_bytes(data, sizes_length), unpackers.sizes);
  std::string_view values = unpacked(codec, data, unpackers.values);
  if (values.size() != decoded_size) fail("riegeli: the values have another size");
  for (; records > 0; --records) out.add(take_bytes(values, take_varint(sizes)));
  if (!sizes.empty() || !values.empty()) fail("riegeli: the sizes do not fit the values");
}

}  // namespace

void read_riegeli_until(std::uint64_t end, Input& in, Output& out) {
  RiegeliContent content(in);
  Unpackers unpackers;
  while (content.position() < end) {
    const std::uint64_t begin = content.position();
    const std::string_view header = content.take(kChunkHeaderSize);
    if (header.empty()) return;
    if (header.size() < kChunkHeaderSize ||
        plain_riegeli_hash(header.substr(8)) != number_at<std::uint64_t>(header, 0)) {
      fail("riegeli: the hash of a chunk header does not match");
    }
    const auto size = number_at<std::uint64_t>(header, 8);
    const auto hash = number_at<std::uint64_t>(header, 16);
    const char type = header[24];
    const std::uint64_t records = number_at<std::uint64_t>(header, 24) >> 8;
    const auto decoded_size = number_at<std::uint64_t>(header, 32);
    const std::string_view data = content.take(size);
    if (data.size() < size || plain_riegeli_hash(data) != hash) fail("riegeli: the hash of a chunk does not match");
    if (type == 'r') {
      add_records(records, decoded_size, data, unpackers, out);
    } else if (records > 0) {
      fail("riegeli: a chunk is not simple");
    }
    content.skip_to_chunk(begin + records);
  }
}

void read_riegeli(Input& in, Output& out) { read_riegeli_until(UINT64_MAX, in, out); }

}  // namespace recordfs::bench
