#include "tests/flips/change.h"

#include <algorithm>
#include <set>
#include <span>
#include <utility>

#include <fmt/format.h>

namespace recordfs::flips {
namespace {

constexpr std::uint64_t kSmallFile = 700;        // bytes; each bit of a smaller file is flipped separately
constexpr std::uint64_t kFullyTriedFile = 4096;  // bytes; each byte of a smaller file is always tried
constexpr std::uint64_t kZeroSpan = 16;
constexpr std::uint64_t kZeroPlaces = 64;
constexpr std::uint64_t kNear = 64;  // bytes around a border

constexpr std::array<std::size_t, 3> kTailSizes = {1, 16, 100};
constexpr std::size_t kTails = 2 * kTailSizes.size();  // of zeros, then of noise

std::vector<unsigned char> patterns(const Original& original) {
  if (original.bytes.size() > kSmallFile) return {0x01, 0xFF};
  return {0x01, 0x02, 0x04, 0x08, 0x10, 0x20, 0x40, 0x80, 0xFF};
}

void add_near(Position border, std::uint64_t limit, std::set<Position>& places) {
  const Position first = border - std::min(border, kNear);
  for (Position at = first; at < std::min(limit, border + kNear); ++at) places.insert(at);
}

std::vector<Position> thinned(const Original& original, std::span<const Position> borders, std::uint64_t every) {
  constexpr std::uint64_t kFrame = 32768;  // the smallest frame of any format; larger ones are multiples of it
  const std::uint64_t size = original.bytes.size();
  const std::uint64_t limit = size;
  const std::uint64_t step = every == 1 || size <= kFullyTriedFile ? 1 : size / (kFullyTriedFile / 4);
  std::set<Position> places;
  if (step > 1) {
    for (const Original::Span& chunk : original.chunks) {
      add_near(chunk.begin, limit, places);
      add_near(chunk.end, limit, places);
    }
    for (const Position border : borders) add_near(border, limit, places);
    for (Position frame = 0; frame < size + kFrame; frame += kFrame) add_near(std::min(frame, size), limit, places);
  }
  for (Position at = 0; at < limit; at += step) places.insert(at);
  std::vector<Position> chosen;
  std::uint64_t number = 0;
  for (const Position at : places) {
    if (number++ % std::max<std::uint64_t>(every, 1) == 0) chosen.push_back(at);
  }
  return chosen;
}

std::string noise(std::size_t size) {
  std::string bytes(size, '\0');
  std::uint64_t state = 0x9E3779B97F4A7C15;
  for (char& byte : bytes) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    byte = static_cast<char>(state >> 56);
  }
  return bytes;
}

// The changed range of the file: bytes [begin, end).
struct Touched {
  Position begin = 0;
  Position end = 0;
};

bool are_all_present(const Original& original, const Observed& observed) {
  return observed.records.size() == original.observed.records.size() &&
         std::ranges::equal(observed.records, original.observed.records,
                            [](const auto& a, const auto& b) { return a.same_bytes(b); });
}

// Returns whether each record is in the original file.
bool belong_to_the_file(const Original& original, const Observed& observed) {
  return std::ranges::all_of(observed.records, [&](const contract::Mark& record) {
    return std::ranges::any_of(original.observed.records, [&](const auto& known) { return known.same_bytes(record); });
  });
}

// Returns whether the trailer, the array and the metadata are those of the original file. If damage is reported,
// metadata may differ, because an earlier value applies when a later one is lost.
bool are_other_files_correct(const Original& original, const Observed& observed) {
  return std::ranges::all_of(observed.other_files, [&](const auto& file) {
    if (observed.reports_damage() && file.first.starts_with("metadata/")) return true;
    return std::ranges::find(original.observed.other_files, file) != original.observed.other_files.end();
  });
}

// Returns whether all records of the unchanged chunks are present.
bool keeps_others(const Original& original, const Observed& observed, Touched touched) {
  std::vector<contract::Mark> others;
  for (std::size_t i = 0; i < original.chunks.size(); ++i) {
    const Original::Span& chunk = original.chunks[i];
    if (chunk.end <= touched.begin || chunk.begin >= touched.end) others.push_back(original.observed.records[i]);
  }
  return contract::is_subsequence(others, observed.records);
}

Effect judge(const Original& original, const Observed& observed, Touched touched) {
  if (!are_other_files_correct(original, observed)) return Effect::kWrong;
  if (!contract::is_subsequence(observed.records, original.observed.records)) {
    return observed.reports_damage() && belong_to_the_file(original, observed) ? Effect::kMoved : Effect::kWrong;
  }
  if (!observed.reports_damage()) {
    const bool is_all =
        are_all_present(original, observed) && observed.other_files.size() >= original.observed.other_files.size();
    return is_all ? Effect::kUnseen : Effect::kHidden;
  }
  return keeps_others(original, observed, touched) ? Effect::kReported : Effect::kBeyond;
}

}  // namespace

std::string_view to_string(Change change) {
  switch (change) {
    case Change::kFlip: return "flip";
    case Change::kCut: return "cut";
    case Change::kZeros: return "zeros";
    case Change::kTail: return "tail";
  }
  return "";
}

std::string_view to_string(Effect effect) {
  switch (effect) {
    case Effect::kReported: return "reported";
    case Effect::kUnseen: return "unseen";
    case Effect::kBeyond: return "beyond";
    case Effect::kMoved: return "moved";
    case Effect::kHidden: return "hidden";
    case Effect::kWrong: return "wrong";
  }
  return "";
}

std::vector<Position> places(Change change, const Original& original, std::span<const Position> borders,
                             std::uint64_t every) {
  const std::uint64_t size = original.bytes.size();
  if (change == Change::kFlip || change == Change::kCut) return thinned(original, borders, every);
  std::vector<Position> places;
  if (change == Change::kZeros) {
    const std::uint64_t step = std::max<std::uint64_t>(1, size / kZeroPlaces);
    for (Position at = 0; at < size; at += step) places.push_back(at);
  } else {
    for (Position tail = 0; tail < kTails; ++tail) places.push_back(tail);
  }
  return places;
}

void try_change(WholeStack& stack, const Original& original, Change change, Position at,
                const std::function<void(const Trial&)>& take) {
  const auto run = [&](std::string what, std::string_view bytes, Touched touched) {
    Observed observed = stack.read(original.name, bytes);
    const Effect effect = judge(original, observed, touched);
    const std::uint64_t lost =
        original.observed.records.size() - std::min(original.observed.records.size(), observed.records.size());
    take({.what = std::move(what),
          .effect = effect,
          .lost = lost,
          .inconsistencies = std::move(observed.inconsistencies)});
  };
  const std::uint64_t size = original.bytes.size();
  std::string bytes = original.bytes;
  switch (change) {
    case Change::kFlip:
      for (const unsigned char pattern : patterns(original)) {
        bytes[at] = static_cast<char>(original.bytes[at] ^ static_cast<char>(pattern));
        run(fmt::format("byte {} xor {:#04x}", at, pattern), bytes, {at, at + 1});
      }
      break;
    case Change::kCut:
      run(fmt::format("truncated to {} bytes", at), std::string_view(bytes).substr(0, at), {at, size});
      break;
    case Change::kZeros: {
      const std::uint64_t length = std::min(kZeroSpan, size - at);
      std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(at), length, '\0');
      if (bytes != original.bytes) run(fmt::format("{} zeros from byte {}", length, at), bytes, {at, at + length});
      break;
    }
    case Change::kTail: {
      const std::size_t length = kTailSizes[at % kTailSizes.size()];
      const bool is_noise = at >= kTailSizes.size();
      bytes += is_noise ? noise(length) : std::string(length, '\0');
      run(fmt::format("{} bytes of {} after the end", length, is_noise ? "noise" : "zeros"), bytes, {size, size});
      break;
    }
  }
}

}  // namespace recordfs::flips
