#include "tests/contract/rules.h"

#include <algorithm>
#include <random>

#include <fmt/format.h>

namespace recordfs::contract {
namespace {

void check_shape(const ChunkInfo& chunk, std::uint64_t size, Violations& broken) {
  const auto expect = [&](bool held, std::string_view what) {
    if (!held) broken.push_back(fmt::format("{}: {}", to_string(chunk), what));
  };
  expect(chunk.begin < chunk.end, "is empty");
  expect(chunk.end <= size, "extends beyond the file");
  expect(chunk.key.position == chunk.begin, "its key has another position");
  expect(!chunk.kind.word().empty() && chunk.kind.word().find_first_of(" \t\n") == std::string_view::npos,
         "its kind is not a single word");
  expect(!chunk.codec.empty(), "has no codec");
  expect(chunk.stored_size <= chunk.end - chunk.begin, "its payload is larger than the chunk");
}

void check_shape(const DamagedRegion& region, std::uint64_t size, Violations& broken) {
  if (region.begin >= region.end) broken.push_back(to_string(region) + ": is empty");
  if (region.end > size) broken.push_back(to_string(region) + ": extends beyond the file");
  if (region.reason.empty()) broken.push_back(to_string(region) + ": has no reason");
}

void check_forward(const Visit& visit, bool in_file_order, Violations& broken) {
  // A search may stay at its starting position and count in its key's state.
  if (!visit.step.next) return;
  const bool goes_back = in_file_order && visit.step.next->position < visit.at.position;
  if (goes_back || *visit.step.next == visit.at) {
    broken.push_back(fmt::format("the step at {} continues at {}", visit.at.position, visit.step.next->position));
  }
}

// A region is before the chunk of its step, or inside it.
void check_region_order(const Step& step, Position chunks_end, Position& regions_end, Violations& broken) {
  for (const DamagedRegion& region : step.damage) {
    if (region.begin < regions_end) broken.push_back(to_string(region) + ": overlaps an earlier region");
    if (region.begin < chunks_end) broken.push_back(to_string(region) + ": overlaps a chunk of an earlier step");
    if (step.chunk && region.begin < step.chunk->begin && region.end > step.chunk->begin) {
      broken.push_back(to_string(region) + ": reaches into " + to_string(*step.chunk));
    }
    if (step.chunk && region.begin < step.chunk->end && region.end > step.chunk->end) {
      broken.push_back(to_string(region) + ": reaches out of " + to_string(*step.chunk));
    }
    regions_end = std::max(regions_end, region.end);
  }
}

// In any order: no byte belongs to two chunks, no region of one step overlaps a chunk of another, and the keys of
// chunks have their numbers.
void check_apart(const Walk& walk, Violations& broken) {
  std::vector<ChunkInfo> chunks = walk.chunks();
  for (std::size_t i = 0; i < chunks.size(); ++i) {
    if (chunks[i].key.state != i) broken.push_back(to_string(chunks[i]) + ": its key has another number");
  }
  std::ranges::sort(chunks, {}, &ChunkInfo::begin);
  for (std::size_t i = 1; i < chunks.size(); ++i) {
    if (chunks[i].begin < chunks[i - 1].end) {
      broken.push_back(to_string(chunks[i]) + ": overlaps " + to_string(chunks[i - 1]));
    }
  }
  for (const Visit& visit : walk.visits) {
    for (const DamagedRegion& region : visit.step.damage) {
      const auto behind = std::ranges::lower_bound(chunks, region.end, {}, &ChunkInfo::begin);
      if (behind == chunks.begin() || (behind - 1)->end <= region.begin) continue;
      const bool is_own = visit.step.chunk && visit.step.chunk->begin == (behind - 1)->begin;
      if (!is_own) broken.push_back(to_string(region) + ": overlaps " + to_string(*(behind - 1)));
    }
  }
}

std::string describe(const std::optional<ChunkInfo>& chunk) { return chunk ? to_string(*chunk) : "nothing"; }

bool same_result(const std::optional<ChunkInfo>& a, const std::optional<ChunkInfo>& b) {
  return a.has_value() == b.has_value() && (!a || same_chunk(*a, *b));
}

std::optional<ChunkInfo> covering(const std::vector<ChunkInfo>& chunks, Position at) {
  for (const ChunkInfo& chunk : chunks) {
    if (chunk.begin <= at && at < chunk.end) return chunk;
  }
  return std::nullopt;
}

}  // namespace

Violations check_walk(const Walk& walk, std::uint64_t size) {
  Violations broken;
  if (walk.endless) broken.push_back("the scan takes more steps than the file has bytes");
  Position chunks_end = 0;
  Position regions_end = 0;
  for (const Visit& visit : walk.visits) {
    check_forward(visit, walk.in_file_order, broken);
    for (const DamagedRegion& region : visit.step.damage) check_shape(region, size, broken);
    if (walk.in_file_order) check_region_order(visit.step, chunks_end, regions_end, broken);
    if (!visit.step.chunk) continue;
    check_shape(*visit.step.chunk, size, broken);
    if (walk.in_file_order && visit.step.chunk->begin < chunks_end)
      broken.push_back(to_string(*visit.step.chunk) + ": overlaps the previous one");
    chunks_end = std::max(chunks_end, visit.step.chunk->end);
  }
  if (!walk.in_file_order) check_apart(walk, broken);
  return broken;
}

Violations check_rescan(const Container& container, const Walk& walk) {
  Violations broken;
  std::for_each(walk.visits.rbegin(), walk.visits.rend(), [&](const Visit& visit) {
    const auto again = container.scan({}, visit.at);
    if (!again || !same_step(*again, visit.step)) {
      broken.push_back(fmt::format("the step at {} has another result when repeated", visit.at.position));
    }
    if (!visit.step.chunk) return;
    const auto chunk = container.scan({}, visit.step.chunk->key);
    if (!chunk || !same_result(chunk->chunk, visit.step.chunk)) {
      broken.push_back(to_string(*visit.step.chunk) + ": a scan from its key finds another chunk");
    } else if (chunk->next != visit.step.next) {
      broken.push_back(to_string(*visit.step.chunk) + ": a scan from its key continues at another position");
    }
  });
  return broken;
}

Violations check_locate(const Container& container, const Walk& walk, std::span<const Position> positions) {
  Violations broken;
  const auto chunks = walk.chunks();
  for (const Position at : positions) {
    const auto due = covering(chunks, at);
    const auto found = container.locate({}, at);
    if (!found) {
      broken.push_back(fmt::format("locate({}) fails: {}", at, recordfs::to_string(found.error())));
    } else if (!same_result(*found, due)) {
      broken.push_back(fmt::format("locate({}) finds {}, but the scan {}", at, describe(*found), describe(due)));
    }
  }
  return broken;
}

}  // namespace recordfs::contract
