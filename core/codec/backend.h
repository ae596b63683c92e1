// What one codec's source file gives to codec.cc. Nothing outside this folder includes it.
#pragma once

#include <optional>
#include <string>

#include "core/codec/codec.h"

namespace recordfs {

// A way to decompress what is in memory as a whole, beside the stream. It only says yes: whatever it does not like, the
// stream decompresses again, and says why it fails.
struct WholeUnit {
  // Decompresses what stands at the front of `stored` into the whole of `out`, and returns how many stored bytes that
  // took. nullopt, with anything in `out`: the content has another size, or it is up to the stream.
  std::optional<std::size_t> (*take)(Bytes stored, MutableBytes out);
  // How large the content should be, if `stored` says so and nothing stands behind it. Nobody vouches for it.
  std::optional<std::uint64_t> (*stated_size)(Bytes stored);
};

// The functions of codec.h of the same names, for one codec. Null where reading its stream does as well.
struct Backend {
  Result<void> (*decompress_into)(Bytes stored, MutableBytes out);
  Result<Buffer> (*decompress)(Bytes stored, std::uint64_t expected, std::uint64_t limit);
  Result<std::unique_ptr<DecodeStream>> (*open_stream)(Bytes stored, Tail tail, std::uint64_t memory);
  const WholeUnit* whole = nullptr;  // null where there is no such way
  // How many bytes more than the content has the stream likes to be given: then it writes to where they are wanted, and
  // not beside it first. Null: none.
  std::uint64_t (*room)(Bytes stored) = nullptr;
};

extern const Backend kNoneBackend;
extern const Backend kZstdBackend;
extern const Backend kBrotliBackend;
extern const Backend kSnappyBackend;
extern const Backend kDeflateBackend;
extern const Backend kZlibBackend;
extern const Backend kGzipBackend;
extern const Backend kLz4FrameBackend;
extern const Backend kLzmaBackend;

// Reads `stream` to its end into a buffer that grows as bytes really come. `stored_size` says how far
// `expected` is believed for the first allocation. Fails with kLimit beyond `limit`, and as the stream does.
Result<Buffer> collect(DecodeStream& stream, std::uint64_t stored_size, std::uint64_t expected, std::uint64_t limit);

// The same for `size` bytes, where any other number of them is kDamage.
Result<Buffer> collect_exactly(DecodeStream& stream, std::uint64_t stored_size, std::uint64_t size);

// Reads `stream` into the whole of `out`; kDamage when it ends before or goes on behind.
Result<void> fill(DecodeStream& stream, MutableBytes out);

// The version of each library, as the library that runs says it or, where it can't, as its header did.
std::string version_of_zstd();
std::string version_of_brotli();
std::string version_of_snappy();
std::string version_of_zlib();
std::string version_of_libdeflate();
std::string version_of_lz4();
std::string version_of_lzma();
std::string version_of_blosc();

Error more_than(std::uint64_t limit);
Error wrong_size(std::uint64_t expected);

}  // namespace recordfs
