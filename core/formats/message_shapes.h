// Recognizes protobuf messages by their fields, for formats that do not state the types of their records.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "core/base/bytes.h"
#include "core/base/protobuf.h"

namespace recordfs {

// Immutable. Functions are thread-safe.
class MessageShapes {
 public:
  // `types`: as of built_in_types(), of which none contains itself. Throws std::bad_alloc.
  explicit MessageShapes(std::string_view types);

  // Returns whether a message has nothing but fields of a type, each with its wire type: strings in UTF-8, and fields
  // that do not repeat, or exclude each other, at most once. The same must be true of the messages in it. REQUIRES: the
  // type is that of a message.
  bool fits(std::string_view type, Bytes message) const;

 private:
  struct Field {
    protobuf::WireType wire_type = protobuf::WireType::kVarint;
    bool is_text = false;
    bool is_repeated = false;
    std::string message{};  // the type of its content; empty: no message
    std::string oneof{};    // empty: none
  };
  using Fields = std::map<std::uint32_t, Field>;

  bool fits(const Field& field, const protobuf::Field& found, Bytes content) const;

  std::map<std::string, Fields, std::less<>> types_;  // also enumerations, without fields
};

}  // namespace recordfs
