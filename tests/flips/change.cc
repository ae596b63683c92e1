#include "tests/flips/change.h"

#include <algorithm>
#include <set>
#include <span>
#include <utility>

#include <fmt/format.h>

namespace recordfs::flips {
namespace {

constexpr std::uint64_t kShort = 700;       // bytes of a file of which each bit is flipped by itself
constexpr std::uint64_t kAllPlaces = 4096;  // bytes of a file of which each is tried in any case
constexpr std::uint64_t kZeroSpan = 16;
constexpr std::uint64_t kZeroPlaces = 64;
constexpr std::uint64_t kNear = 64;  // bytes around a border

constexpr std::array<std::size_t, 3> kTailSizes = {1, 16, 100};
constexpr std::size_t kTails = 2 * kTailSizes.size();  // of zeros, then of noise

std::vector<unsigned char> patterns(const Sound& sound) {
  if (sound.bytes.size() > kShort) return {0x01, 0xFF};
  return {0x01, 0x02, 0x04, 0x08, 0x10, 0x20, 0x40, 0x80, 0xFF};
}

void add_near(Position border, std::uint64_t limit, std::set<Position>& places) {
  const Position first = border - std::min(border, kNear);
  for (Position at = first; at < std::min(limit, border + kNear); ++at) places.insert(at);
}

std::vector<Position> thinned(const Sound& sound, std::span<const Position> borders, std::uint64_t every) {
  constexpr std::uint64_t kFrame = 32768;  // the smallest of a format; larger ones are multiples of it
  const std::uint64_t size = sound.bytes.size();
  const std::uint64_t limit = size;
  if (every == 0) every = size <= kAllPlaces ? 1 : size / (kAllPlaces / 4);
  std::set<Position> places;
  if (size > kAllPlaces && every > 1) {
    for (const Sound::Span& chunk : sound.chunks) {
      add_near(chunk.begin, limit, places);
      add_near(chunk.end, limit, places);
    }
    for (const Position border : borders) add_near(border, limit, places);
    for (Position frame = 0; frame < size + kFrame; frame += kFrame) add_near(std::min(frame, size), limit, places);
  }
  for (Position at = 0; at < limit; at += every) places.insert(at);
  return {places.begin(), places.end()};
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

// Bytes [begin, end) of the sound file are not what they were.
struct Touched {
  Position begin = 0;
  Position end = 0;
};

bool is_whole(const Sound& sound, const Given& given) {
  return given.records.size() == sound.given.records.size() &&
         std::ranges::equal(given.records, sound.given.records,
                            [](const auto& a, const auto& b) { return a.same_bytes(b); });
}

// Whether each record is one of the file's.
bool are_known(const Sound& sound, const Given& given) {
  return std::ranges::all_of(given.records, [&](const contract::Mark& record) {
    return std::ranges::any_of(sound.given.records, [&](const auto& known) { return known.same_bytes(record); });
  });
}

// The trailer and an array are no less than records; of metadata those may count that were given before, where others
// are lost and it is told.
bool is_right_beside(const Sound& sound, const Given& given) {
  return std::ranges::all_of(given.beside, [&](const auto& file) {
    if (given.is_told() && file.first.starts_with("metadata/")) return true;
    return std::ranges::find(sound.given.beside, file) != sound.given.beside.end();
  });
}

// Whether all records of the chunks that were not touched are there.
bool keeps_others(const Sound& sound, const Given& given, Touched touched) {
  std::vector<contract::Mark> others;
  for (std::size_t i = 0; i < sound.chunks.size(); ++i) {
    const Sound::Span& chunk = sound.chunks[i];
    if (chunk.end <= touched.begin || chunk.begin >= touched.end) others.push_back(sound.given.records[i]);
  }
  return contract::is_subsequence(others, given.records);
}

Effect judge(const Sound& sound, const Given& given, Touched touched) {
  if (!is_right_beside(sound, given)) return Effect::kWrong;
  if (!contract::is_subsequence(given.records, sound.given.records)) {
    return given.is_told() && are_known(sound, given) ? Effect::kMoved : Effect::kWrong;
  }
  if (!given.is_told()) {
    const bool is_all = is_whole(sound, given) && given.beside.size() >= sound.given.beside.size();
    return is_all ? Effect::kUnseen : Effect::kHidden;
  }
  return keeps_others(sound, given, touched) ? Effect::kTold : Effect::kBeyond;
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
    case Effect::kTold: return "told";
    case Effect::kUnseen: return "unseen";
    case Effect::kBeyond: return "beyond";
    case Effect::kMoved: return "moved";
    case Effect::kHidden: return "hidden";
    case Effect::kWrong: return "wrong";
  }
  return "";
}

std::vector<Position> places(Change change, const Sound& sound, std::span<const Position> borders,
                             std::uint64_t every) {
  const std::uint64_t size = sound.bytes.size();
  if (change == Change::kFlip || change == Change::kCut) return thinned(sound, borders, every);
  std::vector<Position> places;
  if (change == Change::kZeros) {
    const std::uint64_t step = std::max<std::uint64_t>(1, size / kZeroPlaces);
    for (Position at = 0; at < size; at += step) places.push_back(at);
  } else {
    for (Position tail = 0; tail < kTails; ++tail) places.push_back(tail);
  }
  return places;
}

void try_out(WholeStack& stack, const Sound& sound, Change change, Position at,
             const std::function<void(const Trial&)>& take) {
  const auto run = [&](std::string what, std::string_view bytes, Touched touched) {
    Given given = stack.read(sound.name, bytes);
    const Effect effect = judge(sound, given, touched);
    const std::uint64_t lost = sound.given.records.size() - std::min(sound.given.records.size(), given.records.size());
    take({.what = std::move(what), .effect = effect, .lost = lost, .broken = std::move(given.broken)});
  };
  const std::uint64_t size = sound.bytes.size();
  std::string bytes = sound.bytes;
  switch (change) {
    case Change::kFlip:
      for (const unsigned char pattern : patterns(sound)) {
        bytes[at] = static_cast<char>(sound.bytes[at] ^ static_cast<char>(pattern));
        run(fmt::format("byte {} xor {:#04x}", at, pattern), bytes, {at, at + 1});
      }
      break;
    case Change::kCut:
      run(fmt::format("the first {} bytes", at), std::string_view(bytes).substr(0, at), {at, size});
      break;
    case Change::kZeros: {
      const std::uint64_t length = std::min(kZeroSpan, size - at);
      std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(at), length, '\0');
      if (bytes != sound.bytes) run(fmt::format("{} zeros from byte {} on", length, at), bytes, {at, at + length});
      break;
    }
    case Change::kTail: {
      const std::size_t length = kTailSizes[at % kTailSizes.size()];
      const bool is_noise = at >= kTailSizes.size();
      bytes += is_noise ? noise(length) : std::string(length, '\0');
      run(fmt::format("{} bytes of {} behind the end", length, is_noise ? "noise" : "zeros"), bytes, {size, size});
      break;
    }
  }
}

}  // namespace recordfs::flips
