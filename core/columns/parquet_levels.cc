#include "core/columns/parquet_levels.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "core/base/append.h"
#include "core/base/protobuf.h"

namespace recordfs {
namespace {

constexpr std::int64_t kEnded = -1;  // a null or an empty list precedes the leaf
constexpr std::size_t kGroup = 8;    // numbers that are packed together

std::int64_t offset_at(const ArrowColumn& list, std::int64_t index) {
  std::int64_t offset = 0;
  std::memcpy(&offset, list.buffers[1].bytes.data() + index * 8, 8);
  return offset;
}

// The levels on the way to a leaf: for each the index in the current column.
struct Slots {
  std::vector<std::uint8_t> repetition{};
  std::vector<std::uint8_t> definition{};
  std::vector<std::int64_t> index{};

  void add(std::uint8_t repetition_level, std::uint8_t definition_level, std::int64_t at) {
    repetition.push_back(repetition_level);
    definition.push_back(definition_level);
    index.push_back(at);
  }
};

void take_nullable(Slots& slots, const ArrowColumn& column) {
  for (std::size_t i = 0; i < slots.index.size(); ++i) {
    if (slots.index[i] == kEnded) continue;
    if (column.null_count == 0 || is_valid(column, slots.index[i])) {
      ++slots.definition[i];
    } else {
      slots.index[i] = kEnded;
    }
  }
}

// Replaces each list by its items.
Slots items_of(const Slots& lists, const ArrowColumn& column, std::uint8_t repetition_level) {
  const std::size_t expected = lists.index.size() + static_cast<std::size_t>(column.children.front().length);
  Slots items;
  items.repetition.reserve(expected);
  items.definition.reserve(expected);
  items.index.reserve(expected);
  for (std::size_t i = 0; i < lists.index.size(); ++i) {
    const std::int64_t at = lists.index[i];
    const std::int64_t begin = at == kEnded ? 0 : offset_at(column, at);
    const std::int64_t end = at == kEnded ? 0 : offset_at(column, at + 1);
    if (begin == end) {
      items.add(lists.repetition[i], lists.definition[i], kEnded);
      continue;
    }
    const auto definition = static_cast<std::uint8_t>(lists.definition[i] + 1);
    items.add(lists.repetition[i], definition, begin);
    for (std::int64_t item = begin + 1; item < end; ++item) items.add(repetition_level, definition, item);
  }
  return items;
}

// Appends runs of equal numbers, and packs what is between them.
template <class Number>
class HybridWriter {
 public:
  HybridWriter(std::string& out, std::span<const Number> numbers, unsigned bits)
      : out_(out), numbers_(numbers), bits_(bits) {}

  void write() {
    for (std::size_t at = 0; at < numbers_.size();) {
      std::size_t end = at + 1;
      while (end < numbers_.size() && numbers_[end] == numbers_[at]) ++end;
      // Groups of packed numbers are complete, except for the last one.
      const std::size_t missing = (kGroup - (at - packed_) % kGroup) % kGroup;
      if (end - at >= missing + kGroup) {
        pack_until(at + missing);
        protobuf::append_varint(out_, std::uint64_t{end - at - missing} << 1);
        append_number(numbers_[at]);
        packed_ = end;
      }
      at = end;
    }
    pack_until(numbers_.size());
  }

 private:
  // Packs the numbers that are not written yet.
  void pack_until(std::size_t end) {
    if (packed_ == end) return;
    const std::size_t groups = (end - packed_ + kGroup - 1) / kGroup;
    protobuf::append_varint(out_, std::uint64_t{groups} << 1 | 1);
    std::uint64_t held = 0;
    unsigned held_bits = 0;
    for (std::size_t i = packed_; i < packed_ + groups * kGroup; ++i) {
      held |= std::uint64_t{i < end ? numbers_[i] : Number{0}} << held_bits;
      for (held_bits += bits_; held_bits >= 8; held_bits -= 8) {
        out_.push_back(static_cast<char>(held & 0xFF));
        held >>= 8;
      }
    }
    packed_ = end;
  }

  void append_number(Number number) {
    for (unsigned bit = 0; bit < bits_; bit += 8)
      out_.push_back(static_cast<char>(std::uint64_t{number} >> bit & 0xFF));
  }

  std::string& out_;
  const std::span<const Number> numbers_;
  const unsigned bits_;
  std::size_t packed_ = 0;  // the numbers before are written
};

}  // namespace

bool is_valid(const ArrowColumn& column, std::int64_t index) {
  const Slice& validity = column.buffers.front();
  if (validity.owner == nullptr) return true;
  const auto at = static_cast<std::size_t>(index);
  return (std::to_integer<unsigned>(validity.bytes[at / 8]) >> at % 8 & 1) != 0;
}

LeafLevels levels_of(const ParquetLeaf& leaf, const ArrowColumn& batch) {
  const auto rows = static_cast<std::size_t>(batch.length);
  Slots slots{.repetition = std::vector<std::uint8_t>(rows),
              .definition = std::vector<std::uint8_t>(rows),
              .index = std::vector<std::int64_t>(rows)};
  for (std::size_t i = 0; i < rows; ++i) slots.index[i] = static_cast<std::int64_t>(i);
  const ArrowColumn* column = &batch;
  std::uint8_t repetition_level = 0;
  for (const ParquetLeaf::Step& step : leaf.path) {
    column = &column->children[step.child];
    if (step.is_nullable) take_nullable(slots, *column);
    if (step.is_list) slots = items_of(slots, *column, ++repetition_level);
  }
  LeafLevels levels{.repetition = std::move(slots.repetition),
                    .definition = std::move(slots.definition),
                    .values = std::move(slots.index),
                    .column = column};
  std::erase(levels.values, kEnded);
  return levels;
}

unsigned bits_for(std::uint32_t most) { return static_cast<unsigned>(std::bit_width(most)); }

void append_hybrid(std::string& out, std::span<const std::uint32_t> numbers, unsigned bits) {
  HybridWriter(out, numbers, bits).write();
}

void append_levels(std::string& out, std::span<const std::uint8_t> levels, unsigned bits) {
  std::string encoded;
  HybridWriter(encoded, levels, bits).write();
  append_le(out, static_cast<std::uint32_t>(encoded.size()));
  out += encoded;
}

}  // namespace recordfs
