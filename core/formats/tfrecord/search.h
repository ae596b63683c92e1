// The way from a damaged place of a plain file to the next record. FORMAT.md, "Damage".
#pragma once

#include <cstdint>
#include <optional>

#include "core/base/result.h"
#include "core/base/source.h"

namespace recordfs::tfrecord {

struct Found {
  enum class Kind : std::uint8_t {
    kRecord,   // one begins at `at`
    kLater,    // none before `at`; the search may go on there
    kNothing,  // none up to the end of the file
  };
  Kind kind = Kind::kNothing;
  Position at = 0;
};

// The first place from `from` on where a record stands: a length and data, both with checksums that match. Reads about
// `budget` bytes, and the data of the record that it finds. Fails as Source does. Any thread.
Result<Found> search(const Source& source, Position from, std::uint64_t budget);

// Where the record at `at` ends, whose header does not match its checksum: if the header is right but for a byte, and
// what it leads to is. nullopt otherwise. Fails as Source does. Any thread.
Result<std::optional<Position>> end_of_damaged(const Source& source, Position at);

// Where the record at `at`, whose header is sound and whose data end at `end`, where no header stands, was cut short:
// the first record inside it from where records lead over its end, as they do where bytes of it are missing. nullopt
// where its length is right for all that can be told. Fails as Source does. Any thread.
Result<std::optional<Position>> cut_short_at(const Source& source, Position at, Position end);

}  // namespace recordfs::tfrecord
