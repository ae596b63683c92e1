// The explicit list of formats, and the choice of the format for a file.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "core/base/limits.h"
#include "core/base/result.h"
#include "core/base/source.h"
#include "core/formats/container.h"

namespace recordfs {

// How far probe() may read.
enum class ProbeDepth : std::uint8_t {
  kHead,    // only the first and last 64 KiB of the source, cheap enough for a listing of a directory
  kSearch,  // also searches for valid data after a damaged head, within Limits::scan_bytes
};

// A bid, in bits, that decides at once: later formats in the list are not probed.
constexpr int kBeyondDoubt = 128;

struct Format {
  std::string_view name;
  // Returns how many bits of evidence indicate this format: 0 is a refusal, 1 a known name of an empty file, 32 a
  // matching checksum. `file_name` has no directories. Fails only as Source does.
  Result<int> (*probe)(const RequestContext& context, const Source& source, std::string_view file_name,
                       ProbeDepth depth);
  // Opens a source. Fails with kNoContainer if it is not of this format, and as Source does.
  Result<std::unique_ptr<Container>> (*open)(const RequestContext& context, std::shared_ptr<const Source> source,
                                             const Limits& limits);
  // Base format: every file of this format is also a valid file of `built_on`, which must be listed later. It reads
  // damaged files that are no longer recognized as this format. Empty if there is none.
  std::string_view built_on{};
  // Endings of names that files of other kinds hardly have, separated by spaces.
  std::string_view suffixes{};
  // Whether open() reads the end of the source: a hint for sources to which each read is a request.
  bool opens_from_end = false;
};

// Returns all formats of this build.
std::span<const Format> formats();

// Returns the format with the highest bid, or the first one that bids kBeyondDoubt. Searches only if no format
// recognizes the head. Fails with kNoContainer, with a readable reason.
Result<const Format*> probe(const RequestContext& context, const Source& source, std::string_view file_name,
                            ProbeDepth depth);

// Returns whether a name ends as those of a format do, apart from "-00017-of-00128", ".gz" and ".zlib" at its end. For
// listings of files that cost much to read: the file itself may still be of another kind.
bool has_container_name(std::string_view file_name);

// Returns whether a name ends as those of a format do, apart from the same. False if the format has no endings.
bool has_name_of(const Format& format, std::string_view file_name);

// Probes with a search, and opens.
Result<std::unique_ptr<Container>> open_container(const RequestContext& context, std::shared_ptr<const Source> source,
                                                  std::string_view file_name, const Limits& limits);

}  // namespace recordfs
