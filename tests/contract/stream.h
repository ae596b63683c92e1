// SHA-256, computed by OpenSSL: the only independent check of bytes that the tests rely on.
#pragma once

#include <memory>
#include <string>

#include "core/base/bytes.h"
#include "tests/contract/samples.h"

namespace recordfs::contract {

// Returns 64 hexadecimal digits.
std::string sha256(Bytes bytes);

// Consumes records in order and returns their Stream.
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
