// Digests that stand beside data in files: zlib's checksums, MD5 and the SHA families, behind one face.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string_view>

#include "core/base/bytes.h"

namespace recordfs {

enum class DigestId : std::uint8_t { kAdler32, kCrc32, kMd5, kSha1, kSha224, kSha256, kSha384, kSha512 };

// "adler32", "sha256", ... Static storage.
std::string_view to_string(DigestId digest);

// Its length in bytes: 4 to 64.
std::size_t digest_size(DigestId digest);

// The bytes of a digest as they stand in a file; the two numbers among them little-endian.
struct Digest {
  std::array<std::byte, 64> bytes{};
  std::size_t size = 0;

  Bytes view() const { return Bytes(bytes).first(size); }
};

// A digest over bytes that come in pieces. One object, one thread.
class Digester {
 public:
  explicit Digester(DigestId digest);
  Digester(Digester&&) noexcept;
  Digester& operator=(Digester&&) noexcept;
  ~Digester();

  void append(Bytes piece);
  // The digest of all pieces so far. Call once, at the end.
  Digest finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace recordfs
