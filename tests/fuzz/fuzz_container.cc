// The fuzz target of the format whose folder is RECORDFS_FUZZ_FORMAT.
#include <cstdint>

#include "tests/fuzz/drive.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const recordfs::Format& format = recordfs::fuzz::format_in(RECORDFS_FUZZ_FORMAT);
  recordfs::fuzz::drive(format, std::as_bytes(std::span(data, size)));
  return 0;
}
