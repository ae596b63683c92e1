// The fetcher's options.
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string>

#include "core/base/result.h"
#include "core/fetch/disk_cache.h"

namespace recordfs::fetch {

struct FetcherOptions {
  bool sign = true;
  std::chrono::seconds timeout{60};
  bool has_cache = true;
  std::string cache_folder{};  // absolute; empty: the default
  std::uint64_t cache_size = DiskCache::kDefaultLimit;
};

// Fails with kUnsupported for an argument that is not an option, or has an invalid value.
Result<FetcherOptions> parse_options(std::span<const char* const> arguments);

}  // namespace recordfs::fetch
