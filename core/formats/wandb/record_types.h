// The types of the records that wandb writes.
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace recordfs::wandb {

inline constexpr std::string_view kRecordType = "wandb_internal.Record";

// Returns a serialized google.protobuf.FileDescriptorSet with kRecordType. Any thread.
std::shared_ptr<const std::string> record_descriptors();

}  // namespace recordfs::wandb
