// The keys of a database, each with its last value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "core/formats/value.h"

namespace recordfs {

// Returns the number of a key of a family: a hash, the same in every file and program. If two keys of a table have one
// number, the table reports that for both.
std::uint64_t key_number(std::uint32_t family, std::string_view key);

// A key that has a value.
struct FoundKey {
  enum class State : std::uint8_t {
    kValue,    // `value` is its extent in the record
    kUnknown,  // the container does not contain the value
    kTwice,    // two keys have this number
  };
  std::uint32_t family = 0;
  std::string key;
  State state = State::kValue;
  std::uint64_t record = 0;  // address of the record with the value
  Extent value{};
};

// The keys of a database with the last change to each. Memory is bounded: if there are too many keys, the table keeps
// those that sort first, and is exact for them. Not thread-safe until finish(); immutable after that.
class KeyTable {
 public:
  struct Bounds {
    std::size_t keys = 1000000;                         // up to half as many more before finish()
    std::size_t key_bytes = std::size_t{64} << 20;      // of all keys; likewise
    std::size_t longest_key = std::size_t{64} << 10;    // bytes; longer keys are not kept
    std::size_t ranges = 65536;                         // deleted ranges
    std::size_t range_bytes = std::size_t{16} << 20;    // of the first and last keys of ranges
    std::size_t wanted_bytes = std::size_t{256} << 20;  // of wanted keys
  };

  // Keeps all keys, within bounds.
  explicit KeyTable(Bounds bounds) : bounds_(bounds) {}
  // Keeps only the keys with these numbers, whatever their length and order.
  KeyTable(Bounds bounds, std::set<std::uint64_t> wanted) : bounds_(bounds), wanted_(std::move(wanted)) {}

  // Applies one change, in the container's order. `record` is the address of its record, whose extents are below 2^32.
  // Fails with kLimit; the table is unusable then. REQUIRES: the change is not one of a transaction.
  Result<void> apply(const KeyChange& change, std::uint64_t record);

  // Completes the table. Called after the last change.
  void finish();

  // The following functions REQUIRE finish().

  // Returns whether there are keys that the table does not keep.
  bool has_more() const { return has_more_; }
  std::optional<FoundKey> find(std::uint64_t number) const;

  // A range of places. Keys are in bytewise order within a family, and families in numeric order.
  struct Places {
    std::size_t begin = 0;
    std::size_t end = 0;
    std::size_t size() const { return end - begin; }
  };
  std::size_t size() const { return order_.size(); }
  std::vector<std::uint32_t> families() const;  // in order, only those with keys
  Places places(std::uint32_t family) const;

  struct Listed {
    std::string_view key;  // valid as long as the table
    std::uint64_t number = 0;
    FoundKey::State state{};
    std::uint64_t value_size = 0;
  };
  Listed at(std::size_t place) const;  // REQUIRES: place < size()

  std::size_t memory() const;

 private:
  enum class State : std::uint8_t { kValue, kUnknown, kTwice, kDeleted };
  // A text is a key after its family in 4 bytes, so that texts sort by family first.
  struct Entry {
    std::uint64_t number = 0;
    std::uint64_t record = 0;
    std::uint64_t order = 0;  // the change with the highest order counts
    std::uint32_t value_begin = 0;
    std::uint32_t value_size = 0;
    std::uint32_t text_begin = 0;
    std::uint32_t text_size = 0;
  };
  struct Range {
    std::string begin;
    std::string end;
    std::uint64_t order = 0;
  };

  Result<void> apply_to_key(const KeyChange& change, std::uint64_t record, std::uint64_t order);
  Result<void> add_range(const KeyChange& change, std::uint64_t order);
  bool is_kept(std::string_view text) const;
  std::string_view text(const Entry& entry) const {
    return std::string_view(texts_).substr(entry.text_begin, entry.text_size);
  }
  std::string_view text_at(std::size_t place) const { return text(entries_[order_[place]]); }
  std::size_t slot_of(std::uint64_t number) const;
  void grow_slots();
  std::vector<std::uint32_t> in_order() const;
  void apply_ranges();
  void make_room();
  void cut(std::vector<std::uint32_t>& kept);
  void keep_only(const std::vector<std::uint32_t>& kept);

  Bounds bounds_;
  std::optional<std::set<std::uint64_t>> wanted_;
  std::deque<Entry> entries_;
  std::deque<State> states_;
  std::string texts_;
  std::vector<std::uint32_t> slots_;  // hash table by number: 0, or index of an entry plus 1
  std::vector<Range> ranges_;
  std::size_t range_bytes_ = 0;
  std::optional<std::string> cut_;  // texts from here on are not kept
  bool has_more_ = false;
  bool is_sequenced_ = false;  // changes have sequence numbers
  std::uint64_t changes_ = 0;
  std::string scratch_;
  std::vector<std::uint32_t> order_;  // indexes of the entries with a value, sorted by text
};

}  // namespace recordfs
