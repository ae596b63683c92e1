// Digests that files store next to their data: the checksums of zlib, MD5 and the SHA families.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string_view>

#include "core/base/bytes.h"

namespace recordfs {

enum class DigestId : std::uint8_t { kAdler32, kCrc32, kMd5, kSha1, kSha224, kSha256, kSha384, kSha512 };

// Returns "adler32", "sha256", ... The result has static storage.
std::string_view to_string(DigestId digest);

// Returns the length of the digest in bytes: 4 to 64.
std::size_t digest_size(DigestId digest);

// A digest as stored in a file. Adler-32 and CRC-32 are little-endian.
struct Digest {
  std::array<std::byte, 64> bytes{};
  std::size_t size = 0;

  Bytes view() const { return Bytes(bytes).first(size); }
};

// Computes a digest incrementally. Not thread-safe.
class Digester {
 public:
  explicit Digester(DigestId digest);
  Digester(Digester&&) noexcept;
  Digester& operator=(Digester&&) noexcept;
  ~Digester();

  void append(Bytes piece);
  // Returns the digest of all appended bytes. Call at most once; do not append afterwards.
  Digest finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace recordfs
