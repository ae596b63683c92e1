// Finds the next record after damage in an uncompressed file. FORMAT.md, "Damage".
#pragma once

#include <cstdint>
#include <optional>

#include "core/base/result.h"
#include "core/base/source.h"

namespace recordfs::tfrecord {

struct Found {
  enum class Kind : std::uint8_t {
    kRecord,   // one begins at `at`
    kLater,    // none begins before `at`; the search can continue there
    kNothing,  // none before the end of the file
  };
  Kind kind = Kind::kNothing;
  Position at = 0;
};

// Finds the first record at or after `from` whose length and data both match their checksums. Reads about `budget`
// bytes, and the data of the record that it finds. Fails as Source does. Any thread.
Result<Found> search(const Source& source, Position from, std::uint64_t budget);

// Returns the end of the record at `at`, whose header does not match its checksum. The end is known if one byte of
// the header is wrong, and a record, the file's end or matching data confirm it; otherwise nullopt. Fails as Source
// does. Any thread.
Result<std::optional<Position>> end_of_damaged(const Source& source, Position at);

// Detects deleted bytes in the record at `at`, whose header is valid, but after whose end at `end` there is no
// header. Returns the first record inside it from which records continue past `end`. Returns nullopt if its length
// appears to be right. Fails as Source does. Any thread.
Result<std::optional<Position>> cut_short_at(const Source& source, Position at, Position end);

}  // namespace recordfs::tfrecord
