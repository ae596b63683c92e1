// The packed record: a table of item sizes, and items that may be compressed by an undeclared transform. FORMAT.md,
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
  Position items = 0;        // file position of the stored items
  std::uint64_t stored = 0;  // their stored size in bytes
  // Returns whether the items are stored unchanged. Bytes after them are ignored.
  bool is_plain() const { return layout.total() == stored; }
};

// Reads the table of the packed record with payload [begin, begin + length), and verifies its checksum. Fails with
// kDamage and kLimit, at the payload, and as Source does.
Result<Packed> read_packed(const Source& source, Position begin, std::uint64_t length, const Limits& limits);

// Returns the name of the transform as far as the size and the first bytes show it, and "-" if only decoding would.
// `front` is the first four bytes that hold the items, or all if there are fewer. Static storage. REQUIRES:
// !packed.is_plain().
std::string_view codec_word(const Packed& packed, Bytes front);

// Returns the items: the output of the transform whose size matches the table. If none matches, returns the beginning
// of `stored`, but only if it does not resemble even a damaged transform. Fails with kDamage, kLimit, kUnsupported
// and kOutOfMemory. REQUIRES: `stored` are the bytes that hold the items.
Result<Buffer> undo_packed(const Packed& packed, Buffer stored, const Limits& limits);

}  // namespace recordfs::recordio::legacy
