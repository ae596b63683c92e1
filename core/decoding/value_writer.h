// ValueWriter: writes a Value as JSON.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "core/base/bytes.h"
#include "core/decoding/json_writer.h"
#include "core/formats/value.h"

namespace recordfs {

// Writes the members of a message to an open object.
using WriteMessage = std::function<void(const Message& message)>;

// Writes values: bytes as an object with "text" or "base64", a message as an object with the members from
// `write_message`, NaN and the infinities as strings, and all other numbers as JSON numbers.
class ValueWriter {
 public:
  ValueWriter(JsonWriter& writer, WriteMessage write_message)
      : writer_(writer), write_message_(std::move(write_message)) {}

  void write(const Value& value) const { std::visit(*this, value.is); }

  // Writes a member of an open object. Bytes become "NAME":"..." if they are UTF-8, otherwise "NAME_base64":"...". The
  // members of a message without a name are written to the object directly.
  void write_member(std::string_view name, const Value& value) const {
    const auto* message = std::get_if<Message>(&value.is);
    if (name.empty() && message != nullptr) return write_message_(*message);
    if (const auto* bytes = std::get_if<Bytes>(&value.is)) {
      return writer_.bytes(name, std::string(name) + "_base64", *bytes);
    }
    writer_.name(name);
    if (!writer_.skips_next()) write(value);
  }

  void operator()(std::monostate) const { writer_.literal("null"); }
  void operator()(bool value) const { writer_.literal(value ? "true" : "false"); }
  void operator()(std::int64_t value) const { writer_.number(value); }
  void operator()(std::uint64_t value) const { writer_.number(value); }
  void operator()(double value) const { writer_.number(value); }
  void operator()(const std::string& value) const { writer_.string(value); }
  void operator()(Bytes value) const { writer_.bytes(value); }
  void operator()(const Message& value) const {
    writer_.begin_object();
    write_message_(value);
    writer_.end_object();
  }
  void operator()(const Value::List& values) const {
    writer_.begin_list();
    for (const Value& value : values) {
      if (writer_.is_full()) return;
      write(value);
    }
    writer_.end_list();
  }
  // Bytes in base64 or hexadecimal must not get the name of another member: if NAME_base64 or NAME_hex is one, the
  // bytes NAME are an object, as in a list.
  void operator()(const Value::Object& members) const {
    const auto taken = names_with_suffix(members);
    writer_.begin_object();
    for (const Member& member : members) {
      if (writer_.is_full()) return;
      if (std::ranges::binary_search(taken, member.name) && std::holds_alternative<Bytes>(member.value.is)) {
        writer_.name(member.name);
        if (!writer_.skips_next()) write(member.value);
      } else {
        write_member(member.name, member.value);
      }
    }
    writer_.end_object();
  }

 private:
  // Returns the names that members have before "_base64" or "_hex", sorted.
  static std::vector<std::string_view> names_with_suffix(const Value::Object& members) {
    std::vector<std::string_view> names;
    for (const Member& member : members) {
      for (const std::string_view suffix : {"_base64", "_hex"}) {
        if (member.name.ends_with(suffix)) names.push_back(member.name.substr(0, member.name.size() - suffix.size()));
      }
    }
    std::ranges::sort(names);
    return names;
  }

  JsonWriter& writer_;
  const WriteMessage write_message_;
};

}  // namespace recordfs
