// Simple chunks only; metadata and padding are verified and skipped.
#include <charconv>
#include <optional>

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

// `only`: the index of the only record to add; nullopt: all.
void add_records(std::uint64_t records, std::uint64_t decoded_size, std::string_view data, Unpackers& unpackers,
                 std::optional<std::uint64_t> only, Output& out) {
  const char codec = take_bytes(data, 1)[0];
  const std::uint64_t sizes_length = take_varint(data);
  std::string_view sizes = unpacked(codec, take_bytes(data, sizes_length), unpackers.sizes);
  std::string_view values = unpacked(codec, data, unpackers.values);
  if (values.size() != decoded_size) fail("riegeli: the values have another size");
  for (std::uint64_t i = 0; i < records; ++i) {
    const std::string_view record = take_bytes(values, take_varint(sizes));
    if (!only || i == *only) out.add(record);
  }
  if (!sizes.empty() || !values.empty()) fail("riegeli: the sizes do not fit the values");
}

// Returns false at the end of the file.
bool read_chunk(RiegeliContent& content, Unpackers& unpackers, std::optional<std::uint64_t> only, Output& out) {
  const std::uint64_t begin = content.position();
  const std::string_view header = content.take(kChunkHeaderSize);
  if (header.empty()) return false;
  if (header.size() < kChunkHeaderSize || plain_riegeli_hash(header.substr(8)) != number_at<std::uint64_t>(header, 0)) {
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
    add_records(records, decoded_size, data, unpackers, only, out);
  } else if (records > 0) {
    fail("riegeli: a chunk is not simple");
  }
  content.skip_to_chunk(begin + records);
  return true;
}

std::uint64_t take_number(std::string_view& text) {
  std::uint64_t number = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
  if (parsed.ec != std::errc{}) fail("not OFFSET/INDEX");
  text.remove_prefix(static_cast<std::size_t>(parsed.ptr - text.data()));
  return number;
}

}  // namespace

void read_riegeli_until(std::uint64_t end, Input& in, Output& out) {
  RiegeliContent content(in);
  Unpackers unpackers;
  while (content.position() < end && read_chunk(content, unpackers, {}, out)) {
  }
}

void read_riegeli(Input& in, Output& out) { read_riegeli_until(UINT64_MAX, in, out); }

void pick_riegeli(Input& in, Output& out, std::span<const char* const> picks) {
  RiegeliContent content(in);
  Unpackers unpackers;
  for (const std::string_view pick : picks) {
    std::string_view rest = pick;
    content.seek(take_number(rest));
    const std::uint64_t before = out.records();
    rest.remove_prefix(rest.starts_with('/') ? 1 : 0);
    if (!read_chunk(content, unpackers, take_number(rest), out) || out.records() == before) fail("riegeli: no record");
  }
}

}  // namespace recordfs::bench
