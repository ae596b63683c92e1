// What the transformers do, for tests.
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
  int window_log = 0;  // 0: as the library likes
};
std::string zstd(std::string_view content, const ZstdOptions& options = {});

// A skippable frame that holds `content`.
std::string skippable(std::string_view content);

// A zstd frame header that states `size` bytes of content, and nothing behind it.
std::string zstd_claiming(std::uint64_t size);

}  // namespace recordfs::recordio
