// The contents of a record as a small tree of values over the record's bytes. Protobuf messages are leaves, which
// callers decode if they have the types.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "core/base/bytes.h"
#include "core/formats/chunk.h"

namespace recordfs {

// What a Value is made for. A format lists the fields of a record once, and arranges or omits a few of them by the
// form.
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
// As parts, an Object or a List is a directory; the top one is the record's own. Its entries are named by their member
// names, or by their index, which has six digits at the top. Bytes are a file, and so is a message. An Object that ends
// with a message without a name is that file; in a List the Object's first member, a number, is its name. Any other
// value is a file of one line, or of several for a string with line breaks.
struct Value {
  using List = std::vector<Value>;
  using Object = std::vector<Member>;  // in display order; names are unique in JSON

  // A std::string is UTF-8 in JSON. Bytes are arbitrary.
  std::variant<std::monostate, bool, std::int64_t, std::uint64_t, double, std::string, Bytes, Message, List, Object> is;
};

// A Message in a member without a name is shown in JSON by its type and content among the other members.
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

// What a record of a database does to a key.
enum class KeyChangeKind : std::uint8_t {
  kSet,          // the key has a value
  kUnknown,      // the key has a value that is not in this container (a merge result, or stored elsewhere)
  kDelete,       // the key is deleted
  kDeleteRange,  // all keys of a range are deleted

  // Of transactions. Changes between kBegin and kPrepare take effect at the transaction's commit, in the commit's
  // place, and never if it is rolled back or has no end. One transaction may have several such sections.
  kBegin,
  kPrepare,  // ends a section, and names its transaction
  kCommit,
  kRollback,
};
using TakeChangeKind = std::function<void(KeyChangeKind)>;

}  // namespace recordfs
