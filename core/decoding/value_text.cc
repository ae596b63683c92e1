#include "core/decoding/value_text.h"

#include <cstdint>
#include <string>
#include <variant>

namespace recordfs {
namespace {

// A visitor that writes each kind of value.
class Writing {
 public:
  Writing(JsonWriter& writer, const WriteMessage& write_message) : writer_(writer), write_message_(write_message) {}

  void operator()(std::monostate) const { writer_.literal("null"); }
  void operator()(bool value) const { writer_.literal(value ? "true" : "false"); }
  void operator()(std::int64_t value) const { writer_.number(value); }
  void operator()(std::uint64_t value) const { writer_.number(value); }
  void operator()(double value) const { writer_.number(value); }
  void operator()(const std::string& value) const { writer_.string(value); }
  void operator()(Bytes value) const {
    writer_.begin_object();
    writer_.bytes("text", "base64", value);
    writer_.end_object();
  }
  void operator()(const Message& value) const {
    writer_.begin_object();
    write_message_(writer_, value);
    writer_.end_object();
  }
  void operator()(const Value::List& values) const {
    writer_.begin_list();
    for (const Value& value : values) {
      if (writer_.is_full()) return;
      write_value(writer_, value, write_message_);
    }
    writer_.end_list();
  }
  void operator()(const Value::Object& members) const {
    writer_.begin_object();
    for (const Member& member : members) {
      if (writer_.is_full()) return;
      write_member(writer_, member.name, member.value, write_message_);
    }
    writer_.end_object();
  }

 private:
  JsonWriter& writer_;
  const WriteMessage& write_message_;
};

}  // namespace

void write_value(JsonWriter& writer, const Value& value, const WriteMessage& write_message) {
  std::visit(Writing(writer, write_message), value.is);
}

void write_member(JsonWriter& writer, std::string_view name, const Value& value, const WriteMessage& write_message) {
  const auto* message = std::get_if<Message>(&value.is);
  if (name.empty() && message != nullptr) return write_message(writer, *message);
  if (const auto* bytes = std::get_if<Bytes>(&value.is)) {
    return writer.bytes(name, std::string(name) + "_base64", *bytes);
  }
  writer.name(name);
  write_value(writer, value, write_message);
}

}  // namespace recordfs
