#include "core/decoding/protobuf_module.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <string_view>
#include <utility>
#include <vector>

#include "core/decoding/descriptor_set.h"

namespace recordfs {
namespace {

using Types = std::shared_ptr<const MessageTypes>;

constexpr std::size_t kMostSets = 8;
constexpr std::uint64_t kMostMemory = 256u << 20;  // bytes of all entries together; a single entry may be larger

struct Loaded {
  const ProtobufModule* module = nullptr;
  std::string why{};  // the reason why the module is not available
};

// dlsym() returns void*.
ProtobufModuleEntry entry_of(void* library) {
  return reinterpret_cast<ProtobufModuleEntry>(::dlsym(library, kProtobufModuleEntry));
}

Loaded open_module() {
  void* const library = ::dlopen(kProtobufModuleName, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return {.why = ::dlerror()};
  const ProtobufModuleEntry entry = entry_of(library);
  const ProtobufModule* const module = entry == nullptr ? nullptr : entry();
  if (module == nullptr || std::string_view(module->build) != RECORDFS_MODULE_BUILD) {
    ::dlclose(library);
    return {.why = std::string(kProtobufModuleName) + " is from another build"};
  }
  return {.module = module};
}

// The module is never unloaded, because types that it made may live until the program ends.
const Loaded& loaded_module() {
  static const Loaded loaded = open_module();
  return loaded;
}

Result<Types> make_message_types(const std::vector<Bytes>& files) {
  const Loaded& loaded = loaded_module();
  if (loaded.module == nullptr) {
    return Error{.code = Code::kUnsupported, .detail = "libprotobuf is not available: " + loaded.why};
  }
  const MessageTypes* const types = loaded.module->make_types(files.data(), files.size());
  if (types == nullptr) return Error{.code = Code::kOutOfMemory, .detail = "no memory for message types"};
  return Types(types);
}

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

void open_protobuf_module() { static_cast<void>(loaded_module()); }

std::string protobuf_version() {
  const Loaded& loaded = loaded_module();
  return loaded.module == nullptr ? "" : loaded.module->libprotobuf_version;
}

}  // namespace recordfs
