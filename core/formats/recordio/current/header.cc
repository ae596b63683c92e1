#include "core/formats/recordio/current/header.h"

#include <fmt/format.h>

#include "core/base/cursor.h"
#include "core/base/parse_number.h"
#include "core/base/protobuf.h"
#include "core/formats/recordio/table.h"

namespace recordfs::recordio {
namespace {

// Of the names of all transformers together, including their configurations.
constexpr std::uint64_t kLongestNames = 4096;

enum class ValueType : std::uint8_t { kBool = 1, kInt = 2, kUint = 3, kString = 4 };

struct Value {
  std::string_view type;
  std::string text;  // the bytes of a string; other types in readable form
  bool is_true = false;
};

std::int64_t from_zigzag(std::uint64_t number) {
  const std::uint64_t half = number >> 1;
  return static_cast<std::int64_t>((number & 1) != 0 ? ~half : half);
}

// Reads a typed uint. The cursor fails if another type is there.
std::uint64_t read_uint(Cursor& cursor) {
  if (cursor.u8() != static_cast<std::uint8_t>(ValueType::kUint)) cursor.fail();
  return cursor.varint64();
}

// Returns nullopt for an unknown type.
std::optional<Value> read_value(Cursor& cursor) {
  const std::uint8_t type = cursor.u8();
  switch (static_cast<ValueType>(type)) {
    case ValueType::kBool: {
      const bool value = cursor.u8() != 0;
      return Value{"bool", value ? "true" : "false", value};
    }
    case ValueType::kInt: return Value{"int", fmt::format("{}", from_zigzag(cursor.varint64()))};
    case ValueType::kUint: return Value{"uint", fmt::format("{}", cursor.varint64())};
    case ValueType::kString: return Value{"string", std::string(as_text(cursor.take(read_uint(cursor))))};
  }
  return std::nullopt;
}

class HeaderReader {
 public:
  explicit HeaderReader(const Limits& limits) : limits_(limits) {}

  Header read(const RequestContext& context, Bytes content) {
    auto table = parse_table(context, content, content.size(), limits_);
    if (!table) {
      fail(std::move(table).error().detail);
    } else if (!*table || (*table)->end() != content.size()) {
      fail("the header block's table does not fit its content");
    } else if ((*table)->records() != 1) {
      fail(fmt::format("{} items in the header block (expected 1)", (*table)->records()));
    } else {
      const auto begin = static_cast<std::size_t>((*table)->first_begin());
      read_pairs(Cursor(content.subspan(begin)));
    }
    return std::move(header_);
  }

 private:
  void fail(std::string why) { header_.problem = Error{.code = Code::kDamage, .detail = std::move(why)}; }

  void read_pairs(Cursor cursor) {
    const std::uint64_t pairs = read_uint(cursor);
    for (std::uint64_t i = 0; i < pairs && cursor.ok(); ++i) {
      const auto key = read_value(cursor);
      const auto value = key ? read_value(cursor) : std::nullopt;
      if (!cursor.ok()) break;
      if (!value) return fail("a value of an unknown type in the header block");
      if (key->type != "string") return fail("a key in the header block is not a string");
      take(key->text, *value);
    }
    if (!cursor.ok()) fail("the header block ends inside its pairs");
  }

  void hide(std::string why) {
    header_.attributes = {};
    header_.unshown = Error{.code = Code::kLimit, .detail = std::move(why)};
  }

  void take(const std::string& key, const Value& value) {
    if (key == "transformer") {
      const bool fits = value.type == "string" && header_.transformers.size() < limits_.nesting_depth &&
                        value.text.size() <= kLongestNames - named_;
      header_.names_all = header_.names_all && fits;
      if (fits) {
        named_ += value.text.size();
        header_.transformers.push_back(value.text);
      }
    }
    if (key == "trailer" && !seen_trailer_) {
      seen_trailer_ = true;
      header_.declares_trailer = value.is_true;
    }
    if (header_.unshown) return;
    const std::uint64_t size = sizeof(Attribute) + key.size() + value.text.size();
    if (header_.attributes.size() == limits_.metadata_values) {
      return hide(fmt::format("more than {} keys in the header block", limits_.metadata_values));
    }
    if (size > limits_.metadata_bytes - kept_) {
      return hide(fmt::format("more than {} bytes of metadata in the header block", limits_.metadata_bytes));
    }
    kept_ += size;
    header_.attributes.push_back({key, std::string(value.type), value.text});
  }

  const Limits& limits_;
  Header header_;
  std::uint64_t kept_ = 0;
  std::uint64_t named_ = 0;  // bytes of the transformers' names so far
  bool seen_trailer_ = false;
};

void append_type(std::string& out, ValueType type) { out.push_back(static_cast<char>(type)); }

void append_uint(std::string& out, std::uint64_t number) {
  append_type(out, ValueType::kUint);
  protobuf::append_varint(out, number);
}

void append_string(std::string& out, std::string_view text) {
  append_type(out, ValueType::kString);
  append_uint(out, text.size());
  out += text;
}

// Returns false if the text is not a value of the type.
bool append_value(std::string& out, const Attribute& attribute) {
  if (attribute.type == "string") {
    append_string(out, attribute.value);
    return true;
  }
  if (attribute.type == "bool") {
    append_type(out, ValueType::kBool);
    out.push_back(attribute.value == "true" ? '\1' : '\0');
    return true;
  }
  if (attribute.type == "int") {
    const auto number = parse_number<std::int64_t>(attribute.value);
    append_type(out, ValueType::kInt);
    const auto bits = static_cast<std::uint64_t>(number.value_or(0));
    protobuf::append_varint(out, number.value_or(0) < 0 ? ~(bits << 1) : bits << 1);
    return number.has_value();
  }
  const auto number = parse_number<std::uint64_t>(attribute.value);
  append_uint(out, number.value_or(0));
  return number && attribute.type == "uint";
}

}  // namespace

Result<std::string> header_item(const std::vector<Attribute>& attributes) {
  std::string item;
  append_uint(item, attributes.size());
  for (const Attribute& attribute : attributes) {
    append_string(item, attribute.key);
    if (append_value(item, attribute)) continue;
    return Error{.code = Code::kUnsupported,
                 .detail = fmt::format("metadata of a type that recordio does not have: {}", attribute.type)};
  }
  return item;
}

Header parse_header(const RequestContext& context, Bytes content, const Limits& limits) {
  return HeaderReader(limits).read(context, content);
}

}  // namespace recordfs::recordio
