// The changes that are tried on a file, and what somebody is told of one.
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
  kFlip,   // of a byte: at `at`
  kCut,    // the first `at` bytes alone
  kZeros,  // 16 bytes from `at` on
  kTail,   // something behind the file: one of kTails
};
inline constexpr std::array kChanges = {Change::kFlip, Change::kCut, Change::kZeros, Change::kTail};

// What comes of a change at a place, at the worst; each worse than the one before.
enum class Effect : std::uint8_t {
  kTold,    // the file's own records, all that the change does not touch among them, and word of the damage
  kUnseen,  // all records, and no word: nobody looks at the place, or what is there may be either
  kBeyond,  // as told, but records of other chunks are lost too
  kMoved,   // as told, but records of the file stand in another order, or one stands twice
  kHidden,  // sound records are missing, and no word
  kWrong,   // bytes that were never in a record
};

std::string_view to_string(Change change);
std::string_view to_string(Effect effect);

// A file without damage, and what it gives.
struct Sound {
  std::string name;
  std::string bytes;
  Given given;
  struct Span {
    Position begin = 0;
    Position end = 0;
  };
  std::vector<Span> chunks;  // of each of given.records
};

// Where a change is tried, in order. `every` 1: everywhere; 0: of a long file only around `borders` and those of chunks
// and frames, and some thousand places between them; N: at each N-th byte, and around the borders of a long file.
std::vector<Position> places(Change change, const Sound& sound, std::span<const Position> borders, std::uint64_t every);

struct Trial {
  std::string what;  // "byte 12 xor 0x01"
  Effect effect = Effect::kTold;
  std::uint64_t lost = 0;           // records
  std::vector<std::string> broken;  // of the views among themselves
};

// Tries a change at a place in all its ways, and hands out each.
void try_out(WholeStack& stack, const Sound& sound, Change change, Position at,
             const std::function<void(const Trial&)>& take);

}  // namespace recordfs::flips
