// Valid fragments at any byte of a frame, for a search after damage. FORMAT.md, "Search".
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/base/bytes.h"
#include "core/formats/leveldb_log/wire.h"

namespace recordfs::leveldb_log {

// Returns whether a record may begin with these bytes, which are the whole record if `is_whole`.
using MayBegin = bool (*)(Bytes beginning, bool is_whole);

// The valid fragments of a frame. Immutable; any thread.
class ValidFragments {
 public:
  // Examines each of the first `frame` bytes of `bytes`. `bytes` are a frame, or what the file has of it, and the
  // bytes after it. A fragment may end after the frame if `may_cross`. Takes time proportional to `bytes`, whatever
  // they contain.
  ValidFragments(Bytes bytes, std::size_t frame, bool may_cross, const Wire& wire, MayBegin may_begin);

  // Returns the first place at or after `from` where a record passes `may_begin` and from which fragments lead on: to
  // the end of the frame or of the file, or into the next frame. Returns nullopt if there is none.
  std::optional<std::size_t> next(std::size_t from) const;

  // Returns the size of the fragment at `at` if only its length is wrong: a size with which its checksum matches. It
  // must be followed by a valid fragment, zeros to the end of the frame, or too few bytes for a header. Returns nullopt
  // if there is no such size, or no header. `frame_size` is the size of the whole frame, even if the file has less of
  // it.
  std::optional<std::size_t> size_by_checksum(std::size_t at, std::size_t frame_size) const;

 private:
  std::uint32_t sum(std::size_t begin, std::size_t end) const;

  bool is_plain_;  // CRC-32
  std::size_t frame_;
  std::size_t zeros_from_;              // start of the zeros at the end of the frame
  std::vector<std::uint32_t> states_;   // state after each number of bytes, of the CRC that begins with 0
  std::vector<std::uint32_t> stored_;   // the checksum of a fragment that begins at each place
  std::vector<std::uint32_t> sound_;    // places of valid fragments, ascending
  std::vector<std::uint32_t> leading_;  // those of them from which fragments lead on
};

}  // namespace recordfs::leveldb_log
