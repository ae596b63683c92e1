// Changes a file in each way that is tested, and classifies what a reader of the changed file gets.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/formats/container.h"
#include "tests/flips/whole_stack.h"

namespace recordfs::flips {

enum class Change : std::uint8_t {
  kFlip,   // the byte at `at` is flipped
  kCut,    // the file is truncated to `at` bytes
  kZeros,  // 16 bytes from `at` become zeros
  kTail,   // one of kTails is appended
};
inline constexpr std::array kChanges = {Change::kFlip, Change::kCut, Change::kZeros, Change::kTail};

// The worst effect of a change at one place, from mild to bad.
enum class Effect : std::uint8_t {
  kReported,  // damage is reported; the other records are correct, and all those of unchanged chunks are present
  kUnseen,    // nothing is reported and nothing is lost: the changed bytes have no meaning
  kBeyond,    // like kReported, but records of other chunks are lost too
  kMoved,     // like kReported, but records are in another order, or one appears twice
  kHidden,    // valid records are missing and nothing is reported
  kWrong,     // bytes that are in no record of the file
};

std::string_view to_string(Change change);
std::string_view to_string(Effect effect);

// An undamaged file and what a reader gets from it.
struct Original {
  std::string name;
  std::string bytes;
  Observed observed;
  struct Span {
    Position begin = 0;
    Position end = 0;
  };
  std::vector<Span> chunks;  // the chunk of each record in observed.records
};

// Returns the places to try, in order. `every` is 1 for all places, and 0 for all of a small file, and of a large one
// those near `borders`, chunks and frames and about a thousand others. N above 1 selects every N-th of the latter.
std::vector<Position> places(Change change, const Original& original, std::span<const Position> borders,
                             std::uint64_t every);

struct Trial {
  std::string what;  // "byte 12 xor 0x01"
  Effect effect = Effect::kReported;
  std::uint64_t lost = 0;                    // number of lost records
  std::vector<std::string> inconsistencies;  // between the views of the changed file
};

// Tries all variants of a change at a place, and passes each result to `take`.
void try_change(WholeStack& stack, const Original& original, Change change, Position at,
                const std::function<void(const Trial&)>& take);

}  // namespace recordfs::flips
