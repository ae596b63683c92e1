// Metadata and file descriptors from the bucket headers of a stream, in effect from their bucket on.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "core/base/limits.h"
#include "core/base/result.h"
#include "core/base/source.h"
#include "core/formats/container.h"
#include "core/formats/proio/framing.h"

namespace recordfs::proio {

// The values in effect at a bucket: for each key, the newest in all headers up to it. Copies share the values.
class Fold {
 public:
  // Adds an item of a header. Fails with kLimit if all values together exceed the limits, and as Source does.
  Result<void> add(const RequestContext& context, const Source& source, const HeaderItem& item, const Limits& limits);

  // Returns the metadata, sorted by key.
  std::vector<Attribute> metadata() const;
  // The same, but only what is short: Metadata::short_attributes_at().
  ShortAttributes short_metadata(std::uint64_t most_bytes) const;
  // Returns the descriptors as one google.protobuf.FileDescriptorSet, each file after its imports; "" if there are
  // none.
  std::string file_descriptor_set(const Limits& limits) const;
  bool has_descriptors() const { return !descriptors_.empty(); }
  // Returns whether both have the same descriptors.
  bool shares_descriptors_with(const Fold& other) const;

  // Returns the memory used, shared or not, in bytes.
  std::uint64_t size() const { return size_; }
  // Returns the memory that is not shared with `other`, in bytes: 0 if both are the same object.
  std::uint64_t unshared_with(const Fold& other) const;

 private:
  using Value = std::shared_ptr<const std::string>;
  using Values = std::map<std::string, Value, std::less<>>;

  static std::uint64_t unshared(const Values& values, const Values& others);
  Result<void> set(Values& values, std::string key, std::string value, const Limits& limits);

  Values metadata_;
  Values descriptors_;  // by file name
  std::uint64_t size_ = 0;
};

// Finds the fold at a bucket by scanning the headers before it, from the nearest cached fold.
//
// Caches folds at marks along the scanned part of the file, and at a few recently used buckets. The marks are closer
// together if there are fewer of them to keep. Marks and recent folds use at most Limits::metadata_bytes each, or one
// fold.
//
// Thread-safe. `source` and `limits` must outlive the object.
class FoldWalk {
 public:
  FoldWalk(const Source& source, const Limits& limits) : source_(source), limits_(limits), framing_(source, limits) {}

  // Returns the fold at a bucket found by a scan. Fails as Fold::add() and Framing::scan().
  Result<std::shared_ptr<const Fold>> at(const RequestContext& context, const ChunkInfo& bucket) const;

 private:
  // A position of the scan and the fold of all headers before it. The header at the position itself may be included.
  struct Kept {
    ChunkKey key;
    std::shared_ptr<const Fold> fold;
    std::uint64_t steps = 0;  // scan steps since the last mark
  };

  Kept nearest(Position position) const;
  void keep(Kept kept) const;
  // Adds a mark at the place if one is due. Returns whether it did.
  bool mark(const Kept& place) const;
  // REQUIRES: mutex_ is held; `place` is after all marks.
  void append_mark(const Kept& place) const;
  // Removes every other mark. REQUIRES: mutex_ is held; there are marks.
  void thin_marks() const;
  Result<void> add_header(const RequestContext& context, const ChunkInfo& bucket, Fold& fold) const;

  const Source& source_;
  const Limits& limits_;
  const Framing framing_;
  mutable std::mutex mutex_;
  // Guarded by mutex_.
  mutable std::vector<Kept> kept_;        // least recently used first
  mutable std::vector<Kept> marks_;       // in file order
  mutable std::uint64_t marks_cost_ = 0;  // upper bound of the memory of all marks, in bytes
  mutable std::uint64_t stride_ = 16;     // scan steps between two marks
};

// The descriptor sets in effect along a stream. Buckets with equal sets share one object.
//
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
