// Writes a parsed message as protobuf JSON, by reflection.
//
// recordfs does not use the JSON printer of libprotobuf. Version 3.21 omits groups, writes the null of a Struct as a
// word, and is several times slower; later versions write different digits.
//
// Fields have the names of the .proto file. Fields without presence are omitted if they have their default. Maps are
// sorted by key. Well-known types have their special form if their content allows it, otherwise the form of any other
// message.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/decoding/json_writer.h"
#include "core/decoding/protobuf/library.h"

namespace recordfs::messages {

class Types;
struct FoundType;

// Field lists that are reused from one message to the next, one for each nesting level.
using FieldLists = std::vector<std::vector<const pb::FieldDescriptor*>>;

// Prints one message. Not thread-safe.
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
  void write_field(const pb::Message& message, const pb::FieldDescriptor* field);
  void write_list(const pb::Message& message, const pb::FieldDescriptor* field);
  void write_map(const pb::Message& message, const pb::FieldDescriptor* field);
  // Writes the value of a field, or element `index` of a repeated field.
  void write_value(const pb::Message& message, const pb::FieldDescriptor* field, int index);
  void write_text(const std::string& text, const pb::FieldDescriptor* field);
  void write_enum(int number, const pb::FieldDescriptor* field);

  // Each writes a well-known type in its special form. If the content has no such form, returns false and writes
  // nothing.
  bool write_special(const pb::Message& message);
  bool write_any(const pb::Message& message);
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
