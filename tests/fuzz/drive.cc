#include "tests/fuzz/drive.h"

#include <algorithm>
#include <random>
#include <string>

#include <fmt/format.h>

#include "tests/contract/format_folder.h"
#include "tests/contract/rules.h"
#include "tests/fuzz/expect.h"

namespace recordfs::fuzz {
namespace {

constexpr std::uint64_t kDecodedBytes = 32 << 20;  // of all chunks of one input
constexpr std::size_t kRescannedSteps = 32;
constexpr std::size_t kCheckedChunks = 16;
constexpr int kLocatedPositions = 24;

std::vector<Position> positions(const contract::Walk& walk, std::uint64_t size, std::mt19937_64& random) {
  std::vector<Position> all{0, size};
  for (const ChunkInfo& chunk : walk.chunks()) {
    if (all.size() > 3 * kCheckedChunks) break;
    all.insert(all.end(), {chunk.begin, chunk.end - 1, chunk.end});
  }
  for (int i = 0; i < kLocatedPositions; ++i) all.push_back(random() % (size + 1));
  return all;
}

void ask_for_metadata(const Container& container, const contract::Walk& walk) {
  for (const Fact& fact : container.traits().facts) expect(!fact.name.empty(), "a fact without a name");
  if (const TrailerReader* const read = container.trailer(); read != nullptr) {
    if (auto trailer = (*read)({}); !trailer) expect_judgement(trailer.error());
  }
  const Metadata* const metadata = container.metadata();
  if (metadata == nullptr) return;
  const auto chunks = walk.chunks();
  if (auto known = metadata->attributes({}, nullptr); !known) expect_judgement(known.error());
  if (!chunks.empty() && metadata->varies()) {
    if (auto last = metadata->attributes({}, &chunks.back()); !last) expect_judgement(last.error());
  }
  for (std::size_t i = 0; i < std::min(chunks.size(), kCheckedChunks); ++i) {
    if (auto of_chunk = metadata->attributes_at({}, chunks[i]); !of_chunk) expect_judgement(of_chunk.error());
  }
}

void walk_all(const Container& container, Bytes bytes, std::mt19937_64& random) {
  const std::uint64_t size = bytes.size();
  contract::Reading reading = contract::read_all(container, size, {}, kDecodedBytes);
  for (const auto& errors : {reading.walk.errors, reading.refused, reading.failures}) {
    for (const Error& error : errors) expect_judgement(error);
  }
  expect(reading.walk.errors.empty(), "scan fails");
  expect_none(contract::check_walk(reading.walk, size));
  if (container.traits().has_seek_structure) {
    expect_none(contract::check_locate(container, reading.walk, positions(reading.walk, size, random)));
  }
  expect_none(contract::check_bulk(container, bytes, reading.walk, random()));
  ask_for_metadata(container, reading.walk);
  auto chunks = reading.walk.chunks();
  std::ranges::shuffle(chunks, random);
  chunks.resize(std::min(chunks.size(), kCheckedChunks));
  for (const ChunkInfo& chunk : chunks) expect_none(contract::check_chunk(container, chunk, random()));
  std::ranges::shuffle(reading.walk.visits, random);
  reading.walk.visits.resize(std::min(reading.walk.visits.size(), kRescannedSteps));
  expect_none(contract::check_rescan(container, reading.walk));
}

}  // namespace

const Format& format_in(std::string_view folder) {
  for (const Format& format : formats()) {
    if (contract::folder_of(format) == folder) return format;
  }
  stop(fmt::format("no format in the list has the folder {}", folder));
}

const Mutator* mutator_for(const Format& format) {
  const Mutator* const own = mutator_of(contract::folder_of(format));
  if (own != nullptr || format.built_on.empty()) return own;
  const auto below = std::ranges::find(formats(), format.built_on, &Format::name);
  return below == formats().end() ? nullptr : mutator_of(contract::folder_of(*below));
}

void drive(const Format& format, Bytes input) {
  const std::uint64_t options = options_of(input);
  auto bytes = Buffer::copy_of({}, input);  // exact size, so that a sanitizer detects reads past the end
  if (!bytes) return;
  const auto source = std::make_shared<const MemorySource>(std::move(*bytes));
  const auto head = format.probe({}, *source, "input", ProbeDepth::kHead);
  const auto searched = format.probe({}, *source, "input", ProbeDepth::kSearch);
  expect(head && searched, "probe fails");
  expect(*head == 0 || *searched > 0, "a search refuses a file that its head identifies");
  auto container = format.open({}, source, limits_for(options));
  if (container) {
    std::mt19937_64 random(options);
    walk_all(**container, input, random);
  } else {
    expect_judgement(container.error());
    expect(*head == 0, "open refuses a file that probe recognizes: " + to_string(container.error()));
  }
}

}  // namespace recordfs::fuzz
