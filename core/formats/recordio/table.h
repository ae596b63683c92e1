// What both formats have: magic numbers, and the table in front of the items with their number and their sizes.
// FORMAT.md, "Which format" and "Table".
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/limits.h"
#include "core/base/result.h"
#include "core/formats/chunk.h"

namespace recordfs::recordio {

// Little-endian values of the eight bytes.
inline constexpr std::uint64_t kHeaderMagic = 0xf70416c25cd9e1d9;
inline constexpr std::uint64_t kPackedMagic = 0x2e3c0734eb47762e;  // current: body; legacy: packed record
inline constexpr std::uint64_t kTrailerMagic = 0x3a75dfcbd71abafe;
inline constexpr std::uint64_t kUnpackedMagic = 0x20bdd9f03195aefc;  // legacy only

inline constexpr std::uint64_t kMagicSize = 8;

using Magics = std::span<const std::uint64_t>;

// Returns the magic at the start of `bytes` if it is one of `magics`, and nullopt otherwise or if `bytes` is shorter
// than kMagicSize. All functions here: any thread.
std::optional<std::uint64_t> magic_at(Bytes bytes, Magics magics);
// Returns whether `bytes`, shorter than kMagicSize, is a prefix of one of `magics`. Empty bytes are a prefix of each.
bool is_cut_magic(Bytes bytes, Magics magics);
// Returns the offset of the first of `magics` at or after `from`; bytes.size() if there is none.
std::size_t find_magic(Bytes bytes, std::size_t from, Magics magics);

// Parses the table at the start of `bytes`. In the layout, the first record begins right after the table; table and
// records together take at most `most` bytes. Returns nullopt if `bytes` end inside the table. Fails with kDamage and
// kLimit, at position 0. Any thread.
Result<std::optional<Layout>> parse_table(const RequestContext& context, Bytes bytes, std::uint64_t most,
                                          const Limits& limits);

// Appends the records of a chunk's whole content to `records`, the same as parse_table() finds, and returns the sum of
// their sizes. Returns nullopt if parse_table() fails, or if the records do not end where the content ends; then some
// may be appended. Any thread.
std::optional<std::uint64_t> take_records(Bytes content, const Limits& limits, std::vector<Bytes>& records);

// Appends a table, and the records after it. Throws std::bad_alloc. Any thread.
void append_content(std::string& out, std::span<const Bytes> records);

// Returns the error for a table that does not fit in its chunk.
Error cut_table();

}  // namespace recordfs::recordio
