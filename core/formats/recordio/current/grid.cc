#include "core/formats/recordio/current/grid.h"

#include <algorithm>

namespace recordfs::recordio {
namespace {

// So many frames in a row may have lost their headers, and the run still goes on behind them.
constexpr std::uint64_t kMostHeadless = 4;

}  // namespace

Run run_of(Position begin, const FrameHeader& first) {
  Run run;
  run.begin = begin;
  run.first = first;
  run.stored = first.size;
  run.last_size = first.size;
  return run;
}

void extend(Run& run, const FrameHeader& next) {
  for (; run.frames < next.index; ++run.frames) {
    run.headless.push_back(run.frames);
    run.stored += kLargestFragment;
  }
  ++run.frames;
  run.stored += next.size;
  run.last_size = next.size;
}

Result<Grid::Part> Grid::take_next(Run& run, Position slot, std::uint64_t index) {
  auto header = window_.header(slot);
  if (!header) return std::move(header).error();
  if (!*header) return Part::kHeadless;
  if ((*header)->continues(run.first, index)) {
    if ((*header)->used() > window_.size() - slot) return Part::kOther;
    extend(run, **header);
    return Part::kNext;
  }
  auto sound = window_.sound_header(slot);
  if (!sound) return std::move(sound).error();
  return *sound ? Part::kOther : Part::kHeadless;
}

Result<std::optional<Run>> Grid::run_at(Position slot) {
  if (last_ && last_->begin == slot) return last_;
  auto first = window_.sound_header(slot);
  if (!first) return std::move(first).error();
  if (!*first || (*first)->index != 0) return std::optional<Run>{};
  Run run = run_of(slot, **first);
  std::uint64_t headless = 0;
  for (std::uint64_t i = 1; i < run.first.total && headless <= kMostHeadless; ++i) {
    const Position next = slot + i * kFrameSize;
    if (next >= window_.size()) break;
    auto part = take_next(run, next, i);
    if (!part) return std::move(part).error();
    if (*part == Part::kOther) break;
    headless = *part == Part::kNext ? 0 : headless + 1;
  }
  last_ = std::move(run);
  return last_;
}

Result<std::optional<Run>> Grid::run_with(Position slot, const FrameHeader& header, std::uint64_t behind) {
  const std::uint64_t before = header.index * kFrameSize;
  if (before > slot || header.index + behind >= header.total) return std::optional<Run>{};
  auto found = run_at(slot - before);
  if (!found) return std::move(found).error();
  const bool is_part =
      *found && header.index + behind < (*found)->frames && header.continues((*found)->first, header.index);
  if (!is_part) return std::optional<Run>{};
  return std::move(*found);
}

Result<std::optional<Run>> Grid::run_over(Position slot) {
  for (std::uint64_t back = 0; back <= kMostHeadless && back * kFrameSize <= slot; ++back) {
    const Position at = slot - back * kFrameSize;
    auto header = window_.header(at);
    if (!header) return std::move(header).error();
    if (!*header) continue;
    auto run = run_with(at, **header, back);
    if (!run) return std::move(run).error();
    if (*run) return std::move(*run);
    // A header whose checksum is wrong may be a broken one inside a run.
    auto sound = window_.sound_header(at);
    if (!sound) return std::move(sound).error();
    if (*sound) break;
  }
  return std::optional<Run>{};
}

}  // namespace recordfs::recordio
