#include "core/store/chunk_places.h"

#include <algorithm>

#include "core/base/cursor.h"

namespace recordfs {
namespace {

// What a chunk has besides its length and counts.
constexpr std::uint64_t kHasGap = 1;    // bytes before it: of damage, and after where its step began
constexpr std::uint64_t kHasState = 2;  // of its key
constexpr std::uint64_t kAll = kHasGap | kHasState;

void put(std::string& bytes, std::uint64_t number) {
  constexpr std::uint64_t kMore = 0x80;
  for (; number >= kMore; number >>= 7) bytes.push_back(static_cast<char>(number | kMore));
  bytes.push_back(static_cast<char>(number));
}

// Adds a number of the file to a sum. Fails the cursor if the sum exceeds `most`.
void add_to(std::uint64_t& sum, std::uint64_t number, std::uint64_t most, Cursor& cursor) {
  if (sum > most || number > most - sum) return cursor.fail();
  sum += number;
}

bool are_same_places(const PrefixSums& a, const PrefixSums& b) {
  return a.chunks == b.chunks && a.records == b.records && a.bytes == b.bytes && a.rows == b.rows &&
         a.position == b.position;
}

}  // namespace

// Decodes consecutive chunks.
class ChunkPlaces::Decoder {
 public:
  // `most`: what no sum may exceed.
  Decoder(std::string_view bytes, const PrefixSums& before, const PrefixSums& most)
      : cursor_(as_bytes(bytes)), sums_(before), most_(most) {}

  bool ok() const { return cursor_.ok(); }
  bool at_end() const { return cursor_.at_end(); }
  std::size_t offset() const { return cursor_.offset(); }
  const PrefixSums& sums() const { return sums_; }

  // REQUIRES: !at_end(). The result is void if it is no longer ok().
  Place next() {
    Place place;
    const std::uint64_t has = cursor_.varint64();
    if (has > kAll) cursor_.fail();
    if ((has & kHasGap) != 0) add_to(sums_.position, cursor_.varint64(), most_.position, cursor_);
    place.before = sums_;
    if ((has & kHasGap) != 0) add_to(sums_.position, cursor_.varint64(), most_.position, cursor_);
    place.key.position = sums_.position;
    if ((has & kHasState) != 0) place.key.state = cursor_.varint64();
    const std::uint64_t length = cursor_.varint64();
    if (length == 0) cursor_.fail();
    add_to(sums_.position, length, most_.position, cursor_);
    add_to(sums_.records, cursor_.varint64(), most_.records, cursor_);
    add_to(sums_.bytes, cursor_.varint64(), most_.bytes, cursor_);
    add_to(sums_.rows, cursor_.varint64(), most_.rows, cursor_);
    add_to(sums_.chunks, 1, most_.chunks, cursor_);
    place.after = sums_;
    return place;
  }

 private:
  Cursor cursor_;
  PrefixSums sums_;
  const PrefixSums most_;
};

void ChunkPlaces::make_room() {
  const auto double_if_full = [](auto& all, std::size_t more) {
    if (all.capacity() - all.size() < more) all.reserve(std::max(2 * all.capacity(), all.size() + more));
  };
  if (is_full_) return;
  double_if_full(bytes_, kLongest);
  double_if_full(groups_, 1);
}

void ChunkPlaces::add(const IndexedChunk& indexed) {
  const ChunkInfo& chunk = indexed.chunk;
  const PrefixSums& before = indexed.before;
  is_full_ = is_full_ || before.chunks != chunks_ || bytes_.size() + kLongest > kMostBytes ||
             before.position < end_.position || chunk.key.position != chunk.begin || chunk.begin < before.position ||
             chunk.begin >= chunk.end;
  if (!is_full_) append({.key = chunk.key, .before = before, .after = indexed.after()});
}

void ChunkPlaces::append(const Place& place) {
  const auto& [key, before, after] = place;
  if (chunks_ % kChunksPerGroup == 0) groups_.push_back({.offset = bytes_.size(), .before = end_});
  const std::uint64_t has = (key.position != end_.position ? kHasGap : 0) | (key.state != 0 ? kHasState : 0);
  put(bytes_, has);
  if ((has & kHasGap) != 0) {
    put(bytes_, before.position - end_.position);
    put(bytes_, key.position - before.position);
  }
  if (key.state != 0) put(bytes_, key.state);
  put(bytes_, after.position - key.position);
  put(bytes_, after.records - before.records);
  put(bytes_, after.bytes - before.bytes);
  put(bytes_, after.rows - before.rows);
  end_ = after;
  ++chunks_;
}

void ChunkPlaces::truncate(std::uint64_t chunks) {
  is_full_ = false;
  if (chunks >= chunks_) return;
  chunks_ = chunks;
  const Group& group = groups_[static_cast<std::size_t>(chunks / kChunksPerGroup)];
  Decoder decoder(bytes().substr(static_cast<std::size_t>(group.offset)), group.before, end_);
  for (std::uint64_t i = chunks / kChunksPerGroup * kChunksPerGroup; i < chunks; ++i) decoder.next();
  end_ = decoder.sums();
  bytes_.resize(static_cast<std::size_t>(group.offset) + decoder.offset());
  groups_.resize(static_cast<std::size_t>((chunks + kChunksPerGroup - 1) / kChunksPerGroup));
}

std::optional<ChunkPlaces> ChunkPlaces::parse(std::string_view bytes, std::uint64_t chunks, const PrefixSums& totals,
                                              const std::vector<Anchor>& anchors, std::uint64_t size) {
  if (bytes.size() > kMostBytes || chunks > bytes.size()) return std::nullopt;
  PrefixSums most = totals;
  most.position = size;
  ChunkPlaces places;
  places.groups_.reserve(static_cast<std::size_t>(chunks / kChunksPerGroup + 1));
  Decoder decoder(bytes, {}, most);
  auto anchor = anchors.begin();
  while (decoder.ok() && !decoder.at_end()) {
    if (places.chunks_ % kChunksPerGroup == 0) places.groups_.push_back({decoder.offset(), decoder.sums()});
    const Place place = decoder.next();
    ++places.chunks_;
    if (anchor == anchors.end() || anchor->before.chunks != place.before.chunks) continue;
    if (!are_same_places(anchor->before, place.before)) return std::nullopt;
    ++anchor;
  }
  if (!decoder.ok() || places.chunks_ != chunks) return std::nullopt;
  places.bytes_ = bytes;
  places.end_ = decoder.sums();
  return places;
}

std::optional<IntervalPlace> ChunkPlaces::interval(SearchKey search_key, std::uint64_t value) const {
  const auto after =
      std::ranges::upper_bound(groups_, value, {}, [&](const Group& group) { return group.before.at(search_key); });
  if (after == groups_.begin()) return std::nullopt;
  const Group& group = *(after - 1);
  Decoder decoder(bytes().substr(static_cast<std::size_t>(group.offset)), group.before, end_);
  std::optional<IntervalPlace> part;
  for (std::uint64_t i = 0; i < kChunksPerGroup && !decoder.at_end(); ++i) {
    const Place place = decoder.next();
    const bool is_before_value = place.before.at(search_key) <= value;
    const bool has_room = part && place.after.position - part->from.key.position <= kMostOfInterval;
    if (has_room) {
      part->until = place.after;
    } else if (!part || is_before_value) {
      part = IntervalPlace{{place.key, place.before}, place.after};
    } else {
      return part;
    }
  }
  // What follows the last place may still be at `value`.
  const bool is_last = decoder.at_end() && part && value >= part->until.at(search_key);
  return is_last ? std::nullopt : part;
}

}  // namespace recordfs
