#include "core/decoding/protobuf_module.h"

#include <dlfcn.h>

#include <cstdint>
#include <mutex>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/bounded_lru.h"
#include "core/base/own_files.h"
#include "core/decoding/descriptor_set.h"

#ifdef RECORDFS_LINKED_PROTOBUF
extern "C" const recordfs::ProtobufModule* recordfs_protobuf_module();
#endif

namespace recordfs {
namespace {

using Types = std::shared_ptr<const MessageTypes>;

constexpr std::size_t kMostSets = 8;
constexpr std::uint64_t kMostMemory = 256u << 20;  // bytes of all entries together; a single entry may be larger

struct Loaded {
  const ProtobufModule* module = nullptr;
  std::string why{};  // the reason why the module is not available
};

#ifdef RECORDFS_LINKED_PROTOBUF
// The module is a part of the program.
Loaded open_module() { return {.module = recordfs_protobuf_module()}; }
#else
// dlsym() returns void*.
ProtobufModuleEntry entry_of(void* library) {
  return reinterpret_cast<ProtobufModuleEntry>(::dlsym(library, kProtobufModuleEntry));
}

Loaded open_module() {
  const std::string path = find_own_file(kProtobufModuleName);
  if (path.empty()) return {.why = std::string(kProtobufModuleName) + " is not installed"};
  // Lazy: of the thousands of functions of libprotobuf and the C++ library, few are called.
  void* const library = ::dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL);
  if (library == nullptr) return {.why = ::dlerror()};
  const ProtobufModuleEntry entry = entry_of(library);
  const ProtobufModule* const module = entry == nullptr ? nullptr : entry();
  if (module == nullptr || std::string_view(module->build) != RECORDFS_MODULE_BUILD) {
    ::dlclose(library);
    return {.why = std::string(kProtobufModuleName) + " is from another build"};
  }
  return {.module = module};
}
#endif

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
  std::unique_ptr<const MessageTypes> types(loaded.module->make_types(files.data(), files.size()));
  if (!types) return Error{.code = Code::kOutOfMemory, .detail = "no memory for message types"};
  return Types(std::move(types));
}

// Descriptors, compared by content.
struct Key {
  std::shared_ptr<const std::string> descriptors;
  bool operator<(const Key& other) const {
    return descriptors != other.descriptors && *descriptors < *other.descriptors;
  }
};

struct Built {
  Result<Types> types;
  std::uint64_t memory = 0;
};

Built build(const std::string& descriptors) {
  const auto set = read_descriptor_set(as_bytes(descriptors));
  if (!set) return {set.error()};
  std::vector<std::string> copies;
  copies.reserve(set->files.size());
  std::vector<Bytes> files;
  for (const std::size_t number : set->in_order_of_imports()) {
    const DescriptorFile& file = set->files[number];
    files.push_back(file.has_source_info ? as_bytes(copies.emplace_back(without_source_info(file))) : file.content);
  }
  return {make_message_types(files), set->memory};
}

}  // namespace

Result<std::shared_ptr<const MessageTypes>> shared_types(const std::shared_ptr<const std::string>& descriptors) {
  static std::mutex building;
  static BoundedLru<Key, Result<Types>> cache(kMostSets, kMostMemory);
  const std::scoped_lock lock(building);
  if (auto known = cache.find({descriptors})) return *known;
  Built built = build(*descriptors);
  if (!built.types && built.types.error().code == Code::kOutOfMemory) return built.types;
  return cache.add({descriptors}, std::move(built.types), built.memory + descriptors->size());
}

void open_protobuf_module() { static_cast<void>(loaded_module()); }

#ifdef RECORDFS_LINKED_PROTOBUF
std::vector<std::string> protobuf_module_places() { return {}; }
#else
std::vector<std::string> protobuf_module_places() {
  std::vector<std::string> places = {"/etc/ld.so.cache", "/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib"};
  if (std::string module = find_own_file(kProtobufModuleName); !module.empty()) places.push_back(std::move(module));
  return places;
}
#endif

std::string protobuf_version() {
  const Loaded& loaded = loaded_module();
  return loaded.module == nullptr ? "" : loaded.module->libprotobuf_version;
}

}  // namespace recordfs
