// Codecs: one library each, behind one face. A codec reads untrusted bytes and never writes outside the
// buffer that it was given. No state is shared but per-thread contexts: any thread may call.
//
// Errors: kDamage for a stream that is broken, too short, too long or not used up; kLimit when more
// comes out than allowed, or a stream wants more memory than it may; kUnsupported when this build has
// not got the library, or for a stream that wants a preset dictionary or a later version; kOutOfMemory.
// Positions in errors are 0: the caller knows where the stream stands and adds it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "core/base/buffer.h"
#include "core/base/bytes.h"
#include "core/base/result.h"

namespace recordfs {

enum class CodecId : std::uint8_t {
  kNone,
  kZstd,      // zstd frames; several frames and skippable frames one after the other
  kBrotli,    // one Brotli stream, large windows included
  kSnappy,    // raw Snappy block
  kDeflate,   // one raw deflate stream (RFC 1951), which has no checksum
  kZlib,      // one deflate stream with a header and Adler-32 (RFC 1950)
  kGzip,      // gzip members (RFC 1952) one after the other, each checked by its CRC-32 and length
  kLz4Frame,  // LZ4 frames and skippable frames one after the other; no bare blocks, no legacy frames
  kLzma,      // one stream of the old .lzma format, of a stated size or with an end mark; not .xz
};

// "none", "zstd", ... Static storage.
std::string_view to_string(CodecId codec);

// Whether this build can decompress it.
bool is_available(CodecId codec);

// What bytes behind the end of a compressed stream are: damage, or none of the stream's business.
enum class Tail : std::uint8_t { kDamage, kIgnored };

// A zstd window or an LZMA dictionary is memory that a stream takes before its first byte comes, on the word of a
// header alone. A zstd frame that states less content than its window wants as much as that. `memory` in what follows
// is how many bytes that may be; more is kLimit. This is what the largest settings of the usual writers want.
inline constexpr std::uint64_t kStreamMemory = std::uint64_t{128} << 20;

// Decompresses the whole of `stored` into the whole of `out`. Anything but exactly out.size() bytes,
// and bytes of `stored` left over, are kDamage. zstd needs no window for it.
Result<void> decompress_into(CodecId codec, Bytes stored, MutableBytes out);

// Decompresses the whole of `stored`, whatever comes out, up to `limit` bytes (more is kLimit).
// `expected` is a guess of the size that saves growing; it is believed as far as `stored` makes it
// plausible and no further.
Result<Buffer> decompress(CodecId codec, Bytes stored, std::uint64_t expected, std::uint64_t limit,
                          std::uint64_t memory = kStreamMemory);

// Decompresses `stored` into `size` bytes, all of it but for what `tail` says of bytes behind the end. Any other number
// of bytes is kDamage, and never kLimit. Memory for them is taken at once where `stored` makes that many plausible, and
// otherwise as they come. The caller has checked `size` against Limits.
Result<Buffer> decompress_exactly(CodecId codec, Bytes stored, std::uint64_t size, Tail tail = Tail::kDamage,
                                  std::uint64_t memory = kStreamMemory);

// How many bytes decompress() would give, in bounded memory. Fails as it does.
Result<std::uint64_t> decompressed_size(CodecId codec, Bytes stored, std::uint64_t limit);

// Whether memory may be taken for `size` bytes at once, on a header's word alone, if they are to come out of so many.
bool is_plausible(std::uint64_t stored_size, std::uint64_t size);

// What came out of compressed bytes that something else follows.
struct Front {
  Buffer content;
  std::size_t used;  // stored bytes that the compressed stream took
};

// As decompress(), but what stands behind the end of the compressed stream is no damage and stays unread.
// What begins as another frame or member still has to be one. Snappy and kNone have no end of their own:
// they use all of `stored`.
Result<Front> decompress_front(CodecId codec, Bytes stored, std::uint64_t expected, std::uint64_t limit);

// What a zstd frame header says about the size of the content: nullopt when it does not say, or when
// `head` is too short. 18 bytes always suffice. Reads nothing else.
std::optional<std::uint64_t> zstd_content_size(Bytes head);

// How many bytes of `stored` its first zstd frame (skippable frames included) takes, by headers alone:
// for formats that allow one frame only. nullopt when no whole frame begins there.
std::optional<std::uint64_t> zstd_frame_size(Bytes stored);

// One compressed stream, read forwards, for a reader that needs its beginning alone. One thread.
class DecodeStream {
 public:
  virtual ~DecodeStream() = default;
  // Fills `out` and returns how much came: all of it, or less at the end of the stream, which is the end
  // of the stored bytes too unless they were opened with Tail::kIgnored. Fails with kDamage, kLimit (a
  // stream that wants more memory than it may), kUnsupported and kOutOfMemory, and from then on always; and as
  // Caller::may_go_on(), which is asked before each piece of a large one.
  virtual Result<std::size_t> read(MutableBytes out) = 0;
  // How many stored bytes the stream has not taken: at its end, those behind it. Never fails.
  virtual std::size_t stored_left() const = 0;
};

// `stored` has to outlive the stream. Snappy can't be read in part: its first read holds the whole in
// memory, at most 22 times the stored bytes. Fails with kUnsupported, kOutOfMemory.
Result<std::unique_ptr<DecodeStream>> open_stream(CodecId codec, Bytes stored, Tail tail = Tail::kDamage,
                                                  std::uint64_t memory = kStreamMemory);

}  // namespace recordfs
