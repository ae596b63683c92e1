// Reads the headers of buckets. FORMAT.md, "Scan".
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/base/limits.h"
#include "core/base/protobuf.h"
#include "core/base/request_context.h"
#include "core/base/result.h"
#include "core/base/source.h"
#include "core/base/windowed_reader.h"
#include "core/formats/container.h"

namespace recordfs::proio {

struct BucketHeader {
  Position begin = 0;    // position of the magic
  Position payload = 0;  // position after the header
  std::uint64_t events = 0;
  std::uint64_t stored = 0;  // bucketSize: bytes of payload as stored
  std::uint32_t compression = 0;
  bool has_attributes = false;  // descriptors or metadata
};

// Sets the number of a header that the field is. Returns whether it is one.
bool set_number(const protobuf::Field& field, BucketHeader& header);

// The result of reading a header where a bucket may begin.
struct HeaderReading {
  enum class Verdict : std::uint8_t {
    kSound,
    kTorn,    // the file ends inside a header that is valid so far
    kBroken,  // no bucket begins here
  };
  Verdict verdict = Verdict::kBroken;
  BucketHeader header;             // set for kSound
  std::vector<DamagedRegion> bad;  // unreadable items of a kSound header
  std::string reason;              // set for kTorn and kBroken
  Position search_from = 0;        // for kTorn and kBroken: where a search may start
  Position cut_item = 0;           // for kTorn: start of the content of the cut-off item, or 0
};

// The position of the content of a descriptor or of a metadata entry.
struct HeaderItem {
  std::uint32_t field = 0;
  Position begin = 0;
  std::uint64_t size = 0;
};
using ItemVisitor = std::function<Result<void>(const HeaderItem&)>;

// The most "stray" fields in a header: fields after the first unknown one, and fields in groups. A search cannot skip
// them. Where a bucket is due, many are allowed. What a search finds is usually not a header, and may lead over the
// same fields again and again.
inline constexpr std::uint64_t kStraysOfADueHeader = 1 << 20;

// Reads the header at `at`. Calls `visit` for each readable item in order, before the header is known to be
// valid. Fails as
// Source and `visit` do. Thread-safe if each thread has its own window. REQUIRES: `at` is in the file.
Result<HeaderReading> read_header(const RequestContext& context, WindowedReader& window, Position at,
                                  const Limits& limits, const ItemVisitor& visit = {},
                                  std::uint64_t most_strays = kStraysOfADueHeader);

// The window size for reading a header, in bytes.
inline constexpr std::uint64_t kHeaderWindow = 4096;

// Returns whether the bytes from `begin` to the end of the file may be a truncated message: complete fields, and one
// that the file cuts off. Examines only a limited number of fields. Fails as Source does. Thread-safe.
Result<bool> may_be_cut_message(const RequestContext& context, const Source& source, Position begin,
                                const Limits& limits);

}  // namespace recordfs::proio
