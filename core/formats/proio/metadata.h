// What the headers of a stream say of it: metadata and file descriptors, in effect from their bucket on.
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

// The values in effect at a bucket: of each key the newest of all headers up to it. A copy shares the values.
class Fold {
 public:
  // Takes in a header's items. Fails with kLimit when all values together are larger than Limits allow, and as Source
  // does.
  Result<void> add(const Source& source, const HeaderItem& item, const Limits& limits);

  // By their keys.
  std::vector<Attribute> metadata() const;
  // The descriptors as one google.protobuf.FileDescriptorSet, each file behind those that it imports. "" for none.
  std::string file_descriptor_set(const Limits& limits) const;

  // Bytes of memory that it takes, shared or not.
  std::uint64_t size() const { return size_; }

 private:
  using Value = std::shared_ptr<const std::string>;
  using Values = std::map<std::string, Value, std::less<>>;

  Result<void> set(Values& values, std::string key, std::string value, const Limits& limits);

  Values metadata_;
  Values descriptors_;  // by the name of the file
  std::uint64_t size_ = 0;
};

// Finds the fold at a bucket by a walk over the headers before it. It keeps a few folds that were asked for, of
// Limits::metadata_bytes together or one, and goes on from the nearest of them. Any thread; `source` and `limits` have
// to outlive it.
class FoldWalk {
 public:
  FoldWalk(const Source& source, const Limits& limits) : source_(source), limits_(limits), framing_(source, limits) {}

  // The fold at a bucket that a walk has found. Fails as Fold::add and Framing::scan do.
  Result<std::shared_ptr<const Fold>> at(const ChunkInfo& bucket) const;

 private:
  struct Kept {
    ChunkKey key;
    std::shared_ptr<const Fold> fold;
  };

  Kept nearest(Position position) const;
  void keep(Kept kept) const;
  Result<void> add_header(const ChunkInfo& bucket, Fold& fold) const;

  const Source& source_;
  const Limits& limits_;
  const Framing framing_;
  mutable std::mutex mutex_;
  mutable std::vector<Kept> kept_;  // guarded by mutex_; least recently used first
};

}  // namespace recordfs::proio
