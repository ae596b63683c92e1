// The stored bytes of a chunk: verified as a whole, then read on demand. Any thread.
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

// The position of a chunk and the checksum that verifies it.
struct Stored {
  std::shared_ptr<const Source> source;
  ChunkInfo info;
  std::optional<DigestId> digest;  // nullopt: no checksum
};

// Verifies the checksum in pieces of bounded size. Fails with kDamage, and as Source does.
Result<void> verify_stored(const Stored& stored);

// Returns the header, which must match the one found by the scan. Fails with kDamage, as check_blosc() does, and as
// Source does.
Result<BloscHeader> read_header(const Stored& stored);

// Returns all stored bytes without the checksum, verified. The caller has checked the size against Limits.
Result<Buffer> read_verified(const Stored& stored);

// Reads bytes of a verified chunk. Repeats each read until the bytes are known to be those that were verified. Fails
// with kChanged if the file keeps changing.
class Verified {
 public:
  // `generation` is the source's generation before verify_stored() succeeded.
  Verified(Stored stored, std::uint64_t generation) : stored_(std::move(stored)), generation_(generation) {}

  const Stored& stored() const { return stored_; }
  Result<Buffer> read(std::uint64_t offset, std::uint64_t length) const;

 private:
  const Stored stored_;
  mutable std::atomic<std::uint64_t> generation_;
};

// Returns an error about the chunk. Errors from inside the chunk get its position.
Error at_chunk(Error error, const ChunkInfo& info);

}  // namespace recordfs::bloscpack
