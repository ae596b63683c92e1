#include "core/formats/proio/wire.h"

namespace recordfs::proio {
namespace {

// The most empty events (only a length each) that one stored byte can decompress to.
constexpr std::uint64_t kGzipEventsPerByte = 1032 / kEventLengthSize;
constexpr std::uint64_t kLz4EventsPerByte = 256 / kEventLengthSize;
constexpr std::uint64_t kLzmaEventsPerByte = 8192 / kEventLengthSize;

std::uint64_t times(std::uint64_t a, std::uint64_t b) {
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
  return a > kMost / b ? kMost : a * b;
}

}  // namespace

std::string_view name_of_compression(std::uint32_t compression) {
  switch (compression) {
    case kCompressionNone: return "none";
    case kCompressionGzip: return "gzip";
    case kCompressionLz4: return "lz4";
    case kCompressionLzma: return "lzma";
    default: return "unknown";
  }
}

std::uint64_t most_events(std::uint32_t compression, std::uint64_t stored) {
  switch (compression) {
    case kCompressionNone: return stored / kEventLengthSize;
    case kCompressionGzip: return times(stored, kGzipEventsPerByte);
    case kCompressionLz4: return times(stored, kLz4EventsPerByte);
    case kCompressionLzma: return times(stored, kLzmaEventsPerByte);
    default: return std::numeric_limits<std::uint64_t>::max();
  }
}

}  // namespace recordfs::proio
