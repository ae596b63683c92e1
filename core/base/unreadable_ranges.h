// The bytes of a source that cannot be read, such as the bad sectors of a disk.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/request_context.h"
#include "core/base/result.h"

namespace recordfs {

class Source;

// The bytes [begin, end) of a source, and the errno of the reads that failed.
struct UnreadableRange {
  Position begin = 0;
  Position end = 0;
  int os_error = 0;

  // Returns kUnreadable with "bytes 8192 to 12288 cannot be read: Input/output error", at the range's first byte.
  Error error() const;
};

// Returns whether a read failed because of these bytes, so that other bytes of the source may be readable.
bool is_of_bytes(const Error& error);

// Returns the first range of bytes that cannot be read, after a read of [begin, end) has failed; nullopt if all of them
// can be read now. The range may extend past `end`. Reads few blocks, because each failing read may take seconds: the
// distance doubles until a block can be read, and is then halved. So a range may include readable blocks between others
// that are not. Fails as Source does, for other reasons than these bytes. REQUIRES: begin < end <= source.size().
Result<std::optional<UnreadableRange>> find_unreadable(const RequestContext& context, const Source& source,
                                                       Position begin, Position end);

// The known ranges of a source, so that no byte fails twice. Thread-safe.
class UnreadableRanges {
 public:
  // Returns the first range that overlaps the bytes [begin, end).
  std::optional<UnreadableRange> first_in(Position begin, Position end) const;
  // Returns the error of the first of these ranges; it says how many more there are. nullopt: there is none.
  std::optional<Error> error_in(Position begin, Position end) const;
  // Adds a range; joins it with those that it touches.
  void add(UnreadableRange range);

 private:
  mutable std::mutex mutex_;
  std::vector<UnreadableRange> ranges_;  // guarded by mutex_; ordered, apart
};

// What WindowedSource reads instead of unreadable bytes in a context with RequestContext::fills_unreadable(). Ends no
// varint, is an impossible length in each integer type, and no format takes it for its own structures.
inline constexpr std::byte kUnreadableFill{0xE7};

}  // namespace recordfs
