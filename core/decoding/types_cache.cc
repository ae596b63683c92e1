#include "core/decoding/types_cache.h"

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

#include "core/decoding/descriptor_set.h"
#include "core/decoding/protobuf_module.h"

namespace recordfs {
namespace {

using Types = std::shared_ptr<const MessageTypes>;

constexpr std::size_t kMostSets = 8;
constexpr std::uint64_t kMostMemory = 256u << 20;  // bytes of all entries together; a single entry may be larger

struct Kept {
  std::shared_ptr<const std::string> descriptors;
  Result<Types> types;
  std::uint64_t memory = 0;
};

Kept build(const std::shared_ptr<const std::string>& descriptors) {
  const auto set = read_descriptor_set(as_bytes(*descriptors));
  if (!set) return {descriptors, set.error()};
  std::vector<std::string> copies;
  copies.reserve(set->files.size());
  std::vector<Bytes> files;
  for (const std::size_t number : set->in_order_of_imports()) {
    const DescriptorFile& file = set->files[number];
    files.push_back(file.has_source_info ? as_bytes(copies.emplace_back(without_source_info(file))) : file.content);
  }
  return {descriptors, make_message_types(files), set->memory};
}

// An LRU list of types, least recently used first.
class Cache {
 public:
  Result<Types> of(const std::shared_ptr<const std::string>& descriptors) {
    const std::scoped_lock lock(mutex_);
    const auto found = std::ranges::find_if(
        kept_, [&](const Kept& kept) { return kept.descriptors == descriptors || *kept.descriptors == *descriptors; });
    if (found != kept_.end()) {
      std::rotate(found, found + 1, kept_.end());
      return kept_.back().types;
    }
    Kept kept = build(descriptors);
    if (!kept.types && kept.types.error().code == Code::kOutOfMemory) return std::move(kept.types).error();
    kept_.push_back(std::move(kept));
    trim();
    return kept_.back().types;
  }

 private:
  void trim() {
    std::uint64_t memory = 0;
    std::size_t stay = 0;
    while (stay < kept_.size() && stay < kMostSets) {
      const Kept& kept = kept_[kept_.size() - 1 - stay];
      memory += kept.memory + kept.descriptors->size();
      if (stay > 0 && memory > kMostMemory) break;
      ++stay;
    }
    kept_.erase(kept_.begin(), kept_.end() - static_cast<std::ptrdiff_t>(stay));
  }

  std::mutex mutex_;
  std::vector<Kept> kept_;
};

}  // namespace

Result<std::shared_ptr<const MessageTypes>> shared_types(const std::shared_ptr<const std::string>& descriptors) {
  static Cache cache;
  return cache.of(descriptors);
}

}  // namespace recordfs
