#include "core/store/key_table.h"

#include <algorithm>
#include <queue>

#include "core/hash/highway.h"

namespace recordfs {
namespace {

constexpr std::size_t kFamilySize = 4;
constexpr std::size_t kFirstSlots = 1024;
constexpr std::size_t kMostTextBytes = std::size_t{3} << 30;  // positions of texts have 32 bits

void append_family(std::string& text, std::uint32_t family) {
  for (int shift = 24; shift >= 0; shift -= 8) text += static_cast<char>(family >> shift & 0xFFu);
}

std::string text_of(std::uint32_t family, std::string_view key) {
  std::string text;
  text.reserve(kFamilySize + key.size());
  append_family(text, family);
  text += key;
  return text;
}

std::uint32_t family_of(std::string_view text) {
  std::uint32_t family = 0;
  for (const char byte : text.substr(0, kFamilySize)) family = family << 8 | static_cast<unsigned char>(byte);
  return family;
}

std::uint64_t number_of(std::string_view text) { return highway_hash(as_bytes(text)); }

Error too_much(const char* what) { return {.code = Code::kLimit, .detail = what}; }

}  // namespace

std::uint64_t key_number(std::uint32_t family, std::string_view key) { return number_of(text_of(family, key)); }

Result<void> KeyTable::apply(const KeyChange& change, std::uint64_t record) {
  is_sequenced_ |= change.sequence.has_value();
  const std::uint64_t order = change.sequence.value_or(++changes_);
  if (change.kind == KeyChangeKind::kDeleteRange) return add_range(change, order);
  return apply_to_key(change, record, order);
}

Result<void> KeyTable::apply_to_key(const KeyChange& change, std::uint64_t record, std::uint64_t order) {
  const State state = change.kind == KeyChangeKind::kSet       ? State::kValue
                      : change.kind == KeyChangeKind::kUnknown ? State::kUnknown
                                                               : State::kDeleted;
  scratch_.clear();
  append_family(scratch_, change.family);
  scratch_ += as_text(change.key);
  if (!wanted_ && !is_kept(scratch_)) {
    has_more_ |= state != State::kDeleted;
    return {};
  }
  const std::uint64_t number = number_of(scratch_);
  if (wanted_ && !wanted_->contains(number)) return {};
  if (slots_.size() < 2 * (entries_.size() + 1)) grow_slots();
  std::uint32_t& slot = slots_[slot_of(number)];
  if (slot == 0) {
    if (state == State::kDeleted && !is_sequenced_) return {};
    const std::size_t most = wanted_ ? bounds_.wanted_bytes : kMostTextBytes;
    if (texts_.size() + scratch_.size() > most) return too_much("keys exceed the memory limit");
    entries_.push_back({.number = number,
                        .text_begin = static_cast<std::uint32_t>(texts_.size()),
                        .text_size = static_cast<std::uint32_t>(scratch_.size())});
    states_.push_back(state);
    texts_ += scratch_;
    slot = static_cast<std::uint32_t>(entries_.size());
  }
  Entry& entry = entries_[slot - 1];
  if (text(entry) != scratch_) states_[slot - 1] = State::kTwice;
  if (states_[slot - 1] == State::kTwice || order < entry.order) return {};
  states_[slot - 1] = state;
  entry.record = record;
  entry.order = order;
  entry.value_begin = static_cast<std::uint32_t>(change.value.begin);
  entry.value_size = static_cast<std::uint32_t>(change.value.size);
  if (!wanted_) make_room();
  return {};
}

bool KeyTable::is_kept(std::string_view text) const {
  return text.size() <= kFamilySize + bounds_.longest_key && (!cut_ || text < *cut_);
}

// Returns the slot of a number, or the free slot for it.
std::size_t KeyTable::slot_of(std::uint64_t number) const {
  const std::size_t mask = slots_.size() - 1;
  std::size_t slot = static_cast<std::size_t>(number) & mask;
  while (slots_[slot] != 0 && entries_[slots_[slot] - 1].number != number) slot = (slot + 1) & mask;
  return slot;
}

void KeyTable::grow_slots() {
  std::size_t size = kFirstSlots;
  while (size < 4 * (entries_.size() + 1)) size *= 2;
  slots_.assign(size, 0);
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    slots_[slot_of(entries_[i].number)] = static_cast<std::uint32_t>(i + 1);
  }
}

// --- deletions of ranges

Result<void> KeyTable::add_range(const KeyChange& change, std::uint64_t order) {
  std::string begin = text_of(change.family, as_text(change.key));
  std::string end = text_of(change.family, as_text(change.end));
  if (begin >= end) return {};
  range_bytes_ += begin.size() + end.size();
  ranges_.push_back({std::move(begin), std::move(end), order});
  if (ranges_.size() <= bounds_.ranges && range_bytes_ <= bounds_.range_bytes) return {};
  // Without sequence numbers, a deletion does not affect later changes. With them it may, so it must be kept.
  if (is_sequenced_) return too_much("too many deleted key ranges");
  apply_ranges();
  return {};
}

// Returns the indexes of all entries, sorted by text.
std::vector<std::uint32_t> KeyTable::in_order() const {
  // Compares the first bytes of most keys without following an index.
  std::vector<std::pair<std::uint64_t, std::uint32_t>> sorted;
  sorted.reserve(entries_.size());
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    const std::string_view whole = text(entries_[i]);
    std::uint64_t prefix = 0;
    for (std::size_t at = kFamilySize; at < kFamilySize + sizeof(prefix); ++at) {
      prefix = prefix << 8 | (at < whole.size() ? static_cast<unsigned char>(whole[at]) : 0u);
    }
    sorted.emplace_back(prefix, static_cast<std::uint32_t>(i));
  }
  std::ranges::sort(sorted, [this](const auto& a, const auto& b) {
    const std::string_view left = text(entries_[a.second]);
    const std::string_view right = text(entries_[b.second]);
    if (const int families = left.substr(0, kFamilySize).compare(right.substr(0, kFamilySize)); families != 0) {
      return families < 0;
    }
    return a.first != b.first ? a.first < b.first : left < right;
  });
  std::vector<std::uint32_t> places;
  places.reserve(sorted.size());
  for (const auto& [prefix, place] : sorted) places.push_back(place);
  return places;
}

void KeyTable::apply_ranges() {
  if (ranges_.empty()) return;
  std::ranges::sort(ranges_, {}, &Range::begin);
  const auto is_earlier = [this](std::size_t a, std::size_t b) { return ranges_[a].order < ranges_[b].order; };
  std::priority_queue<std::size_t, std::vector<std::size_t>, decltype(is_earlier)> reached(is_earlier);
  std::size_t next = 0;
  for (const std::uint32_t place : in_order()) {
    const Entry& entry = entries_[place];
    for (; next < ranges_.size() && ranges_[next].begin <= text(entry); ++next) reached.push(next);
    while (!reached.empty() && ranges_[reached.top()].end <= text(entry)) reached.pop();
    const bool is_covered = !reached.empty() && ranges_[reached.top()].order > entry.order;
    if (is_covered && states_[place] != State::kTwice) states_[place] = State::kDeleted;
  }
  ranges_.clear();
  range_bytes_ = 0;
}

// --- bounds

void KeyTable::make_room() {
  const bool is_full =
      entries_.size() > bounds_.keys + bounds_.keys / 2 || texts_.size() > bounds_.key_bytes + bounds_.key_bytes / 2;
  if (!is_full) return;
  if (!is_sequenced_) apply_ranges();
  std::vector<std::uint32_t> kept = in_order();
  // Without sequence numbers, a deletion does not affect later changes.
  if (!is_sequenced_) std::erase_if(kept, [this](std::uint32_t place) { return states_[place] == State::kDeleted; });
  cut(kept);
  keep_only(kept);
}

// Keeps the first texts, as many as the bounds allow.
void KeyTable::cut(std::vector<std::uint32_t>& kept) {
  std::size_t bytes = 0;
  std::size_t count = 0;
  for (; count < std::min(kept.size(), bounds_.keys); ++count) {
    bytes += entries_[kept[count]].text_size;
    if (bytes > bounds_.key_bytes) break;
  }
  if (count == kept.size()) return;
  cut_ = text(entries_[kept[count]]);
  has_more_ = true;
  kept.resize(count);
}

void KeyTable::keep_only(const std::vector<std::uint32_t>& kept) {
  std::deque<Entry> entries;
  std::deque<State> states;
  std::string texts;
  for (const std::uint32_t place : kept) {
    const std::string_view whole = text(entries_[place]);
    Entry& entry = entries.emplace_back(entries_[place]);
    entry.text_begin = static_cast<std::uint32_t>(texts.size());
    states.push_back(states_[place]);
    texts += whole;
  }
  entries_ = std::move(entries);
  states_ = std::move(states);
  texts_ = std::move(texts);
  grow_slots();
}

void KeyTable::finish() {
  apply_ranges();
  std::vector<std::uint32_t> kept = in_order();
  std::erase_if(kept, [this](std::uint32_t place) { return states_[place] == State::kDeleted; });
  if (!wanted_) cut(kept);
  // Marks dropped entries as deleted. Removing them from the tables would need memory for new ones.
  std::deque<State> states(states_.size(), State::kDeleted);
  for (const std::uint32_t place : kept) states[place] = states_[place];
  states_ = std::move(states);
  order_ = std::move(kept);
}

// --- results

std::optional<FoundKey> KeyTable::find(std::uint64_t number) const {
  if (slots_.empty()) return std::nullopt;
  const std::uint32_t slot = slots_[slot_of(number)];
  if (slot == 0 || states_[slot - 1] == State::kDeleted) return std::nullopt;
  const Entry& entry = entries_[slot - 1];
  return FoundKey{family_of(text(entry)),
                  std::string(text(entry).substr(kFamilySize)),
                  static_cast<FoundKey::State>(states_[slot - 1]),
                  entry.record,
                  {entry.value_begin, entry.value_size}};
}

KeyTable::Places KeyTable::places(std::uint32_t family) const {
  const auto first_from = [this](std::uint64_t wanted) {
    const auto is_before = [this, wanted](std::uint32_t place) { return family_of(text(entries_[place])) < wanted; };
    return static_cast<std::size_t>(std::ranges::partition_point(order_, is_before) - order_.begin());
  };
  return {first_from(family), first_from(std::uint64_t{family} + 1)};
}

std::vector<std::uint32_t> KeyTable::families() const {
  std::vector<std::uint32_t> families;
  for (std::size_t at = 0; at < order_.size();) {
    families.push_back(family_of(text_at(at)));
    at = places(families.back()).end;
  }
  return families;
}

KeyTable::Listed KeyTable::at(std::size_t place) const {
  const Entry& entry = entries_[order_[place]];
  return {text(entry).substr(kFamilySize), entry.number, static_cast<FoundKey::State>(states_[order_[place]]),
          entry.value_size};
}

std::size_t KeyTable::memory() const {
  return entries_.size() * (sizeof(Entry) + sizeof(State)) + texts_.capacity() +
         (slots_.capacity() + order_.capacity()) * sizeof(std::uint32_t);
}

}  // namespace recordfs
