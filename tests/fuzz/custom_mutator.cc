// libFuzzer's hook: changes an input by its own means or by the format's, and mends most of what comes out.
#include <algorithm>
#include <random>

#include "tests/fuzz/mutator.h"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

namespace {

void change_bytes(std::string& bytes, std::size_t room) {
  const std::size_t size = bytes.size();
  bytes.resize(size + room + 1);
  bytes.resize(LLVMFuzzerMutate(reinterpret_cast<std::uint8_t*>(bytes.data()), size, size + room + 1));
}

}  // namespace

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned int seed) {
  std::minstd_rand random(seed);
  const auto room = std::span(data, max_size);
  if (random() % 2 == 0) {
    const auto changed = recordfs::fuzz::restructure(std::as_bytes(room.first(size)), random(), change_bytes);
    size = std::min(changed.size(), max_size);
    std::copy_n(changed.begin(), size, data);
  } else {
    size = LLVMFuzzerMutate(data, size, max_size);
  }
  if (random() % 8 != 0) recordfs::fuzz::mend(std::as_writable_bytes(room.first(size)));
  return size;
}
