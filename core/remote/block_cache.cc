#include "core/remote/block_cache.h"

namespace recordfs::remote {

std::uint64_t BlockCache::number_of(const std::string& name, const std::string& version) {
  const std::uint64_t number = last_number_.fetch_add(1, std::memory_order_relaxed) + 1;
  // Without a version, another state could look the same.
  return version.empty() ? number : numbers_.add(name + '\n' + version, number);
}

}  // namespace recordfs::remote
