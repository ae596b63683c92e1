// The end of an ArrayRecord file after its records: the footer and the postscript. FORMAT.md, "Footer and chunks".
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "core/base/limits.h"
#include "core/base/result.h"
#include "core/base/source.h"
#include "core/formats/array_record/messages.h"
#include "core/formats/container.h"

namespace recordfs::array_record {

struct Ending {
  Position footer = 0;  // position of the footer's chunk
  // The position of the postscript's block; without a postscript the end of the file or of its readable part
  Position postscript = 0;
  bool has_postscript = false;
  FooterHead head;
  // The position of each chunk of records, in file order: 16 bytes each. This is the only memory of a container that
  // grows with the file.
  std::vector<IndexEntry> index;
  std::optional<Error> flaw;  // why the footer cannot be used; head and index are then empty
};

// Determines from its content whether a chunk of records is the footer or the postscript of an ArrayRecord file, at any
// position. Fails as Source does, and with kOutOfMemory.
enum class EndingPart : std::uint8_t { kNone, kFooter, kPostscript };
Result<EndingPart> part_of_ending(const RequestContext& context, const Source& source, const Container& riegeli,
                                  const ChunkInfo& chunk);

// kPresence: the index may be empty, and its entries are not verified.
enum class EndingDetail : std::uint8_t { kPresence, kIndex };

// Finds the ending of a file; nullopt if there is none. The result does not depend on limits below the defaults. Fails
// as Source does, and with kOutOfMemory.
Result<std::optional<Ending>> find_ending(const RequestContext& context, const Source& source, const Limits& limits,
                                          EndingDetail detail);

// Reads [begin, end) of a source on which each read takes long, so that reads of parts need no requests of their own.
// They also find what cannot be read.
void fetch(const RequestContext& context, const Source& source, Position begin, Position end);

}  // namespace recordfs::array_record
