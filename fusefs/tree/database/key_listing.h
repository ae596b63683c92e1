// KeyListing: the keys of a database's column families by their place, so that a listing can continue at any place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "core/base/bounded_lru.h"
#include "core/database/database.h"

namespace recordfs {

// The place of a key is the number of keys before it. Keeps a few iterators where the last calls ended, and some keys
// with their places, from which an iterator can start again. Thread-safe.
class KeyListing {
 public:
  explicit KeyListing(std::shared_ptr<const database::Database> database) : database_(std::move(database)) {}

  // Returns false to reject the key.
  using Take = std::function<bool(Bytes key, const database::Version& version, std::uint64_t place)>;
  // Calls `take` for the keys of a family from `place` on, in the order of Database::keys(), until it rejects one.
  // Fails as KeyIterator::next(), but not after the first call of `take`: the next call reports that. Without a known
  // comparator, a place that no iterator is at costs an iteration over all keys before it.
  Result<void> list(const RequestContext& context, const database::Family& family, std::uint64_t place,
                    const Take& take);

 private:
  static constexpr std::size_t kIterators = 8;
  static constexpr std::size_t kStarts = 4096;
  static constexpr std::uint64_t kStartBytes = 8u << 20;

  using FamilyPlace = std::pair<std::uint32_t, std::uint64_t>;
  // A key that a call rejected.
  struct Start {
    FamilyPlace at;
    std::string key;
  };
  struct Position {
    FamilyPlace at;
    std::unique_ptr<database::KeyIterator> keys;
    bool is_on_key = false;  // the iterator's current key has this place, and otherwise the next one
  };

  // Returns an iterator at or before the place.
  Position take_position(const database::Family& family, std::uint64_t place);
  void keep(Position position, bool can_seek);

  const std::shared_ptr<const database::Database> database_;
  BoundedLru<FamilyPlace, Start> starts_{kStarts, kStartBytes};
  std::mutex mutex_;               // guards the next
  std::list<Position> positions_;  // the last used first
};

}  // namespace recordfs
