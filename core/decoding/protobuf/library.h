// libprotobuf and the differences between its versions. All other code in this folder uses only features that exist in
// every version since 3.21.
#pragma once

#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>
#include <google/protobuf/dynamic_message.h>
#include <google/protobuf/message.h>

#include <string>
#include <string_view>

namespace recordfs::messages {

namespace pb = google::protobuf;

// Converts a name to a view. Names are std::string in some versions and views in others.
template <class Text>
std::string_view view(const Text& text) {
  return {text.data(), text.size()};
}

// Stops libprotobuf from writing to stderr: errors in a user's file do not belong on the terminal.
void silence_libprotobuf();

// Returns the version, for example "3.21.12".
const std::string& libprotobuf_version();

// Builds a file in a pool. Returns "" on success, otherwise the first error.
std::string build_file(pb::DescriptorPool& pool, const pb::FileDescriptorProto& file);

}  // namespace recordfs::messages
