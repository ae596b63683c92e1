// The interface between codec.cc and the source file of one codec. Internal to this folder.
#pragma once

#include <pthread.h>

#include <memory>
#include <optional>
#include <string>

#include "core/base/cursor.h"
#include "core/codec/codec.h"

namespace recordfs {

// Holds at most one codec context per thread and frees it when the thread ends. The main thread's context lives until
// the program ends.
//
// Does not use thread_local with a destructor: the C library aborts the program if it cannot allocate memory to
// register one.
//
// REQUIRES: static storage duration, because the key is never deleted. Thread-safe.
template <class Context, class Free>
class KeptContext {
 public:
  using Pointer = std::unique_ptr<Context, Free>;

  KeptContext() : has_key_(::pthread_key_create(&key_, [](void* kept) { Free()(static_cast<Context*>(kept)); }) == 0) {}

  // Removes and returns this thread's context, or null if there is none.
  Pointer take() {
    if (!has_key_) return nullptr;
    Pointer kept(static_cast<Context*>(::pthread_getspecific(key_)));
    if (kept) ::pthread_setspecific(key_, nullptr);
    return kept;
  }

  // Stores `context` for this thread in place of the previous one. Frees it at once if it cannot be stored.
  void keep(Pointer context) {
    take();
    if (has_key_ && ::pthread_setspecific(key_, context.get()) == 0) static_cast<void>(context.release());
  }

 private:
  pthread_key_t key_{};
  const bool has_key_;
};

// An optional fast path for complete units in memory. It only reports success: if it rejects a unit, the stream
// decompresses the unit again and reports the error.
struct WholeUnit {
  // Decompresses the front of `stored` into all of `out`, and returns how many stored bytes it used. Returns nullopt,
  // with unspecified bytes in `out`, if the content has another size or only the stream can decide.
  std::optional<std::size_t> (*take)(Bytes stored, MutableBytes out);
  // Returns the content size that `stored` states, assuming that nothing follows the unit. The value is untrusted.
  std::optional<std::uint64_t> (*stated_size)(Bytes stored);
};

// The functions of codec.h with the same names, for one codec. A null pointer means that codec.cc uses the stream.
struct Backend {
  Result<void> (*decompress_into)(Bytes stored, MutableBytes out);
  Result<Buffer> (*decompress)(const RequestContext& context, Bytes stored, std::uint64_t expected,
                               std::uint64_t limit);
  Result<std::unique_ptr<DecodeStream>> (*open_stream)(Bytes stored, Tail tail, std::uint64_t memory);
  const WholeUnit* whole = nullptr;  // null if there is no fast path
  // Returns how many extra output bytes let the stream write directly to its destination instead of to an internal
  // buffer. Null means 0.
  std::uint64_t (*room)(Bytes stored) = nullptr;
  // Returns a bound of the output that follows from how `stored` is divided, whatever size it states. Null means that
  // there is none.
  std::uint64_t (*most_output)(Bytes stored) = nullptr;
};

extern const Backend kZstdBackend;
extern const Backend kBrotliBackend;
extern const Backend kSnappyBackend;
extern const Backend kDeflateBackend;
extern const Backend kZlibBackend;
extern const Backend kGzipBackend;
extern const Backend kLz4FrameBackend;
extern const Backend kLzmaBackend;
extern const Backend kXzBackend;
extern const Backend kBzip2Backend;

// Complete deflate units in memory; only with libdeflate.
extern const WholeUnit kWholeDeflate;
extern const WholeUnit kWholeZlib;
extern const WholeUnit kWholeGzip;

// Returns whether `rest` begins with the gzip magic (RFC 1952, section 2.3.1).
inline bool begins_gzip_member(Bytes rest) {
  constexpr std::uint16_t kMagic = 0x8B1F;
  return Cursor(rest).u16_le() == kMagic;
}

// Return the version of each library: that of the library at run time if it reports one, otherwise that of its header.
std::string version_of_zstd();
std::string version_of_brotli();
std::string version_of_snappy();
std::string version_of_zlib();
std::string version_of_libdeflate();
std::string version_of_lz4();
std::string version_of_lzma();
std::string version_of_bzip2();
std::string version_of_blosc();

Error more_than(std::uint64_t limit);
Error wrong_size(std::uint64_t expected);

}  // namespace recordfs
