// SelectedOrdinals: the ordinals that a condition selects.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/store/selection.h"

namespace recordfs {

// Uses at most about 128 MiB: runs of ordinals, or a bit for each ordinal if that is smaller. Not thread-safe.
class SelectedOrdinals {
 public:
  // Adds ordinals that follow all those added before. Returns false if there is no room for them; the object then has
  // only those before. May throw std::bad_alloc.
  bool add(OrdinalInterval ordinals);

  std::uint64_t records() const { return records_; }
  // Returns the selected ordinal with `place` selected ones before it. REQUIRES: place < records().
  std::uint64_t at(std::uint64_t place) const;

 private:
  struct Run {
    OrdinalInterval ordinals;
    std::uint64_t before;  // selected ordinals before it
  };

  bool add_run(OrdinalInterval ordinals);
  bool add_bits(OrdinalInterval ordinals);
  // Puts the ordinals of the runs into bits. Returns false if these were too many; nothing changes then.
  bool use_bits();

  std::vector<Run> runs_;
  bool uses_bits_ = false;
  std::vector<std::uint64_t> bits_;
  std::vector<std::uint64_t> before_;  // selected ordinals before each block of words
  std::uint64_t records_ = 0;
};

}  // namespace recordfs
