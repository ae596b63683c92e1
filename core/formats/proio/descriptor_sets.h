// The descriptor sets in effect along a stream. Buckets with equal sets share one object.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "core/base/limits.h"
#include "core/formats/proio/metadata.h"

namespace recordfs::proio {

// Caches the most recently used sets: at most Limits::metadata_bytes, or one set. Thread-safe. `limits` must outlive
// the object.
class DescriptorSets {
 public:
  explicit DescriptorSets(const Limits& limits) : limits_(limits) {}

  // Returns the descriptors of a fold as a serialized google.protobuf.FileDescriptorSet; null if it has none.
  std::shared_ptr<const std::string> of(const std::shared_ptr<const Fold>& fold) const;

 private:
  struct Kept {
    std::shared_ptr<const Fold> fold;
    std::shared_ptr<const std::string> set;
  };

  std::shared_ptr<const std::string> find(const Fold& fold) const;

  const Limits& limits_;
  mutable std::mutex mutex_;
  mutable std::vector<Kept> kept_;  // least recently used first; guarded by mutex_
};

}  // namespace recordfs::proio
