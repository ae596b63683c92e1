// The contents of a record as a small tree of values over the record's bytes. Protobuf messages are leaves, which
// callers decode if they have the types.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "core/base/bytes.h"

namespace recordfs {

// What a Value is made for. Formats make it in one place, and leave out or arrange what differs.
enum class ValueForm : std::uint8_t {
  kJson,   // text
  kParts,  // directories and files: inside/ORDINAL/
};

// A serialized protobuf message.
struct Message {
  std::string_view type;  // full name, without a leading dot; "" if unknown
  Bytes bytes;
};

struct Member;

// Bytes, types and names point into the record or to static storage; the record must outlive the Value. Formats bound
// its size: Limits::parts_per_record values in one tree, Limits::nesting_depth levels.
//
// As parts, a List or Object is a directory, and at the top it is the record's own. An entry of a List is named by its
// index, with six digits at the top. Bytes and messages are files with these bytes, and other values are lines of text.
// An Object with a member without a name is a file, the message, and in a List its first member names it.
struct Value {
  using List = std::vector<Value>;
  using Object = std::vector<Member>;  // in display order; names are unique in JSON

  // A std::string is UTF-8, as parts any text. Bytes are arbitrary.
  std::variant<std::monostate, bool, std::int64_t, std::uint64_t, double, std::string, Bytes, Message, List, Object> is;
};

// A member without a name has a Message, whose type and content are shown among the other members.
struct Member {
  std::string_view name;
  Value value;
};

template <class Content>
void add_member(Value::Object& members, std::string_view name, Content content) {
  Member& member = members.emplace_back();
  member.name = name;
  member.value.is = std::move(content);
}

}  // namespace recordfs
