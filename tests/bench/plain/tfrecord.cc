#include "tests/bench/plain/plain.h"

namespace recordfs::bench {

void read_tfrecord(Input& in, Output& out) {
  while (true) {
    const std::string_view head = in.take(12);
    if (head.empty()) return;
    if (head.size() < 12 || masked_crc32c(head.substr(0, 8)) != number_at<std::uint32_t>(head, 8)) {
      fail("tfrecord: the checksum of a length does not match");
    }
    const auto length = number_at<std::uint64_t>(head, 0);
    const std::string_view body = in.need(length + 4);
    const std::string_view record = body.substr(0, length);
    if (masked_crc32c(record) != number_at<std::uint32_t>(body, length)) {
      fail("tfrecord: the checksum of a record does not match");
    }
    out.add(record);
  }
}

}  // namespace recordfs::bench
