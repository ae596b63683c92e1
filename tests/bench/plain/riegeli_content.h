// The content of a Riegeli file: its bytes without the block headers.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "tests/bench/plain/plain.h"

namespace recordfs::bench {

class RiegeliContent {
 public:
  explicit RiegeliContent(Input& in) : in_(in) {}

  // Returns the next `size` bytes, or fewer at the end of the file. Valid until the next call. Copies them only if they
  // are in several blocks.
  std::string_view take(std::size_t size) {
    if (at_ % kBlockSize != 0 && size <= left_in_block()) return piece(size);
    for (joined_.clear(); joined_.size() < size;) {
      const std::string_view next = piece(size - joined_.size());
      if (next.empty()) break;
      joined_ += next;
    }
    return joined_;
  }
  // Skips to the first position at or after `least` where a chunk may begin: not inside or directly after a block
  // header.
  void skip_to_chunk(std::uint64_t least) {
    const std::uint64_t offset = least % kBlockSize;
    const bool is_possible = offset == 0 || offset > kBlockHeaderSize;
    const std::uint64_t end = is_possible ? least : least - offset + kBlockHeaderSize + 1;
    while (at_ < end) {
      if (at_ % kBlockSize == 0) enter_block();
      if (piece(end - at_).empty()) return;
    }
  }
  // Continues at another position, outside of block headers.
  void seek(std::uint64_t position) {
    in_.seek(position);
    at_ = position;
  }
  std::uint64_t position() const { return at_; }

 private:
  static constexpr std::uint64_t kBlockSize = 1u << 16;
  static constexpr std::uint64_t kBlockHeaderSize = 24;

  std::uint64_t left_in_block() const { return kBlockSize - at_ % kBlockSize; }
  void enter_block() {
    const std::string_view header = in_.take(kBlockHeaderSize);
    if (header.empty()) return;
    if (header.size() < kBlockHeaderSize ||
        plain_riegeli_hash(header.substr(8)) != number_at<std::uint64_t>(header, 0)) {
      fail("riegeli: the hash of a block header does not match");
    }
    at_ += kBlockHeaderSize;
  }
  std::string_view piece(std::size_t size) {
    if (at_ % kBlockSize == 0) enter_block();
    const std::string_view bytes = in_.take(std::min<std::uint64_t>(size, left_in_block()));
    at_ += bytes.size();
    return bytes;
  }

  Input& in_;
  std::uint64_t at_ = 0;
  std::string joined_;
};

}  // namespace recordfs::bench
