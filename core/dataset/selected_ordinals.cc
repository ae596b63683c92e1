#include "core/dataset/selected_ordinals.h"

#include <algorithm>
#include <bit>
#include <iterator>

namespace recordfs {
namespace {

constexpr std::size_t kMostRuns = 4u << 20;                  // of 24 bytes
constexpr std::uint64_t kMostBits = std::uint64_t{1} << 30;  // ordinals
constexpr std::size_t kFewRuns = 4096;                       // whose size does not matter
constexpr std::uint64_t kBitsOfRun = 192;                    // memory of a run
constexpr std::size_t kWordsOfBlock = 64;                    // that at() counts
constexpr std::uint64_t kOrdinalsOfBlock = 64 * kWordsOfBlock;

}  // namespace

bool SelectedOrdinals::add(OrdinalInterval ordinals) {
  if (ordinals.is_empty()) return true;
  return uses_bits_ ? add_bits(ordinals) : add_run(ordinals);
}

bool SelectedOrdinals::add_run(OrdinalInterval ordinals) {
  const bool continues = !runs_.empty() && runs_.back().ordinals.end == ordinals.begin;
  const bool are_many = runs_.size() >= kFewRuns && runs_.size() >= ordinals.end / kBitsOfRun;
  if (continues) {
    runs_.back().ordinals.end = ordinals.end;
  } else if ((are_many || runs_.size() == kMostRuns) && use_bits()) {
    return add_bits(ordinals);
  } else if (runs_.size() == kMostRuns) {
    return false;
  } else {
    runs_.push_back({ordinals, records_});
  }
  records_ += ordinals.end - ordinals.begin;
  return true;
}

bool SelectedOrdinals::use_bits() {
  if (runs_.back().ordinals.end > kMostBits) return false;
  records_ = 0;
  uses_bits_ = true;
  for (const Run& run : runs_) add_bits(run.ordinals);
  runs_ = {};
  return true;
}

bool SelectedOrdinals::add_bits(OrdinalInterval ordinals) {
  if (ordinals.end > kMostBits) return false;
  for (std::uint64_t ordinal = ordinals.begin; ordinal < ordinals.end; ++ordinal) {
    while (before_.size() <= ordinal / kOrdinalsOfBlock) {
      before_.push_back(records_);
      bits_.resize(bits_.size() + kWordsOfBlock);
    }
    bits_[static_cast<std::size_t>(ordinal / 64)] |= std::uint64_t{1} << ordinal % 64;
    ++records_;
  }
  return true;
}

std::uint64_t SelectedOrdinals::at(std::uint64_t place) const {
  if (!uses_bits_) {
    const Run& run = *std::prev(std::ranges::upper_bound(runs_, place, {}, &Run::before));
    return run.ordinals.begin + (place - run.before);
  }
  const auto after = std::ranges::upper_bound(before_, place);
  std::uint64_t left = place - *std::prev(after);
  auto word = static_cast<std::size_t>(after - before_.begin() - 1) * kWordsOfBlock;
  for (; left >= static_cast<std::uint64_t>(std::popcount(bits_[word])); ++word) {
    left -= static_cast<std::uint64_t>(std::popcount(bits_[word]));
  }
  std::uint64_t bits = bits_[word];
  for (; left > 0; --left) bits &= bits - 1;
  return word * 64 + static_cast<std::uint64_t>(std::countr_zero(bits));
}

}  // namespace recordfs
