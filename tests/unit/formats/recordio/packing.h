// Implements the transformers for tests.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace recordfs::recordio {

std::string flate(std::string_view content, int level = 6);

struct ZstdOptions {
  int level = 3;
  bool states_size = true;
  bool has_checksum = false;
  int window_log = 0;  // 0: chosen by the library
};
std::string zstd(std::string_view content, const ZstdOptions& options = {});

// Returns a skippable frame that contains `content`.
std::string skippable(std::string_view content);

// Returns only a zstd frame header, which states `size` bytes of content.
std::string zstd_claiming(std::uint64_t size);

}  // namespace recordfs::recordio
