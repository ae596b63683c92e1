// A bucket's header, read field by field: descriptors and metadata can be large, and the walk passes them by.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/limits.h"
#include "core/base/result.h"
#include "core/base/source.h"
#include "core/formats/container.h"
#include "core/formats/proio/window.h"

namespace recordfs::proio {

struct BucketHeader {
  Position begin = 0;    // of the magic
  Position payload = 0;  // behind the header
  std::uint64_t events = 0;
  std::uint64_t stored = 0;  // bucketSize: bytes of payload as stored
  std::uint32_t compression = 0;
  bool has_attributes = false;  // descriptors or metadata
};

// What stands where a bucket may begin.
struct HeaderReading {
  enum class Verdict : std::uint8_t {
    kSound,
    kTorn,    // the file ends inside what is a bucket's header so far
    kBroken,  // no bucket begins here
  };
  Verdict verdict = Verdict::kBroken;
  BucketHeader header;             // of a sound one
  std::vector<DamagedRegion> bad;  // entries of a sound header's metadata that can't be read
  std::string reason;              // of one that is not sound
  Position search_from = 0;        // of one that is not sound: what stands before belongs to it, or to nothing
  Position cut_item = 0;           // of a torn one: where the content of the item begins in which the file ends, or 0
};

// Where the content of a descriptor or of an entry of the metadata stands.
struct HeaderItem {
  std::uint32_t field = 0;
  Position begin = 0;
  std::uint64_t size = 0;
};
using ItemVisitor = std::function<Result<void>(const HeaderItem&)>;

// How many fields a header may have that lead to no place behind which a search would go on: those behind its first
// unknown one, and those in groups. Where a bucket is due they may be many. What a search comes by mostly is no header,
// and may lead over the same fields again and again.
inline constexpr std::uint64_t kStraysOfADueHeader = 1 << 20;
inline constexpr std::uint64_t kStraysOfAFoundHeader = 32;

// Reads what stands at `at`, which is in the file, and shows `visit` the items of a header one after the other, before
// it is known whether the header is sound. Fails as Source and `visit` do. Any thread, each with its own window.
Result<HeaderReading> read_header(Window& window, Position at, const Limits& limits, const ItemVisitor& visit = {},
                                  std::uint64_t most_strays = kStraysOfADueHeader);

// Whether what stands from `begin` up to the end of the file may be a message that was cut off: whole fields, and one
// in which the file ends. Looks at some of the first fields alone. Fails as Source does. Any thread.
Result<bool> may_be_cut_message(const Source& source, Position begin, const Limits& limits);

// The window that a header is read through.
inline constexpr std::uint64_t kHeaderWindow = 4096;

}  // namespace recordfs::proio
