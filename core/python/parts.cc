#include "core/python/parts.h"

#include <cstddef>
#include <memory>
#include <string_view>
#include <variant>

#include "core/formats/part_names.h"

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
