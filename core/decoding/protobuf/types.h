// The message types of a set of files: the pool that builds them, and the message objects to parse into.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/decoding/message_types.h"
#include "core/decoding/protobuf/library.h"

namespace recordfs::messages {

// The size in bytes of an empty message of each type.
using Sizes = std::unordered_map<const pb::Descriptor*, std::size_t>;

// The cost to parse and print a message.
struct Cost {
  std::uint64_t memory = 0;  // bytes
  std::uint64_t fields = 0;  // fields of the types of all messages in it: each is set up and checked for presence

  bool is_within(const Cost& most) const { return memory <= most.memory && fields <= most.fields; }
};

// A type to parse messages as. Thread-safe.
struct MessageType {
  const pb::Descriptor* descriptor = nullptr;
  const pb::Message* prototype = nullptr;
  Sizes sizes{};                  // of the type and all types reachable from it
  std::size_t largest = 0;        // the largest of `sizes`
  std::uint64_t most_fields = 0;  // the most fields in one of these types
};

// A type, or the reason why it is not available.
struct FoundType {
  std::shared_ptr<const MessageType> type = nullptr;
  std::string why{};
  std::uint64_t work = 0;  // cost of the first lookup, in fields
};

class Types final : public MessageTypes {
 public:
  // Throws the exceptions of the standard library and of libprotobuf.
  Types(const Bytes* files, std::size_t count);
  ~Types() override;

  bool write(std::string_view type, Bytes message, JsonWriter& writer, std::string& why) const noexcept override;

  // Returns the type with a full name. Throws as the constructor.
  FoundType find(std::string_view name) const;
  // The maximum cost of a message; a larger one is not parsed. All messages in an Any of a record may together have as
  // many fields.
  static constexpr Cost kMost{.memory = 256u << 20, .fields = 64u << 20};

 private:
  // A message object to parse into and print from, reused for messages of one type.
  struct Workplace;

  void build(pb::FileDescriptorProto& file);
  void note_failure(const pb::FileDescriptorProto& file, const std::string& why);
  FoundType make(const pb::Descriptor* descriptor) const;
  std::string find_inner_types(MessageType& type, std::uint64_t& work) const;
  void make_prototypes(MessageType& type) const;
  bool write_message(std::string_view name, Bytes message, JsonWriter& writer, std::string& why) const;
  std::unique_ptr<Workplace> take_workplace(const MessageType& type) const;
  void give_back(std::unique_ptr<Workplace> place, const MessageType& type, Bytes message) const;

  pb::DescriptorPool pool_;
  // Reasons, by the names of the types that could not be built
  std::map<std::string, std::shared_ptr<const std::string>, std::less<>> failures_;
  mutable pb::DynamicMessageFactory factory_;
  mutable std::mutex mutex_;  // guards the members below
  mutable std::map<std::string, FoundType, std::less<>> found_;
  mutable std::uint64_t work_of_found_ = 0;
  mutable std::map<const pb::Descriptor*, std::vector<std::unique_ptr<Workplace>>> places_;
};

}  // namespace recordfs::messages
