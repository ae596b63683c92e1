// The message types of a set of files: the pool that builds them, the message objects to parse into, and their printer.
//
// Only silence_libprotobuf() and build_file() depend on the version of libprotobuf. All other code in this folder uses
// only features that exist in every version since 3.21.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>
#include <google/protobuf/dynamic_message.h>
#include <google/protobuf/message.h>

#include "core/base/bytes.h"
#include "core/decoding/json_writer.h"
#include "core/decoding/message_types.h"

namespace recordfs::messages {

namespace pb = google::protobuf;

// Converts a name to a view. Names are std::string in some versions and views in others.
template <class Text>
std::string_view view(const Text& text) {
  return {text.data(), text.size()};
}

// Builds a file in a pool. Returns "" on success, otherwise the first error.
std::string build_file(pb::DescriptorPool& pool, const pb::FileDescriptorProto& file);

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

// Returns an upper bound of the memory of a parsed message in bytes, from the message size alone: a few bytes may
// represent a message of a type with thousands of fields. Thread-safe.
std::uint64_t most_memory(const MessageType& type, Bytes message);

// Returns an upper bound of Cost::fields, from the message size alone. Thread-safe.
std::uint64_t most_fields(const MessageType& type, Bytes message);

// Returns upper bounds of both by scanning the fields. Stops when `limit` is exceeded; the result is then more than
// `limit`. Thread-safe.
Cost counted_cost(const MessageType& type, Bytes message, const Cost& limit);

// Field lists that are reused from one message to the next, one for each nesting level.
using FieldLists = std::vector<std::vector<const pb::FieldDescriptor*>>;

// Writes a parsed message as protobuf JSON, by reflection. Not thread-safe.
//
// recordfs does not use the JSON printer of libprotobuf. Version 3.21 omits groups, writes the null of a Struct as a
// word, and is several times slower; later versions write different digits.
//
// Fields have the names of the .proto file. Fields without presence are omitted if they have their default. Maps are
// sorted by key. Well-known types have their special form if their content allows it, otherwise the form of any other
// message.
class Printer {
 public:
  // The arguments must outlive the printer. `types` resolves messages in an Any.
  Printer(const Types& types, JsonWriter& writer, FieldLists& lists) : types_(types), writer_(writer), lists_(lists) {}

  // Writes a message. Returns false if part of it has no JSON form; take_why() returns the reason.
  bool write(const pb::Message& message);
  std::string take_why() { return std::move(why_); }

 private:
  void write_message(const pb::Message& message);
  void write_members(const pb::Message& message);
  // Writes the absent fields that have a value all the same: their default.
  void write_defaults(const pb::Message& message);
  void write_empty_list(const pb::FieldDescriptor* field);
  void write_field(const pb::Message& message, const pb::FieldDescriptor* field);
  void write_list(const pb::Message& message, const pb::FieldDescriptor* field);
  // Writes a map as the list of its entries.
  void write_entries(const pb::Message& message, const pb::FieldDescriptor* field);
  // Writes a map as an object. `has_entries`: its entries are columns, too, unlike those of a Struct.
  void write_map(const pb::Message& message, const pb::FieldDescriptor* field, bool has_entries);
  // Writes the value of a field, or element `index` of a repeated field.
  void write_value(const pb::Message& message, const pb::FieldDescriptor* field, int index);
  void write_text(const std::string& text, const pb::FieldDescriptor* field);
  // Writes bytes as the message that they are by kTypeOfBytes. Returns false, and writes nothing, if they are not known
  // to be one.
  bool write_typed_bytes(const pb::Message& message, const pb::FieldDescriptor* field);
  void write_enum(int number, const pb::FieldDescriptor* field);

  // Each writes a well-known type in its special form. If the content has no such form, returns false and writes
  // nothing.
  bool write_special(const pb::Message& message);
  bool write_any(const pb::Message& message);
  // Writes a message of a type that is found by its name, by `write`. If it cannot, or would take too much memory,
  // returns false and writes nothing.
  bool write_inner(std::string_view type, const std::string& bytes,
                   const std::function<void(const pb::Message& inner)>& write);
  bool write_text_of(const pb::Message& message, std::optional<std::string> (*text_of)(const pb::Message& message));
  bool write_struct(const pb::Message& message);
  bool write_struct_value(const pb::Message& message);
  bool write_list_value(const pb::Message& message);
  bool write_wrapper(const pb::Message& message);

  // Fail and return false if messages in an Any cost too much. The limit applies to all of them in a record together.
  // Each type counts once even if it is cached, so that the result does not depend on earlier records.
  bool spend(std::uint64_t fields);
  bool spend_on_type(const FoundType& found, std::string_view name);

  void fail(std::string why);
  bool goes_on() const { return why_.empty() && !writer_.is_full(); }

  const Types& types_;
  JsonWriter& writer_;
  FieldLists& lists_;
  std::size_t depth_ = 0;         // nesting depth of messages
  std::size_t depth_of_any_ = 0;  // nesting depth of messages in an Any
  std::uint64_t memory_of_any_ = 0;
  std::uint64_t spent_on_any_ = 0;
  std::set<std::string, std::less<>> types_of_any_;
  std::string why_;
};

}  // namespace recordfs::messages
