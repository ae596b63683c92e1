// What is known of a file at open: its header, where its metadata and its offsets stand, where its chunks begin, how
// many there are, and in which way they are found. Reads headers and the offsets, no chunk.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/source.h"
#include "core/codec/blosc.h"
#include "core/formats/bloscpack/offsets.h"
#include "core/formats/bloscpack/wire.h"
#include "core/formats/container.h"

namespace recordfs::bloscpack {

// What stands at a place where a chunk may begin.
struct Look {
  std::optional<BloscHeader> header;  // nullopt: no chunk, `why` says why
  Position end = 0;                   // of the chunk and its checksum
  Error why;
};

// Fails only as Source does. Any thread.
Result<Look> look_at(const Source& source, Position at, std::size_t digest_bytes);

// How chunks are found.
enum class Order : std::uint8_t {
  kNone,      // there is nothing to be found
  kChain,     // each begins where the one before ends
  kAnchored,  // the same, and offsets that ascend name places that it passes
  kItems,     // each where its offset says, in any order
};

struct Survey {
  FileHeader header;
  std::optional<Error> refusal;  // why nothing can be told of what follows

  Position metadata_begin = 0;  // of what is stored of it
  std::optional<MetadataHeader> metadata;

  Order order = Order::kNone;
  Position first_chunk = 0;
  std::optional<std::uint64_t> count;  // of the chunks; nullopt: as many as there are
  Position offsets_begin = 0;
  std::uint64_t offsets = 0;          // that speak of chunks
  bool rest_is_slack = false;         // behind the last chunk
  bool gaps_are_slack = false;        // between two chunks
  std::vector<DamagedRegion> damage;  // in the headers and the offsets, in file order
};

// Fails only as Source does.
Result<Survey> survey(const Source& source);

}  // namespace recordfs::bloscpack
