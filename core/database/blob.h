// Values that RocksDB stores apart from their keys, in blob files.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/base/buffer.h"
#include "core/base/bytes.h"
#include "core/base/result.h"
#include "core/database/state.h"

namespace recordfs::database {

// Where a value is, as a table or a log stores it.
struct BlobPlace {
  std::optional<Bytes> value;  // the value itself, stored here
  std::uint64_t file = 0;      // number of the blob file; 0: the table that has the entry
  std::uint64_t begin = 0;
  std::uint64_t size = 0;        // as stored
  std::uint8_t compression = 0;  // 0: none
};

// Returns nullopt for bytes that are no such place.
std::optional<BlobPlace> parse_blob_place(Bytes stored);

// Returns the stored form of the place of `size` bytes at `begin` of a blob file.
std::string blob_place(std::uint64_t file, std::uint64_t begin, std::uint64_t size, std::uint8_t compression);

// Returns the size of the value at a place; nullopt if only reading it tells, or for an invalid place.
std::optional<std::uint64_t> size_in_blob_file(Bytes stored);

// Returns the value at the place in `stored`, which belongs to `key`. `file` is that of the entry, which may have the
// value itself. Verifies its checksum. Fails with kDamage, kNotFound (no such file), kUnsupported (its compression),
// kLimit, and as Source.
Result<Slice> read_blob(const RequestContext& context, const State& state, Bytes stored, Bytes key,
                        const std::string& file);

}  // namespace recordfs::database
