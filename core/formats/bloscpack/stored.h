// The bytes of a chunk in the file: verified as a whole, then read where they are asked for. Any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "core/base/limits.h"
#include "core/base/source.h"
#include "core/codec/blosc.h"
#include "core/formats/container.h"
#include "core/hash/digest.h"

namespace recordfs::bloscpack {

// Where a chunk stands, and what it is verified with.
struct Stored {
  std::shared_ptr<const Source> source;
  ChunkInfo info;
  std::optional<DigestId> digest;  // nullopt: nothing covers it
};

// Checks the checksum in pieces of bounded size. Fails with kDamage, and as Source does.
Result<void> verify_stored(const Stored& stored);

// The header, which has to be the one that the walk has found. Fails with kDamage, as check_blosc() does, and as Source
// does.
Result<BloscHeader> read_header(const Stored& stored);

// All stored bytes without the checksum, which they are verified with. The caller has checked the size against Limits.
Result<Buffer> read_verified(const Stored& stored);

// Reads bytes of the chunk from `offset` on with `read`, again and again until they are known to be those that were
// verified: `verified` is the source's generation before that. Fails with kChanged when the file keeps changing.
class Verified {
 public:
  // `verify_stored` has succeeded since the source had this generation.
  Verified(Stored stored, std::uint64_t generation) : stored_(std::move(stored)), generation_(generation) {}

  const Stored& stored() const { return stored_; }
  Result<Buffer> read(std::uint64_t offset, std::uint64_t length) const;

 private:
  const Stored stored_;
  mutable std::atomic<std::uint64_t> generation_;
};

// An error about the chunk, or one from inside of it with its position.
Error at_chunk(Error error, const ChunkInfo& info);

}  // namespace recordfs::bloscpack
