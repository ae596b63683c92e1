// What a record says, where its format knows: a small tree of values over the record's bytes. Protobuf messages are
// leaves: whoever has their types decodes them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "core/base/bytes.h"

namespace recordfs {

// A serialized protobuf message.
struct Message {
  std::string_view type;  // full name, without a leading dot; "" where it is not known
  Bytes bytes;
};

struct Member;

// Bytes, types and names that it points to are the record's or static, and have to outlive it. Formats keep it in
// bounds: Limits::parts_per_record values in one tree, Limits::nesting_depth of them inside each other.
struct Value {
  using List = std::vector<Value>;
  using Object = std::vector<Member>;  // in the order in which it is shown; names are all different

  // Text is UTF-8. Bytes are any.
  std::variant<std::monostate, bool, std::int64_t, std::uint64_t, double, std::string, Bytes, Message, List, Object> is;
};

// A member without a name has a Message, whose type and content are then told among the members around it.
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
