#include "core/decoding/json_object.h"

#include <algorithm>

#include "core/base/utf8.h"

namespace recordfs {
namespace {

std::string shown(std::string_view bytes) {
  std::string text;
  while (!bytes.empty()) {
    const std::size_t size = utf8_character(bytes);
    text.append(size > 0 ? bytes.substr(0, size) : std::string_view("\xEF\xBF\xBD"));
    bytes.remove_prefix(std::max<std::size_t>(size, 1));
  }
  return text;
}

struct Writer {
  void operator()(std::monostate) const { json.literal("null"); }
  void operator()(bool value) const { json.literal(value ? "true" : "false"); }
  void operator()(std::uint64_t value) const { json.number(value); }
  void operator()(double value) const { json.number(value); }
  void operator()(const std::string& value) const { json.string(shown(value)); }
  void operator()(const JsonObject& value) const {
    json.begin_object();
    for (const JsonObject::Member& member : value.members) {
      json.name(shown(member.name));
      std::visit(*this, member.content);
    }
    json.end_object();
  }
  void operator()(const JsonObject::List& value) const {
    json.begin_list();
    for (const JsonObject& item : value) (*this)(item);
    json.end_list();
  }

  JsonWriter& json;
};

}  // namespace

// Defined where Member is complete.
JsonObject::JsonObject() = default;
JsonObject::JsonObject(const JsonObject&) = default;
JsonObject::JsonObject(JsonObject&&) noexcept = default;
JsonObject& JsonObject::operator=(const JsonObject&) = default;
JsonObject& JsonObject::operator=(JsonObject&&) noexcept = default;
JsonObject::~JsonObject() = default;

void JsonObject::put(std::string_view name, Content content) {
  const auto known = std::ranges::find(members, name, &Member::name);
  if (known == members.end()) {
    members.push_back({std::string(name), std::move(content)});
  } else {
    known->content = std::move(content);
  }
}

const JsonObject::Content* JsonObject::find(std::string_view name) const {
  const auto known = std::ranges::find(members, name, &Member::name);
  return known == members.end() ? nullptr : &known->content;
}

std::string to_json(const JsonObject& object, JsonLayout layout) {
  std::string text;
  JsonWriter json(text, layout, UINT64_MAX / 2);
  Writer{json}(object);
  return std::move(text += '\n');
}

}  // namespace recordfs
