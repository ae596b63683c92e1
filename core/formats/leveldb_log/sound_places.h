// Where sound fragments stand in a frame, at any byte of it: for a search behind damage. FORMAT.md, "Search".
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/base/bytes.h"
#include "core/formats/leveldb_log/wire.h"

namespace recordfs::leveldb_log {

// Whether a record may begin with so many bytes, which are all of it where `is_whole`.
using MayBegin = bool (*)(Bytes beginning, bool is_whole);

// Immutable; any thread.
class SoundPlaces {
 public:
  // Looks at each of the first `frame` bytes of `bytes`, which are a frame, or what the file has of it, and what
  // stands behind it in the file. A fragment may end behind the frame where `may_cross`. Takes time that grows with
  // `bytes` alone, whatever is in them.
  SoundPlaces(Bytes bytes, std::size_t frame, bool may_cross, const Wire& wire, MayBegin may_begin);

  // The first place at `from` or behind it from where fragments lead to the end of the frame or of the file, or into
  // the next frame, and where no record begins that may not; nullopt when there is none.
  std::optional<std::size_t> next(std::size_t from) const;

  // How many bytes the fragment at `at` takes if its length alone is wrong: those that its checksum matches, if a sound
  // fragment stands behind them, or zeros to the end of the frame, or too few bytes for a header. nullopt when there is
  // no such number, or no header. `frame_size`: of the whole frame, where the file has less of it.
  std::optional<std::size_t> size_by_checksum(std::size_t at, std::size_t frame_size) const;

 private:
  std::uint32_t sum(std::size_t begin, std::size_t end) const;

  bool is_plain_;  // CRC-32
  std::size_t frame_;
  std::size_t zeros_from_;              // where the zeros begin with which the frame ends
  std::vector<std::uint32_t> behind_;   // of the CRC that begins with 0: its state behind so many bytes
  std::vector<std::uint32_t> stored_;   // the checksum, should a fragment begin at a place
  std::vector<std::uint32_t> sound_;    // places of fragments, ascending
  std::vector<std::uint32_t> leading_;  // those of them from where fragments lead on
};

}  // namespace recordfs::leveldb_log
