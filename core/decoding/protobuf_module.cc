#include "core/decoding/protobuf_module.h"

#include <dlfcn.h>

#include <string_view>

namespace recordfs {
namespace {

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

}  // namespace

Result<std::shared_ptr<const MessageTypes>> make_message_types(const std::vector<Bytes>& files) {
  const Loaded& loaded = loaded_module();
  if (loaded.module == nullptr) {
    return Error{.code = Code::kUnsupported, .detail = "libprotobuf is not available: " + loaded.why};
  }
  MessageTypes* const types = loaded.module->make_types(files.data(), files.size());
  if (types == nullptr) return Error{.code = Code::kOutOfMemory, .detail = "no memory for message types"};
  return std::shared_ptr<const MessageTypes>(types);
}

void open_protobuf_module() { static_cast<void>(loaded_module()); }

std::string protobuf_version() {
  const Loaded& loaded = loaded_module();
  return loaded.module == nullptr ? "" : loaded.module->libprotobuf_version;
}

}  // namespace recordfs
