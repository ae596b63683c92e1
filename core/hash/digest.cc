#include "core/hash/digest.h"

#include <algorithm>
#include <new>
#include <string>
#include <utility>

#include <openssl/evp.h>
#include <zlib.h>

namespace recordfs {
namespace {

const EVP_MD* algorithm_of(DigestId digest) {
  switch (digest) {
    case DigestId::kMd5: return EVP_md5();
    case DigestId::kSha1: return EVP_sha1();
    case DigestId::kSha224: return EVP_sha224();
    case DigestId::kSha256: return EVP_sha256();
    case DigestId::kSha384: return EVP_sha384();
    case DigestId::kSha512: return EVP_sha512();
    default: return nullptr;
  }
}

const Bytef* characters(Bytes bytes) { return reinterpret_cast<const Bytef*>(bytes.data()); }

}  // namespace

std::string_view to_string(DigestId digest) {
  switch (digest) {
    case DigestId::kAdler32: return "adler32";
    case DigestId::kCrc32: return "crc32";
    case DigestId::kMd5: return "md5";
    case DigestId::kSha1: return "sha1";
    case DigestId::kSha224: return "sha224";
    case DigestId::kSha256: return "sha256";
    case DigestId::kSha384: return "sha384";
    case DigestId::kSha512: return "sha512";
  }
  return "unknown";
}

std::size_t digest_size(DigestId digest) {
  switch (digest) {
    case DigestId::kAdler32:
    case DigestId::kCrc32: return 4;
    case DigestId::kMd5: return 16;
    case DigestId::kSha1: return 20;
    case DigestId::kSha224: return 28;
    case DigestId::kSha256: return 32;
    case DigestId::kSha384: return 48;
    case DigestId::kSha512: return 64;
  }
  return 0;
}

struct Digester::State {
  DigestId digest = DigestId::kAdler32;
  uLong number = 0;  // of the two that are numbers
  std::unique_ptr<EVP_MD_CTX, void (*)(EVP_MD_CTX*)> context{nullptr, EVP_MD_CTX_free};
};

Digester::Digester(std::unique_ptr<State> state) : state_(std::move(state)) {}
Digester::Digester(Digester&&) noexcept = default;
Digester& Digester::operator=(Digester&&) noexcept = default;
Digester::~Digester() = default;

Result<Digester> Digester::start(DigestId digest) {
  auto state = std::make_unique<State>();
  state->digest = digest;
  const EVP_MD* const algorithm = algorithm_of(digest);
  if (algorithm == nullptr) {
    state->number = digest == DigestId::kAdler32 ? adler32_z(0, nullptr, 0) : crc32_z(0, nullptr, 0);
    return Digester(std::move(state));
  }
  state->context.reset(EVP_MD_CTX_new());
  if (!state->context) return Error{.code = Code::kOutOfMemory, .detail = "no memory for a digest"};
  if (EVP_DigestInit_ex(state->context.get(), algorithm, nullptr) != 1) {
    return Error{.code = Code::kUnsupported,
                 .detail = "this system's OpenSSL does not offer " + std::string(to_string(digest))};
  }
  return Digester(std::move(state));
}

void Digester::append(Bytes piece) {
  if (piece.empty()) return;
  if (state_->context) {
    EVP_DigestUpdate(state_->context.get(), piece.data(), piece.size());
  } else if (state_->digest == DigestId::kAdler32) {
    state_->number = adler32_z(state_->number, characters(piece), piece.size());
  } else {
    state_->number = crc32_z(state_->number, characters(piece), piece.size());
  }
}

Digest Digester::finish() {
  Digest digest;
  digest.size = digest_size(state_->digest);
  if (state_->context) {
    EVP_DigestFinal_ex(state_->context.get(), reinterpret_cast<unsigned char*>(digest.bytes.data()), nullptr);
  } else {
    for (std::size_t i = 0; i < digest.size; ++i)
      digest.bytes[i] = static_cast<std::byte>(state_->number >> 8 * i & 0xFF);
  }
  return digest;
}

}  // namespace recordfs
