// Verification: reads and checks all of one container.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/store/record_store.h"

namespace recordfs {

// Grows when something is checked that was not before: what passed under a lower number is read again.
inline constexpr unsigned kVersionOfChecks = 1;

// The class of a finding for a shortage of memory. It does not describe the file.
inline constexpr std::string_view kUnchecked = "unchecked";

// What is wrong with a stretch of a container.
struct Finding {
  Position begin = 0;
  std::optional<Position> end{};  // nullopt: nobody can tell
  std::string_view word;          // "damage", "unfinished", "stale", "unsupported", "unreadable", kUnchecked
  std::string reason;
  std::optional<std::uint64_t> records_lost{};
  std::uint64_t chunks_unchecked = 0;  // of kUnchecked; 0: metadata or headers were not checked
  bool is_region = false;              // told by a scan; otherwise a chunk that can't be read, or a part of it
  int status = 0;                      // what it means for the exit status; 0: nothing
};

// "bytes 10 to 20: damage: checksum mismatch; 3 records lost", "byte 10: the chunk is too short; 5 records lost",
// "byte 10: no memory for 20 bytes; 3 chunks not checked".
std::string to_string(const Finding& finding);

struct Verdict {
  std::uint64_t chunks = 0;
  std::uint64_t records = 0;  // that were read whole
  std::uint64_t bytes = 0;    // of these
  std::vector<Finding> findings{};
  bool was_stopped = false;  // `goes_on` said so: nothing is known
};

// Scans the container and decodes every chunk; reads every byte of every record, the metadata and the trailer.
// `threads` work beside the calling one, in about `memory` bytes. `goes_on` is told how many bytes of the file were
// dealt with since the last time; false stops.
Verdict verify(const RecordStore& store, unsigned threads, std::uint64_t memory,
               const std::function<bool(std::uint64_t bytes)>& goes_on);

}  // namespace recordfs
