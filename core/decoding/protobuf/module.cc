// The only exported function of the module.
#include "core/decoding/message_types.h"
#include "core/decoding/protobuf/types.h"

namespace recordfs::messages {
namespace {

MessageTypes* make_types(const Bytes* files, std::size_t count) noexcept {
  try {
    return new Types(files, count);
  } catch (...) {
    return nullptr;
  }
}

}  // namespace
}  // namespace recordfs::messages

extern "C" __attribute__((visibility("default"))) const recordfs::ProtobufModule* recordfs_protobuf_module() {
  using namespace recordfs;
  static const ProtobufModule module = [] {
    messages::silence_libprotobuf();
    return ProtobufModule{.build = RECORDFS_MODULE_BUILD,
                          .libprotobuf_version = messages::libprotobuf_version().c_str(),
                          .make_types = messages::make_types};
  }();
  return &module;
}
