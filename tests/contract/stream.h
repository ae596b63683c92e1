// SHA-256, by OpenSSL: the one outside opinion about bytes that the tests rely on.
#pragma once

#include <memory>
#include <string>

#include "core/base/bytes.h"
#include "tests/contract/samples.h"

namespace recordfs::contract {

// 64 hexadecimal digits.
std::string sha256(Bytes bytes);

// Takes records one after the other and gives their Stream.
class StreamDigest {
 public:
  StreamDigest();
  ~StreamDigest();
  StreamDigest(const StreamDigest&) = delete;
  StreamDigest& operator=(const StreamDigest&) = delete;
  void add(Bytes record);
  Stream finish();

  struct State;

 private:
  const std::unique_ptr<State> state_;
};

}  // namespace recordfs::contract
