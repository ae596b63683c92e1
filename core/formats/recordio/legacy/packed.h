// The packed record: several items, their sizes in the clear, and perhaps a transform that nothing names. FORMAT.md,
// "Legacy".
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "core/base/limits.h"
#include "core/base/source.h"
#include "core/codec/codec.h"
#include "core/formats/chunk.h"

namespace recordfs::recordio::legacy {

struct Packed {
  Layout layout;             // of the items, from 0
  Position items = 0;        // where what holds the items begins in the file
  std::uint64_t stored = 0;  // how many bytes that is
  // Whether the items stand there as they are. What is left over behind them is nobody's.
  bool is_plain() const { return layout.total() == stored; }
};

// Reads the table of the packed record whose payload is the file's bytes [begin, begin + length), and verifies its
// checksum. Fails with kDamage and kLimit, at the payload, and as Source does.
Result<Packed> read_packed(const Source& source, Position begin, std::uint64_t length, const Limits& limits);

// The word for what transformed the items, as far as their size and the first bytes tell; "-" where only trying would.
// REQUIRES: !packed.is_plain().
// `front`: the first four bytes that hold them, or as many as there are. Static storage.
std::string_view codec_word(const Packed& packed, Bytes front);

// The items, undone of whatever transform gives just as many bytes as the sizes say. Where none does, the beginning of
// `stored`, but only if not even a damaged transform would look like it. Fails with kDamage, kLimit, kUnsupported and
// kOutOfMemory. REQUIRES: `stored` are the bytes that hold the items.
Result<Buffer> undo_packed(const Packed& packed, Buffer stored, const Limits& limits);

}  // namespace recordfs::recordio::legacy
