#include "core/hash/digest.h"

#include <cstddef>
#include <cstdint>
#include <vector>

#include <nettle/nettle-meta.h>
#include <nettle/version.h>

#include "core/hash/adler32.h"
#include "core/hash/crc32.h"

namespace recordfs {
namespace {

// Returns nullptr for Adler-32 and CRC-32.
const nettle_hash* algorithm_of(DigestId digest) {
  switch (digest) {
    case DigestId::kMd5: return &nettle_md5;
    case DigestId::kSha1: return &nettle_sha1;
    case DigestId::kSha224: return &nettle_sha224;
    case DigestId::kSha256: return &nettle_sha256;
    case DigestId::kSha384: return &nettle_sha384;
    case DigestId::kSha512: return &nettle_sha512;
    default: return nullptr;
  }
}

const std::uint8_t* octets(Bytes bytes) { return reinterpret_cast<const std::uint8_t*>(bytes.data()); }

}  // namespace

std::string_view to_string(DigestId digest) {
  if (const nettle_hash* algorithm = algorithm_of(digest)) return algorithm->name;
  return digest == DigestId::kAdler32 ? "adler32" : "crc32";
}

std::size_t digest_size(DigestId digest) {
  const nettle_hash* algorithm = algorithm_of(digest);
  return algorithm == nullptr ? sizeof(std::uint32_t) : algorithm->digest_size;
}

struct Digester::State {
  explicit State(DigestId id)
      : digest(id), algorithm(algorithm_of(id)), context(algorithm == nullptr ? 0 : algorithm->context_size) {}

  DigestId digest;
  const nettle_hash* algorithm;
  std::uint32_t number = 0;        // the running Adler-32 or CRC-32
  std::vector<std::byte> context;  // Nettle's context, for the other algorithms
};

Digester::Digester(DigestId digest) : state_(std::make_unique<State>(digest)) {
  if (state_->algorithm != nullptr) {
    state_->algorithm->init(state_->context.data());
  } else {
    state_->number = digest == DigestId::kAdler32 ? kAdler32OfNothing : crc32({});
  }
}

Digester::Digester(Digester&&) noexcept = default;
Digester& Digester::operator=(Digester&&) noexcept = default;
Digester::~Digester() = default;

void Digester::append(Bytes piece) {
  if (piece.empty()) return;
  if (state_->algorithm != nullptr) {
    state_->algorithm->update(state_->context.data(), piece.size(), octets(piece));
  } else if (state_->digest == DigestId::kAdler32) {
    state_->number = adler32(piece, state_->number);
  } else {
    state_->number = crc32(piece, state_->number);
  }
}

Digest Digester::finish() {
  Digest digest;
  digest.size = digest_size(state_->digest);
  if (state_->algorithm != nullptr) {
    auto* const to = reinterpret_cast<std::uint8_t*>(digest.bytes.data());
#if NETTLE_VERSION_MAJOR < 4
    state_->algorithm->digest(state_->context.data(), digest.size, to);
#else
    state_->algorithm->digest(state_->context.data(), to);
#endif
  } else {
    for (std::size_t i = 0; i < digest.size; ++i)
      digest.bytes[i] = static_cast<std::byte>(state_->number >> 8 * i & 0xFF);
  }
  return digest;
}

}  // namespace recordfs
