// Everything known about a file at open: its header, the positions of metadata and offsets, the number and the order
// of its chunks. Reads headers and offsets, but no chunk.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/result.h"
#include "core/base/source.h"
#include "core/codec/blosc.h"
#include "core/formats/bloscpack/offsets.h"
#include "core/formats/bloscpack/wire.h"
#include "core/formats/container.h"

namespace recordfs::bloscpack {

// How chunks are found.
enum class Order : std::uint8_t {
  kNone,      // there are no chunks to find
  kChain,     // each begins where the previous one ends
  kAnchored,  // the same, with ascending offsets as fixed points
  kItems,     // each at its offset, in any order
};

struct Survey {
  // Adds a region of damage, as far as it is inside the file.
  void report(Position begin, Position end, DamageClass damage_class, std::optional<std::uint64_t> lost,
              std::string why);
  // Marks everything after the headers as uninterpretable.
  void refuse(Code code, Position at, std::string why) { refusal = Error{code, at, std::move(why)}; }

  std::uint64_t file_size = 0;
  FileHeader header;
  std::optional<Error> refusal;  // why nothing after the header can be interpreted

  Position metadata_begin = 0;  // of its stored bytes
  std::optional<MetadataHeader> metadata;

  Order order = Order::kNone;
  Position first_chunk = 0;
  std::optional<std::uint64_t> count;  // of the chunks; nullopt: read until the end
  Position offsets_begin = 0;
  std::uint64_t offsets = 0;          // number of offsets that belong to chunks
  bool rest_is_slack = false;         // bytes after the last chunk
  bool gaps_are_slack = false;        // bytes between two chunks
  std::vector<DamagedRegion> damage;  // in the headers and the offsets, in file order
};

// The result of examining a position where a chunk may begin.
struct Look {
  std::optional<BloscHeader> header;  // nullopt: no chunk, for the reason in `why`
  Position end = 0;                   // of the chunk including its checksum
  Error why;
};

// REQUIRES: `survey` has the file's header. Fails only as Source does. Any thread.
Result<Look> look_at(const RequestContext& context, const Source& source, const Survey& survey, Position at);

// Fails only as Source does.
Result<Survey> survey(const RequestContext& context, const Source& source);

}  // namespace recordfs::bloscpack
