// RecentShards: what a command makes of each shard of which it reads records in a random order.
#pragma once

#include <cstddef>
#include <functional>
#include <utility>

#include "core/base/bounded_lru.h"
#include "core/dataset/picked_records.h"
#include "core/dataset/set_reader.h"

namespace recordfs {

// Keeps that of the last few shards, since many of thousands may have the next records. Thread-safe.
template <class Shard>
class RecentShards {
 public:
  // `reader` must outlive the object. `make` is called on any thread.
  RecentShards(const SetReader& reader, std::function<Shard(SetMember member)> make)
      : reader_(reader), make_(std::move(make)) {}

  Shard at(const PlacedRecord& place) {
    if (auto known = shards_.find(place.shard)) return *known;
    return shards_.add(place.shard, make_(reader_.member(place.shard, place.store, place.base)));
  }

 private:
  static constexpr std::size_t kMost = 16;

  const SetReader& reader_;
  const std::function<Shard(SetMember member)> make_;
  BoundedLru<std::size_t, Shard> shards_{kMost};
};

}  // namespace recordfs
