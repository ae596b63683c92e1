#include "tests/fuzz/expect.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>

namespace recordfs::fuzz {

void stop(const std::string& why) {
  std::fprintf(stderr, "contract broken: %s\n", why.c_str());
  std::abort();
}

void expect(bool held, std::string_view what) {
  if (!held) stop(std::string(what));
}

void expect_none(const contract::Violations& broken) {
  if (!broken.empty()) stop(broken.front());
}

void expect_judgement(const Error& error) {
  const bool is_ours = error.code == Code::kIo || error.code == Code::kChanged || error.code == Code::kPending ||
                       error.code == Code::kInterrupted;
  expect(!is_ours, "an error that the input cannot cause: " + to_string(error));
  expect(!error.detail.empty(), "an error without a reason");
}

std::uint64_t options_of(Bytes input) {
  const Bytes tail = input.last(std::min<std::size_t>(input.size(), 8));
  return std::hash<std::string_view>()(as_text(tail));
}

Limits limits_for(std::uint64_t options) {
  Limits limits;
  limits.stored_chunk = 4 << 20;
  limits.decoded_chunk = 8 << 20;
  limits.records_per_chunk = 1 << 18;
  limits.metadata_bytes = 1 << 20;
  if (options & 1) limits.scan_bytes = 4096;
  if (options & 2) limits.decoded_chunk = 1024;
  if (options & 4) limits.records_per_chunk = 4;
  if (options & 8) limits.stored_chunk = 1024;
  return limits;
}

}  // namespace recordfs::fuzz
