// JsonObject: a JSON object with few members, in display order.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "core/decoding/json_writer.h"

namespace recordfs {

struct JsonObject {
  using List = std::vector<JsonObject>;
  // A string may hold any bytes: those that are not UTF-8 are written as U+FFFD. The empty alternative is null.
  using Content = std::variant<std::monostate, bool, std::uint64_t, double, std::string, JsonObject, List>;
  struct Member;

  JsonObject();
  JsonObject(const JsonObject&);
  JsonObject(JsonObject&&) noexcept;
  JsonObject& operator=(const JsonObject&);
  JsonObject& operator=(JsonObject&&) noexcept;
  ~JsonObject();

  // Appends a member, or replaces the one of this name. `value` is a Content or one of its alternatives, a text, or an
  // optional number.
  template <class T>
  void set(std::string_view name, T&& value) {
    if constexpr (std::is_convertible_v<T, std::string_view>) {
      put(name, Content(std::string(std::string_view(value))));
    } else if constexpr (std::is_same_v<std::remove_cvref_t<T>, std::optional<std::uint64_t>>) {
      put(name, value ? Content(*value) : Content());
    } else {
      put(name, Content(std::forward<T>(value)));
    }
  }
  // Returns the content of a member; null if there is none.
  const Content* find(std::string_view name) const;

  std::vector<Member> members;

 private:
  void put(std::string_view name, Content content);
};

struct JsonObject::Member {
  std::string name;
  Content content;
};

// Returns the object as a document with a final newline.
std::string to_json(const JsonObject& object, JsonLayout layout);

}  // namespace recordfs
