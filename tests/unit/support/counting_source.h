// A source in memory that counts its reads.
#pragma once

#include <algorithm>
#include <atomic>
#include <string>
#include <utility>

#include "core/base/source.h"

namespace recordfs::testing {

class CountingSource final : public Source {
 public:
  explicit CountingSource(std::string bytes) : bytes_(std::move(bytes)) {}
  std::uint64_t size() const override { return bytes_.size(); }
  Result<std::size_t> read_at(const RequestContext&, Position at, MutableBytes out) const override {
    const Bytes rest = as_bytes(bytes_).subspan(std::min<std::size_t>(static_cast<std::size_t>(at), bytes_.size()));
    const Bytes there = rest.first(std::min(rest.size(), out.size()));
    copy_bytes(there, out);
    ++reads_;
    read_bytes_ += there.size();
    return there.size();
  }

  // Returns the number since the last call.
  std::uint64_t take_reads() const { return reads_.exchange(0); }
  std::uint64_t take_read_bytes() const { return read_bytes_.exchange(0); }

  // For changes between reads; not synchronized.
  std::string& bytes() { return bytes_; }

 private:
  std::string bytes_;
  mutable std::atomic<std::uint64_t> reads_{0};
  mutable std::atomic<std::uint64_t> read_bytes_{0};
};

}  // namespace recordfs::testing
