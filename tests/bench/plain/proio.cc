#include "tests/bench/plain/plain.h"

namespace recordfs::bench {
namespace {

constexpr std::string_view kMagic("\xe1\xc1\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 16);

// The fields 1 to 3 of a BucketHeader.
struct Header {
  std::uint64_t events = 0, size = 0, compression = 0;
};

Header parsed(std::string_view message) {
  std::uint64_t fields[4] = {};
  while (!message.empty()) {
    const std::uint64_t tag = take_varint(message);
    switch (tag & 7) {
      case 0: (tag >> 3 < 4 ? fields[tag >> 3] : fields[0]) = take_varint(message); break;
      case 1: take_bytes(message, 8); break;
      case 2: take_bytes(message, take_varint(message)); break;
      case 5: take_bytes(message, 4); break;
      default: fail("proio: a header is broken");
    }
  }
  return {fields[1], fields[2], fields[3]};
}

}  // namespace

void read_proio(Input& in, Output& out) {
  Unpacker unpacker;
  while (true) {
    const std::string_view head = in.take(kMagic.size() + 4);
    if (head.empty()) return;
    if (head.size() < kMagic.size() + 4 || !head.starts_with(kMagic)) fail("proio: no magic");
    const Header header = parsed(in.need(number_at<std::uint32_t>(head, kMagic.size())));
    std::string_view payload = in.need(header.size);
    switch (header.compression) {
      case 0: break;
      case 1: payload = unpacker.gzip(payload); break;
      case 2: payload = unpacker.lz4(payload); break;
      default: fail("proio: unknown compression");
    }
    for (std::uint64_t i = 0; i < header.events; ++i) {
      out.add(take_bytes(payload, number_at<std::uint32_t>(take_bytes(payload, 4), 0)));
    }
  }
}

}  // namespace recordfs::bench
