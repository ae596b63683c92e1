#include "core/python/parts.h"

#include <cstddef>
#include <memory>
#include <string_view>
#include <type_traits>
#include <variant>

#include <fmt/format.h>

namespace recordfs::python {
namespace {

std::string encoded(std::string_view name) {
  std::string text;
  for (const char c : name) {
    if (c == '/' || c == '%') {
      text += c == '/' ? "%2F" : "%25";
    } else {
      text += c;
    }
  }
  return text;
}

// Returns the message that a value is or ends with; null if there is none.
const Message* message_in(const Value& value) {
  const auto* const members = std::get_if<Value::Object>(&value.is);
  const bool ends_with_one = members != nullptr && !members->empty() && members->back().name.empty();
  return std::get_if<Message>(ends_with_one ? &members->back().value.is : &value.is);
}

std::string name_in_list(const Value& entry, std::size_t index, bool at_top) {
  if (const auto* members = std::get_if<Value::Object>(&entry.is); members != nullptr && message_in(entry) != nullptr) {
    if (const auto* number = std::get_if<std::uint64_t>(&members->front().value.is)) return std::to_string(*number);
  }
  return fmt::format("{:0{}}", index, at_top ? 6 : 1);
}

std::string line_of(const Value& value) {
  return std::visit(
      [](const auto& content) -> std::string {
        using Content = std::remove_cvref_t<decltype(content)>;
        if constexpr (std::is_arithmetic_v<Content>) return fmt::format("{}\n", content);
        if constexpr (std::is_same_v<Content, std::string>) {
          return content.empty() || content.ends_with('\n') ? content : content + '\n';
        }
        return {};
      },
      value.is);
}

void add(const std::string& name, const Value& value, const Slice& record, std::vector<NamedPart>& parts) {
  const std::string prefix = name.empty() ? name : name + '/';
  if (const Message* message = name.empty() ? nullptr : message_in(value)) {
    parts.push_back({name, {message->bytes, record.owner}});
  } else if (const auto* list = std::get_if<Value::List>(&value.is)) {
    for (std::size_t i = 0; i < list->size(); ++i) {
      add(prefix + name_in_list((*list)[i], i, name.empty()), (*list)[i], record, parts);
    }
  } else if (const auto* members = std::get_if<Value::Object>(&value.is)) {
    for (const Member& member : *members) add(prefix + encoded(member.name), member.value, record, parts);
  } else if (name.empty()) {
    return;  // the record has no parts
  } else if (const auto* bytes = std::get_if<Bytes>(&value.is)) {
    parts.push_back({name, {*bytes, record.owner}});
  } else {
    const auto line = std::make_shared<const std::string>(line_of(value));
    parts.push_back({name, {as_bytes(*line), line}});
  }
}

}  // namespace

std::vector<NamedPart> named_parts(const RecordParts& parts) {
  std::vector<NamedPart> named;
  add({}, parts.value, parts.record, named);
  return named;
}

}  // namespace recordfs::python
