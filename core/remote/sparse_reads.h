// Decides which reads of a source request whole blocks.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace recordfs::remote {

// Recognizes a reader of few bytes here and there, such as a scan of the headers of large records. Not thread-safe.
class SparseReads {
 public:
  static constexpr std::uint64_t kLargest = 64u << 10;  // bytes of a small read

  SparseReads() { recent_.fill(kNone); }

  // Notes a read that begins in a block which is neither in memory nor requested. Returns whether to request only its
  // bytes.
  bool note(std::uint64_t block, bool is_small);

 private:
  static constexpr std::uint64_t kNone = UINT64_MAX;

  // The first blocks of small reads, far from one another. As many as several threads may read at a time.
  std::array<std::uint64_t, 64> recent_{};
  std::size_t next_ = 0;
  int far_reads_ = 0;  // small ones since a read that went on near another one
};

}  // namespace recordfs::remote
