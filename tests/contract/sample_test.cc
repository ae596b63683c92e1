#include "tests/contract/sample_test.h"

#include <algorithm>
#include <cstdlib>
#include <random>
#include <set>

namespace recordfs::contract {
namespace {

class ViewSource final : public Source {
 public:
  explicit ViewSource(std::string_view bytes) : bytes_(bytes) {}
  std::uint64_t size() const override { return bytes_.size(); }
  Result<std::size_t> read_at(const RequestContext&, Position at, MutableBytes out) const override {
    if (at >= bytes_.size()) return std::size_t{0};
    const std::string_view there = bytes_.substr(static_cast<std::size_t>(at), out.size());
    copy_bytes(as_bytes(there), out);
    return there.size();
  }

 private:
  const std::string_view bytes_;
};

std::uint64_t thoroughness() {
  const char* const text = std::getenv("RECORDFS_THOROUGH");
  return text ? std::strtoull(text, nullptr, 10) : 1;
}

void add_around(Position place, std::uint64_t size, std::set<Position>& places) {
  for (const std::int64_t distance : {-1, 0, 1, 5, 9, 16, 23, 24, 25, 32, 39, 40, 41, 44}) {
    const Position near = place + static_cast<std::uint64_t>(distance);
    if (near < size) places.insert(near);
  }
}

std::set<Position> borders(const Walk& walk, std::uint64_t size) {
  constexpr std::uint64_t kFrame = 32768;  // the smallest frame of a format; larger ones are multiples of it
  std::set<Position> places;
  for (const ChunkInfo& chunk : walk.chunks()) {
    add_around(chunk.begin, size, places);
    add_around(chunk.end, size, places);
  }
  for (const DamagedRegion& region : walk.damage()) add_around(region.end, size, places);
  for (Position frame = 0; frame < size; frame += kFrame) add_around(frame, size, places);
  return places;
}

}  // namespace

std::shared_ptr<const Source> source_of(std::string_view bytes) { return std::make_shared<ViewSource>(bytes); }

std::unique_ptr<Container> SampleTest::open_sample(const Limits& limits) const {
  auto container = open(bytes(), limits);
  if (container) return std::move(*container);
  EXPECT_TRUE(sample().want.damaged) << to_string(container.error());
  return nullptr;
}

Result<std::unique_ptr<Container>> SampleTest::open(std::string_view bytes, const Limits& limits) const {
  auto own = sample().format->open({}, source_of(bytes), limits);
  if (own || own.error().code != Code::kNoContainer) return own;
  const auto all = all_formats();
  const auto below = std::ranges::find(all, sample().format->built_on, &Format::name);
  return below == all.end() ? std::move(own) : (*below)->open({}, source_of(bytes), limits);
}

Reading SampleTest::read(std::string_view bytes, const Limits& limits) const {
  auto container = open(bytes, limits);
  if (container) return read_all(**container, bytes.size());
  Reading nothing;
  nothing.walk.errors.push_back(container.error());
  return nothing;
}

std::uint64_t SampleTest::rounds(std::uint64_t cost, std::uint64_t least) {
  constexpr std::uint64_t kBytes = 8 << 20;
  constexpr std::uint64_t kFixedCost = 2000;
  return std::max(least, thoroughness() * kBytes / (cost + kFixedCost));
}

std::vector<Position> SampleTest::places(const Walk& walk, std::uint64_t count) const {
  const std::uint64_t size = bytes().size();
  std::vector<Position> all;
  if (count >= size) {
    for (Position at = 0; at < size; ++at) all.push_back(at);
    return all;
  }
  std::mt19937_64 random(size);
  std::ranges::sample(borders(walk, size), std::back_inserter(all), static_cast<std::ptrdiff_t>(count * 3 / 4), random);
  std::set<Position> picked(all.begin(), all.end());
  while (picked.size() < count) picked.insert(random() % size);
  return {picked.begin(), picked.end()};
}

std::string joined(const Violations& broken) {
  std::string text;
  for (std::size_t i = 0; i < std::min<std::size_t>(broken.size(), 5); ++i) text += "\n  " + broken[i];
  if (broken.size() > 5) text += "\n  and " + std::to_string(broken.size() - 5) + " more";
  return text;
}

}  // namespace recordfs::contract
