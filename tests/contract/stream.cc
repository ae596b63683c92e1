#include "tests/contract/stream.h"

#include <array>

#include <openssl/evp.h>

#include <fmt/format.h>

namespace recordfs::contract {

struct StreamDigest::State {
  std::unique_ptr<EVP_MD_CTX, void (*)(EVP_MD_CTX*)> context{EVP_MD_CTX_new(), EVP_MD_CTX_free};
  std::uint64_t records = 0;

  State() { EVP_DigestInit_ex(context.get(), EVP_sha256(), nullptr); }
  void update(Bytes bytes) { EVP_DigestUpdate(context.get(), bytes.data(), bytes.size()); }
  std::string hex() {
    std::array<unsigned char, 32> digest{};
    EVP_DigestFinal_ex(context.get(), digest.data(), nullptr);
    std::string text;
    for (const unsigned char byte : digest) text += fmt::format("{:02x}", byte);
    return text;
  }
};

StreamDigest::StreamDigest() : state_(std::make_unique<State>()) {}
StreamDigest::~StreamDigest() = default;

void StreamDigest::add(Bytes record) {
  std::array<std::byte, 8> length{};
  for (std::size_t i = 0; i < length.size(); ++i) length[i] = static_cast<std::byte>(record.size() >> (8 * i) & 0xFF);
  state_->update(length);
  state_->update(record);
  ++state_->records;
}

Stream StreamDigest::finish() { return {state_->records, state_->hex()}; }

std::string sha256(Bytes bytes) {
  StreamDigest::State state;
  state.update(bytes);
  return state.hex();
}

}  // namespace recordfs::contract
