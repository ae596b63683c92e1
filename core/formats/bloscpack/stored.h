// The stored bytes of a chunk, and their verification. Any thread.
#pragma once

#include <memory>
#include <optional>

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

// Returns an error about the chunk. Errors from inside the chunk get its position.
Error at_chunk(Error error, const ChunkInfo& info);

}  // namespace recordfs::bloscpack
