#include "tests/bench/plain/plain.h"

namespace recordfs::bench {
namespace {

constexpr std::size_t kBlockSize = 32768;
constexpr std::size_t kHeaderSize = 7;  // checksum (4), length (2), type (1)

enum Type : char { kZero, kFull, kFirst, kMiddle, kLast };

}  // namespace

void read_leveldb_log(Input& in, Output& out) {
  std::string record;
  bool is_inside = false;  // between the first and the last fragment of a record
  while (true) {
    std::string_view block = in.take(kBlockSize);
    if (block.empty()) return;
    while (block.size() >= kHeaderSize) {
      const std::size_t length = number_at<std::uint16_t>(block, 4);
      const char type = block[6];
      if (type == kZero && length == 0) break;
      if (length > block.size() - kHeaderSize) fail("leveldb_log: a length is too large");
      if (masked_crc32c(block.substr(6, 1 + length)) != number_at<std::uint32_t>(block, 0)) {
        fail("leveldb_log: a checksum does not match");
      }
      const bool continues = type == kMiddle || type == kLast;
      if (continues ? !is_inside : is_inside && !record.empty()) fail("leveldb_log: a fragment is missing");
      is_inside = type == kFirst || type == kMiddle;
      const std::string_view payload = block.substr(kHeaderSize, length);
      switch (type) {
        case kFull: out.add(payload); break;
        case kFirst: record = payload; break;
        case kMiddle: record += payload; break;
        case kLast: out.add(record += payload); break;
        default: fail("leveldb_log: unknown type");
      }
      block.remove_prefix(kHeaderSize + length);
    }
  }
}

}  // namespace recordfs::bench
