// The types of the records that wandb and SwanLab write.
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace recordfs::wandb {

inline constexpr std::string_view kRecordType = "wandb_internal.Record";
inline constexpr std::string_view kSwanLabRecordType = "swanlab.record.v1.Record";

// Returns a serialized google.protobuf.FileDescriptorSet with one of these types; null for another type. Any thread.
std::shared_ptr<const std::string> record_descriptors(std::string_view type);

}  // namespace recordfs::wandb
