// Copies records one after another into one buffer.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <new>
#include <span>
#include <utility>
#include <vector>

#include "core/base/buffer.h"
#include "core/base/bytes.h"

namespace recordfs {

// Not thread-safe. Functions throw std::bad_alloc.
class BatchBuilder {
 public:
  // `expected`: bytes for which there is room at first.
  explicit BatchBuilder(std::size_t expected) : expected_(expected) {}

  void append(std::span<const Bytes> records) {
    std::size_t needed = size_;
    for (const Bytes record : records) needed += record.size();
    if (needed > data_.size()) {
      const std::size_t wanted = std::max({needed, data_.size() + data_.size() / 2, expected_});
      if (!data_.grow({}, wanted)) throw std::bad_alloc();
    }
    for (const Bytes record : records) {
      copy_bytes(record, data_.span().subspan(size_));
      size_ += record.size();
      offsets_.push_back(static_cast<std::int64_t>(size_));
    }
  }

  std::size_t size() const { return size_; }  // bytes
  std::size_t records() const { return offsets_.size() - 1; }

  // Take the results. Record i is the bytes [offsets[i], offsets[i + 1]).
  Slice take_data() {
    data_.truncate(size_);
    return owned(std::move(data_));
  }
  std::vector<std::int64_t> take_offsets() { return std::move(offsets_); }

 private:
  const std::size_t expected_;
  Buffer data_;  // may be larger than size_
  std::size_t size_ = 0;
  std::vector<std::int64_t> offsets_{0};
};

}  // namespace recordfs
