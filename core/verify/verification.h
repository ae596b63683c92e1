// Verification: reads and checks a whole container, and formats the result.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/impact.h"
#include "core/dataset/missing_shards.h"
#include "core/decoding/json_writer.h"
#include "core/store/record_store.h"
#include "core/store/scanner.h"

namespace recordfs {

// Increment it when a new check is added. Files that passed an older version are then read again.
inline constexpr unsigned kVersionOfChecks = 3;

// The class of a finding that something was not checked: memory was short, or there are no checksums.
inline constexpr std::string_view kUnchecked = "unchecked";
// That of a finding that something could not be read this time, and nothing is known about it.
inline constexpr std::string_view kUnreadable = "unreadable";

// A fault in part of a container.
struct Finding {
  Position begin = 0;
  std::optional<Position> end{};  // nullopt: unknown
  std::string_view word;          // "damage", "unfinished", "stale", "unsupported", kUnreadable, kUnchecked
  std::string reason;
  std::optional<std::uint64_t> records_lost{};
  std::uint64_t least_lost{};          // if records_lost is unknown
  std::uint64_t chunks_unchecked = 0;  // with kUnchecked; 0: metadata or headers
  bool is_region = false;              // reported by a scan; false: a chunk or record that cannot be read
  bool exceeds_limit = false;          // not a region
  bool is_of_whole_file = false;       // found by check_database(): `word` is "missing", "surplus", "wrong size", ...
  Impact impact = Impact::kNone;
};

// Returns the finding for an error that is not about a whole region.
Finding finding_of(const Error& error);
// Returns the finding for a damaged region, and for a chunk of which `records` cannot be read; nullopt: unknown.
Finding finding_of(const DamagedRegion& region);
Finding finding_of(const Error& error, const ChunkInfo& chunk, std::optional<std::uint64_t> records);

// Returns a finding of the whole file.
Finding finding_of_file(std::string_view word, std::string reason, Impact impact);

// Returns a line of JSON about what was not read of a file: file, begin, end, class, reason and records_lost;
// records_lost_at_least if that is all that is known.
std::string skipped_line(const std::string& path, const Finding& finding);
// Return such lines about missing shards, and about a surplus shard.
std::string skipped_line(const MissingShards& missing);
std::string surplus_line(const std::string& path);

// Returns "bytes 10 to 20: damage: checksum mismatch; 3 records lost", "byte 10: the chunk is too short; 5 records
// lost", "byte 10: no memory for 20 bytes; 3 chunks not checked".
std::string to_string(const Finding& finding);

struct Verdict {
  std::uint64_t chunks = 0;
  std::uint64_t records = 0;           // read completely
  std::uint64_t bytes = 0;             // of these records
  std::uint64_t without_checksum = 0;  // of these records, those that no checksum covers
  std::vector<Finding> findings{};
  bool was_stopped = false;  // by `goes_on`; the result is incomplete
};

// Returns the finding that records have no checksums; nullopt if all have.
std::optional<Finding> finding_without_checksums(const Verdict& verdict);

// Looks at a chunk that was read; null: it cannot be. Called on any thread. Returns what remains to do on the calling
// thread, in the container's order, or an empty function. May throw std::bad_alloc.
using ObserveChunk =
    std::function<std::function<void()>(const RequestContext&, const IndexedChunk& indexed, const Chunk* chunk)>;

// Reads every chunk, record, metadata, and trailer. Uses `threads`, the calling one included, and about `memory` bytes.
// Calls `goes_on` on the calling thread, with the number of file bytes processed since the last call; false stops.
// Passes each chunk to `observe`, if it is not empty.
Verdict verify(const RecordStore& store, unsigned threads, std::uint64_t memory,
               const std::function<bool(std::uint64_t bytes)>& goes_on, const ObserveChunk& observe = {});

// The result for one file.
struct Outcome {
  std::string path;
  std::string_view format{};  // empty: unknown
  std::optional<std::uint64_t> size{};
  std::optional<Verdict> verdict{};      // nullopt: not read
  std::optional<Error> failure{};        // could not be opened or listed
  std::optional<std::int64_t> passed{};  // when it passed (seconds since 1970), unchanged since then
  bool is_ignored = false;               // below a directory and not a container, or interrupted
  bool is_removed = false;               // below a directory, since that was listed
  bool may_be_empty = false;             // a file that its database has just created

  // Returns "good", "empty" (no bytes), "damaged", "unreadable", "unsupported", or "unchecked" (memory was short).
  std::string_view state() const;
  Impact impact() const;
};

// Counts the results of several files.
struct OutcomeCounts {
  std::uint64_t read = 0, passed_earlier = 0, bytes = 0;
  std::map<std::string_view, std::uint64_t> files{};  // by Outcome::state()

  void add(const Outcome& outcome);
  // Returns "3 files: 2 read (17 bytes), 1 unchanged since they passed; 1 damaged, ...".
  std::string text() const;
};

// Returns a line for each finding that has an impact or is of the whole file, or for an empty file. A good file
// has none.
std::string findings_text(const Outcome& outcome);

// Return one JSON object and a newline. That of missing shards has the status "missing"; that of a surplus shard, of
// which `missing` is null, has "surplus".
std::string outcome_json(const Outcome& outcome);
std::string unread_json(const std::string& path, const MissingShards* missing);

}  // namespace recordfs
