// Decompression. A codec reads untrusted bytes and never writes outside the buffer it is given. Thread-safe: the only
// shared state is per-thread contexts.
//
// Errors:
// kDamage if a stream is invalid, too short, too long, or does not use all stored bytes;
// kLimit if the output exceeds the limit, or a stream requires more memory than allowed;
// kUnsupported if this build lacks the library, or a stream requires a preset dictionary or a later version;
// kOutOfMemory.
//
// Positions in errors are 0. The caller adds the position of the stream.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/buffer.h"
#include "core/base/bytes.h"
#include "core/base/result.h"

namespace recordfs {

enum class CodecId : std::uint8_t {
  kNone,
  kZstd,      // zstd frames and skippable frames, back to back
  kBrotli,    // one Brotli stream, large windows included
  kSnappy,    // raw Snappy block
  kDeflate,   // one raw deflate stream (RFC 1951), which has no checksum
  kZlib,      // one deflate stream with a header and Adler-32 (RFC 1950)
  kGzip,      // gzip members (RFC 1952) back to back, each checked against its CRC-32 and length
  kLz4Frame,  // LZ4 frames and skippable frames, back to back; no bare blocks, no legacy frames
  kLzma,      // one stream of the legacy .lzma format, with a stated size or an end mark; not .xz
  kXz,        // one .xz stream, checked as it states; a check that liblzma lacks is unsupported
  kBzip2,     // bzip2 streams back to back, each block checked against its CRC-32
};

// Returns "none", "zstd", ... The result has static storage.
std::string_view to_string(CodecId codec);

// Returns whether this build can decompress `codec`.
bool is_available(CodecId codec);

// Returns whether `head` begins with the header of a zlib stream: its method, and the check of its first two bytes (RFC
// 1950).
bool begins_zlib(Bytes head);

// How to treat bytes after the end of a compressed stream.
enum class Tail : std::uint8_t { kDamage, kIgnored };

// The default for `memory` below: the largest zstd window or LZMA dictionary that a stream may allocate, in bytes. A
// header alone requests that memory, before any output. Larger requests fail with kLimit. A zstd frame whose content is
// smaller than its window counts with its content size. The default suits the largest settings of common writers.
inline constexpr std::uint64_t kStreamMemory = std::uint64_t{128} << 20;

// Decompresses all of `stored` into all of `out`. Fails with kDamage unless exactly out.size() bytes come out and all
// of `stored` is used. zstd needs no window for this.
Result<void> decompress_into(const RequestContext& context, CodecId codec, Bytes stored, MutableBytes out);

// Decompresses all of `stored`. Fails with kLimit if more than `limit` bytes come out. `expected` is a guess of the
// output size that avoids reallocation. It is trusted only as far as is_plausible() allows.
Result<Buffer> decompress(const RequestContext& context, CodecId codec, Bytes stored, std::uint64_t expected,
                          std::uint64_t limit, std::uint64_t memory = kStreamMemory);

// Decompresses `stored` into exactly `size` bytes. `tail` controls whether bytes may follow the end of the stream. Any
// other output size is kDamage, never kLimit. Allocates `size` bytes at once if is_plausible() allows it, otherwise as
// output appears. REQUIRES: the caller has checked `size` against Limits.
Result<Buffer> decompress_exactly(const RequestContext& context, CodecId codec, Bytes stored, std::uint64_t size,
                                  Tail tail = Tail::kDamage, std::uint64_t memory = kStreamMemory);

// Returns how many bytes decompress() would produce, using bounded memory. Fails as decompress() does.
Result<std::uint64_t> decompressed_size(const RequestContext& context, CodecId codec, Bytes stored,
                                        std::uint64_t limit);

// Returns whether `size` bytes may be allocated for `stored_size` stored bytes, if only a header states `size`.
bool is_plausible(std::uint64_t stored_size, std::uint64_t size);

// The result of decompress_front().
struct Front {
  Buffer content;
  std::size_t used;  // stored bytes that the stream used
};

// As decompress(), but ignores bytes after the end of the compressed stream. Bytes that begin like another frame or
// member must be a valid one. Snappy and kNone have no end mark and use all of `stored`.
Result<Front> decompress_front(const RequestContext& context, CodecId codec, Bytes stored, std::uint64_t expected,
                               std::uint64_t limit);

// Decompresses all of `stored`, zstd frames that may need a dictionary, into exactly `size` bytes. The dictionary may
// have zstd's form or be any bytes. Fails as decompress_into(). REQUIRES: the caller has checked `size` against Limits.
Result<Buffer> decompress_zstd_with(const RequestContext& context, Bytes dictionary, Bytes stored, std::uint64_t size);

// The same for a raw deflate stream that continues after the dictionary.
Result<Buffer> decompress_deflate_with(const RequestContext& context, Bytes dictionary, Bytes stored,
                                       std::uint64_t size);

// Returns the content size in a zstd frame header, or nullopt if the header states none or `head` is too short. Reads
// at most 18 bytes of `head`.
std::optional<std::uint64_t> zstd_content_size(Bytes head);

// Returns how many bytes of `stored` the first zstd frame occupies, judging by headers only. A skippable frame counts
// as a frame. Returns nullopt if no complete frame begins there. For formats that allow one frame only.
std::optional<std::uint64_t> zstd_frame_size(Bytes stored);

// A forward-only reader of one compressed stream, for callers that need only its beginning. Not thread-safe.
class DecodeStream {
 public:
  virtual ~DecodeStream() = default;
  // Fills `out` and returns the number of bytes produced: out.size(), or less at the end of the stream.
  //
  // The end of the stream must also be the end of the stored bytes, unless the stream was opened with Tail::kIgnored.
  //
  // Fails with kDamage, kLimit (too much memory required), kUnsupported and kOutOfMemory; all later calls then fail
  // too. Also fails as RequestContext::spend(), which is called before each piece of a large read.
  virtual Result<std::size_t> read(const RequestContext& context, MutableBytes out) = 0;
  // Returns how many stored bytes the stream has not used. At its end these are the bytes that follow it.
  virtual std::size_t stored_left() const = 0;
};

// Opens a stream over `stored`, which must outlive it. Fails with kUnsupported and kOutOfMemory. Snappy cannot be read
// incrementally: its first read decompresses everything, at most 22 times the stored size.
Result<std::unique_ptr<DecodeStream>> open_stream(CodecId codec, Bytes stored, Tail tail = Tail::kDamage,
                                                  std::uint64_t memory = kStreamMemory);

// The version of a decompression library, for bug reports.
struct CodecVersion {
  std::string_view name;  // of the library
  std::string version;    // empty if this build lacks the library
};

// Returns all libraries that recordfs supports, in a fixed order. Thread-safe.
std::vector<CodecVersion> codec_versions();

}  // namespace recordfs
