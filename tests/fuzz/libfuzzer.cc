// libFuzzer's hooks: process an input, and mutate one by libFuzzer's own means or by the target's mutator. The
// mutator's fix_checksums() is applied to most results.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <random>

#include "tests/fuzz/target.h"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

namespace {

const recordfs::fuzz::Target& target() {
  static const auto found = [] {
    const char* const name = std::getenv("RECORDFS_FUZZ_TARGET");
    return recordfs::fuzz::find_target(name == nullptr ? "" : name);
  }();
  return found;
}

void change_bytes(std::string& bytes, std::size_t room) {
  const std::size_t size = bytes.size();
  bytes.resize(size + room + 1);
  bytes.resize(LLVMFuzzerMutate(reinterpret_cast<std::uint8_t*>(bytes.data()), size, size + room + 1));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  target().run_input(std::as_bytes(std::span(data, size)));
  return 0;
}

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned int seed) {
  std::minstd_rand random(seed);
  const auto room = std::span(data, max_size);
  const auto* const mutator = target().mutator_for(std::as_bytes(room.first(size)));
  if (mutator == nullptr || random() % 2 != 0) {
    size = LLVMFuzzerMutate(data, size, max_size);
  } else {
    const auto changed = mutator->restructure(std::as_bytes(room.first(size)), random(), change_bytes);
    size = std::min(changed.size(), max_size);
    std::copy_n(changed.begin(), size, data);
  }
  if (mutator != nullptr && random() % 8 != 0) mutator->fix_checksums(std::as_writable_bytes(room.first(size)));
  return size;
}
