#include "core/decoding/protobuf/message_memory.h"

#include <algorithm>
#include <vector>

#include "core/base/cursor.h"
#include "core/base/protobuf.h"

namespace recordfs::messages {
namespace {

using protobuf::Field;
using protobuf::WireType;

constexpr std::uint64_t kShortestField = 2;   // bytes
constexpr std::uint64_t kPerField = 64;       // a string object, an unknown field, or an element of a grown list
constexpr std::uint64_t kPerByte = 2;         // per byte of content: a buffer may have twice the capacity
constexpr std::uint64_t kPerPackedByte = 16;  // a one-byte varint becomes an eight-byte number in a grown list
constexpr std::uint64_t kPerMessage = 32;     // in addition to the size of its type
constexpr std::size_t kDepth = 100;           // the nesting limit of libprotobuf

// Adds up the cost of fields. Uses an explicit list instead of recursion for nested messages.
class Count {
 public:
  Count(const MessageType& type, const Cost& limit) : type_(type), limit_(limit) {}

  Cost of(Bytes message) {
    enter(type_.descriptor, message);
    while (!open_.empty() && sum_.is_within(limit_)) {
      if (open_.back().rest.at_end()) {
        open_.pop_back();
      } else if (!take_field()) {
        break;  // libprotobuf stops parsing here too
      }
    }
    return sum_;
  }

 private:
  struct Open {
    const pb::Descriptor* type;  // null if the type is unknown
    Cursor rest;
    bool is_group = false;
  };

  void enter(const pb::Descriptor* type, Bytes content) {
    add_message(type);
    open_.push_back({type, Cursor(content)});
  }

  void add_message(const pb::Descriptor* type) {
    const auto size = type_.sizes.find(type);
    sum_.memory += kPerMessage + (size == type_.sizes.end() ? type_.largest : size->second);
    if (type != nullptr) sum_.fields += static_cast<std::uint64_t>(type->field_count());
  }

  static const pb::FieldDescriptor* known(const pb::Descriptor* type, std::uint32_t number) {
    if (type == nullptr) return nullptr;
    const auto number_of_field = static_cast<int>(number);
    if (const auto* field = type->FindFieldByNumber(number_of_field)) return field;
    return type->file()->pool()->FindExtensionByNumber(type, number_of_field);
  }

  bool take_field() {
    Open& open = open_.back();
    const Field field = protobuf::read_field(open.rest);
    const Bytes content = open.rest.take(field.size);
    if (!open.rest.ok()) return false;
    sum_.memory += kPerField;
    const auto* const known_field = known(open.type, field.number);
    const bool is_message = known_field != nullptr && known_field->cpp_type() == pb::FieldDescriptor::CPPTYPE_MESSAGE;
    const pb::Descriptor* const inner = is_message ? known_field->message_type() : nullptr;
    if (field.type == WireType::kGroupStart) return begin_group(inner);
    if (field.type == WireType::kGroupEnd) return end_group();
    if (field.type != WireType::kLengthDelimited) return true;
    if (inner != nullptr) {
      if (open_.size() >= kDepth) return false;
      enter(inner, content);
    } else {
      const bool may_be_packed = known_field != nullptr && known_field->is_packable();
      sum_.memory += content.size() * (may_be_packed ? kPerPackedByte : kPerByte);
    }
    return true;
  }

  // The content of a group continues in the bytes of the enclosing message.
  bool begin_group(const pb::Descriptor* type) {
    if (open_.size() >= kDepth) return false;
    const Cursor rest = open_.back().rest;
    add_message(type);
    open_.push_back({type, rest, true});
    return true;
  }

  bool end_group() {
    if (!open_.back().is_group) return false;
    const Cursor rest = open_.back().rest;
    open_.pop_back();
    open_.back().rest = rest;
    return true;
  }

  const MessageType& type_;
  const Cost limit_;
  Cost sum_;
  std::vector<Open> open_;
};

}  // namespace

std::uint64_t most_memory(const MessageType& type, Bytes message) {
  const std::uint64_t per_message = type.largest + kPerMessage + kPerField;
  return type.largest + message.size() * std::max(per_message / kShortestField, kPerPackedByte);
}

std::uint64_t most_fields(const MessageType& type, Bytes message) {
  return (message.size() / kShortestField + 1) * type.most_fields;
}

Cost counted_cost(const MessageType& type, Bytes message, const Cost& limit) { return Count(type, limit).of(message); }

}  // namespace recordfs::messages
