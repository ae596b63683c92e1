#include "fusefs/tree/database/key_listing.h"

#include <optional>

namespace recordfs {

Result<void> KeyListing::list(const RequestContext& context, const database::Family& family, std::uint64_t place,
                              const Take& take) {
  Position position = take_position(family, place);
  bool came_forward = false;
  while (true) {
    std::uint64_t& at = position.at.second;
    if (!position.is_on_key) {
      auto found = position.keys->next(context);
      if (!found) return came_forward ? Result<void>{} : std::move(found).error();
      position.is_on_key = *found;
      if (!*found && !came_forward) return {};  // the listing has ended, and needs no iterator any more
      if (!*found) break;
    }
    if (at >= place && !take(position.keys->key(), position.keys->version(), at)) break;
    came_forward |= at >= place;
    position.is_on_key = false;
    ++at;
  }
  keep(std::move(position), family.is_ordered);
  return {};
}

KeyListing::Position KeyListing::take_position(const database::Family& family, std::uint64_t place) {
  const auto is_before = [&](const Position& position) {
    return position.at.first == family.id && position.at.second <= place;
  };
  std::optional<Position> nearest;
  if (place > 0) {  // a listing from the beginning shows the present state
    const std::lock_guard lock(mutex_);
    auto best = positions_.end();
    for (auto each = positions_.begin(); each != positions_.end(); ++each) {
      if (is_before(*each) && (best == positions_.end() || each->at > best->at)) best = each;
    }
    if (best != positions_.end()) {
      nearest = std::move(*best);
      positions_.erase(best);
    }
  }
  const std::uint64_t reached = nearest ? nearest->at.second : 0;
  const auto is_nearer = [&](const Start& start) {
    return start.at.first == family.id && start.at.second > reached && start.at.second <= place;
  };
  if (const auto start = starts_.find_last_until({family.id, place}, is_nearer)) {
    return {start->at, database_->keys(family.id, {.from = start->key}), false};
  }
  if (nearest) return *std::move(nearest);
  return {{family.id, 0}, database_->keys(family.id, {}), false};
}

void KeyListing::keep(Position position, bool can_seek) {
  if (position.is_on_key && can_seek && position.at.second > 0) {
    const std::string key(as_text(position.keys->key()));
    starts_.drop(position.at);
    starts_.add(position.at, {position.at, key}, key.size());
  }
  std::list<Position> unused;  // destroyed without the lock
  const std::lock_guard lock(mutex_);
  positions_.push_front(std::move(position));
  if (positions_.size() > kIterators) unused.splice(unused.end(), positions_, std::prev(positions_.end()));
}

}  // namespace recordfs
