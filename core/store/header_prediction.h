// Requests headers of a remote source before a scan reads them, so that many requests are in flight.
#pragma once

#include <cstdint>

#include "core/base/source.h"
#include "core/formats/container.h"

namespace recordfs {

// A scan of headers that lie far apart knows only from each of them where the next one is, and waits for it. If chunks
// have equal sizes, this requests the next headers where they should be.
//
// Not thread-safe. Does nothing for a local source, and for small chunks.
class HeaderPrediction {
 public:
  // The source must outlive it.
  HeaderPrediction(const Container& container, const Source& source)
      : source_(source), is_used_(source.is_remote() && container.traits().is_in_file_order) {}

  // Notes where the scan goes on.
  void note(Position at);

 private:
  const Source& source_;
  const bool is_used_;
  Position last_ = 0;        // where the scan was
  std::uint64_t gap_ = 0;    // bytes of its last step
  std::uint64_t equal_ = 0;  // consecutive steps of as many
  Position until_ = 0;       // the first header that was not predicted
};

}  // namespace recordfs
