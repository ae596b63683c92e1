// What stands behind the records of an ArrayRecord file: the footer and the postscript. FORMAT.md, "Footer".
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "core/base/limits.h"
#include "core/base/result.h"
#include "core/base/source.h"
#include "core/formats/array_record/layout.h"
#include "core/formats/container.h"

namespace recordfs::array_record {

struct Ending {
  Position footer = 0;      // where the footer's chunk begins
  Position postscript = 0;  // where the postscript's block begins; the end of the file, or of what is left, without one
  bool has_postscript = false;
  FooterHead head;
  // Where each chunk of records begins, in file order: 16 bytes each, the one thing about a container that grows with
  // the file.
  std::vector<IndexEntry> index;
  std::optional<Error> flaw;  // why the footer can't be believed, head and index are empty then
};

// Whether a chunk of records is the footer or the postscript of an ArrayRecord file, by what is in it, wherever it
// stands. Fails as Source does, and with kOutOfMemory.
enum class EndingPart : std::uint8_t { kNone, kFooter, kPostscript };
Result<EndingPart> part_of_ending(const Source& source, const Container& riegeli, const ChunkInfo& chunk);

// The ending of a file; nullopt where there is none. What is an ending does not go by limits that are lower than the
// defaults. Fails as Source does, and with kOutOfMemory.
Result<std::optional<Ending>> find_ending(const Source& source, const Limits& limits);

}  // namespace recordfs::array_record
