// Reads a descriptor set without libprotobuf: its files, their imports and the names of their message types. The cost
// of the set is therefore known before libprotobuf builds it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/result.h"

namespace recordfs {

struct DescriptorFile {
  std::string_view name{};
  std::vector<std::string_view> imports{};
  Bytes content{};               // a FileDescriptorProto
  bool has_source_info = false;  // includes a SourceCodeInfo
};

// A parsed set. Points into the bytes that it was read from.
struct DescriptorSet {
  std::vector<DescriptorFile> files{};
  std::vector<std::string> types{};         // full names of all message types, sorted, without duplicates
  std::vector<std::string> types_at_top{};  // names of top-level message types, in file order

  std::uint64_t memory = 0;  // estimated bytes of memory when built

  bool has_type(std::string_view full_name) const;
  // Returns the indexes of the files, each after its imports unless imports are circular. Files with the same name are
  // all included, in their original order.
  std::vector<std::size_t> in_order_of_imports() const;
};

// Limits of a set.
struct DescriptorLimits {
  std::uint64_t memory = 256u << 20;    // estimated bytes of memory when built
  std::uint64_t files = 8192;           // in one set
  std::uint64_t public_imports = 1024;  // in one set: each file inherits those of the files that it imports
  std::uint64_t ranges = 1024;  // number ranges in one message or enumeration, because each is compared with each
  std::uint32_t depth = 50;     // of nested messages
};

// Parses a serialized google.protobuf.FileDescriptorSet. Fails with kDamage if the bytes are invalid, and with kLimit.
// Thread-safe.
Result<DescriptorSet> read_descriptor_set(Bytes bytes, const DescriptorLimits& limits = {});

// Returns the FileDescriptorProto without its SourceCodeInfo, which may be most of it. REQUIRES: `file` came from
// read_descriptor_set().
std::string without_source_info(const DescriptorFile& file);

// Returns the top-level types, without those of google.protobuf that other files import. Thread-safe.
std::vector<std::string> record_types_in(const DescriptorSet& set);

// Types supplied by the user for records without type information.
struct UserTypes {
  std::shared_ptr<const std::string> descriptors{};  // a serialized FileDescriptorSet; null if not supplied
  std::string type{};                                // full name of the type of every record; "" if not supplied
  bool is_only_type = false;  // the user did not name `type`: it is the only one of record_types_in()
  std::size_t top_types = 0;  // number of record_types_in()
};

// Validates user-supplied types. `descriptors` is a serialized FileDescriptorSet, as written by `protoc
// --descriptor_set_out`. `type` is the full name of a message type in it. It may be empty if record_types_in()
// has exactly one, or for records that name the types of their messages; check_types() tells.
//
// Fails with kDamage if the bytes are not a valid set, with kNotFound if the type is not in it, and with kLimit.
// Thread-safe.
Result<UserTypes> user_types(std::string descriptors, std::string type);

}  // namespace recordfs
