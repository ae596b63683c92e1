// Decodes records. FORMAT.md, "JSON".
#include <algorithm>
#include <bit>
#include <chrono>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "core/base/utf8.h"
#include "core/formats/avro/encoding.h"
#include "core/formats/avro/schema.h"
#include "core/formats/shortest_digits.h"

namespace recordfs::avro {
namespace {

constexpr std::uint32_t kLevelsOfAnObject = 2;
constexpr std::uint32_t kLevelsOfAMap = 3;   // which may be a list of objects
constexpr std::size_t kLongestDecimal = 64;  // bytes; longer ones are shown as bytes

Error no_record() { return {Code::kDamage, 0, "the record does not match the schema"}; }

Value text_or_bytes(Bytes bytes) {
  if (is_utf8(as_text(bytes))) return Value{std::string(as_text(bytes))};
  return Value{bytes};
}

// Returns the digits of a big-endian two's complement number, with `scale` of them after a point.
std::string decimal_text(Bytes bytes, std::uint64_t scale) {
  const bool is_negative = !bytes.empty() && (bytes.front() & std::byte{0x80}) != std::byte{0};
  std::vector<unsigned> magnitude;  // most significant byte first
  for (const std::byte byte : bytes) magnitude.push_back(std::to_integer<unsigned>(is_negative ? ~byte : byte));
  for (std::size_t i = magnitude.size(); is_negative && i-- > 0 && ++magnitude[i] > 0xFF;) magnitude[i] = 0;
  std::string digits;  // least significant first
  while (std::ranges::any_of(magnitude, [](unsigned byte) { return byte != 0; })) {
    unsigned rest = 0;
    for (unsigned& byte : magnitude) {
      const unsigned number = rest << 8 | byte;
      byte = number / 10;
      rest = number % 10;
    }
    digits.push_back(static_cast<char>('0' + rest));
  }
  digits.append(digits.size() <= scale ? static_cast<std::size_t>(scale) + 1 - digits.size() : 0, '0');
  if (scale > 0) digits.insert(static_cast<std::size_t>(scale), 1, '.');
  if (is_negative) digits.push_back('-');
  std::ranges::reverse(digits);
  return digits;
}

// Returns a date of the years 1 to 9999; empty for another one.
std::string date_text(std::int64_t days) {
  constexpr std::int64_t kFirst = -719162;
  constexpr std::int64_t kLast = 2932896;
  if (days < kFirst || days > kLast) return {};
  const std::chrono::year_month_day date{std::chrono::sys_days(std::chrono::days(days))};
  return fmt::format("{:04}-{:02}-{:02}", static_cast<int>(date.year()), static_cast<unsigned>(date.month()),
                     static_cast<unsigned>(date.day()));
}

// Returns a time of a day, of `ticks` since midnight, of which a second has `unit`, a power of 1000; empty if it is
// none.
std::string time_text(std::int64_t ticks, std::int64_t unit) {
  constexpr std::int64_t kSecondsOfADay = std::int64_t{24} * 60 * 60;
  if (ticks < 0 || ticks / unit >= kSecondsOfADay) return {};
  const std::int64_t seconds = ticks / unit;
  const int digits = unit == 1000 ? 3 : unit == 1000000 ? 6 : 9;
  return fmt::format("{:02}:{:02}:{:02}.{:0{}}", seconds / 3600, seconds / 60 % 60, seconds % 60, ticks % unit, digits);
}

std::string uuid_text(Bytes bytes) {
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += fmt::format("{:02x}", std::to_integer<unsigned>(bytes[i]));
  }
  return text;
}

Value duration(Bytes bytes) {
  Cursor cursor(bytes);
  Value::Object members;
  for (const std::string_view name : {"months", "days", "millis"}) {
    add_member(members, name, std::uint64_t{cursor.u32_le()});
  }
  return Value{std::move(members)};
}

}  // namespace

// Makes the value of one record.
class ValueMaker {
 public:
  ValueMaker(const Schema& schema, Bytes record, const Limits& limits)
      : schema_(schema),
        cursor_(record),
        room_(limits.parts_per_record),
        text_room_(limits.metadata_bytes),
        deepest_(kLevelsOfAnObject * limits.nesting_depth) {}

  Result<Value> run() {
    ASSIGN_OR_RETURN(auto value, make(0, 0));
    if (!cursor_.ok() || !cursor_.at_end()) return no_record();
    return value;
  }

 private:
  using Node = Schema::Node;
  using Type = Schema::Type;
  using Logical = Schema::Logical;

  // `depth`: of the value in the JSON text, as JsonWriter::nesting() counts it.
  Result<Value> make(std::uint32_t index, std::uint32_t depth) {
    if (depth > deepest_ || room_ == 0) {
      return Error{Code::kLimit, 0, room_ == 0 ? "the record has too many values" : "the record nests too deeply"};
    }
    --room_;
    const Node& node = schema_.nodes_[index];
    switch (node.type) {
      case Type::kNull: return Value{};
      case Type::kBoolean: return boolean();
      case Type::kInt:
      case Type::kLong: return number(node);
      case Type::kFloat: return checked(Value{with_its_digits(std::bit_cast<float>(cursor_.u32_le()))});
      case Type::kDouble: return checked(Value{std::bit_cast<double>(cursor_.u64_le())});
      case Type::kString: return checked(text_or_bytes(cursor_.take(read_size(cursor_))));
      case Type::kBytes: return bytes(node, read_size(cursor_));
      case Type::kFixed: return bytes(node, *node.fixed_size);
      case Type::kEnum: return symbol(node);
      case Type::kUnion: return branch(node, depth);
      case Type::kArray: return list(node, depth);
      case Type::kMap: return map(node, depth);
      case Type::kRecord: return record(node, depth);
    }
    return no_record();
  }

  Result<Value> checked(Value value) const { return cursor_.ok() ? Result<Value>(std::move(value)) : no_record(); }

  Result<Value> boolean() {
    const std::uint8_t byte = cursor_.u8();
    if (byte > 1) cursor_.fail();
    return checked(Value{byte != 0});
  }

  Result<Value> number(const Node& node) {
    const std::int64_t number = read_long(cursor_);
    if (node.type == Type::kInt && (number < INT32_MIN || number > INT32_MAX)) cursor_.fail();
    std::string text = text_of_time(node, number);
    return checked(text.empty() ? Value{number} : Value{std::move(text)});
  }

  // Returns the number as a date or a time; empty if it is neither, or none that ISO 8601 can express.
  static std::string text_of_time(const Node& node, std::int64_t number) {
    const auto unit = static_cast<std::int64_t>(node.unit);
    if (node.logical == Logical::kDate) return date_text(number);
    if (node.logical == Logical::kTime) return time_text(number, unit);
    if (node.logical != Logical::kTimestamp && node.logical != Logical::kLocalTimestamp) return {};
    const std::int64_t day = std::int64_t{24} * 60 * 60 * unit;
    const std::int64_t rest = number % day;
    const std::string date = date_text(number / day - (rest < 0 ? 1 : 0));
    if (date.empty()) return {};
    return fmt::format("{}T{}{}", date, time_text(rest < 0 ? rest + day : rest, unit),
                       node.logical == Logical::kTimestamp ? "Z" : "");
  }

  Result<Value> bytes(const Node& node, std::uint64_t size) {
    const Bytes content = cursor_.take(size);
    if (!cursor_.ok()) return no_record();
    if (node.logical == Logical::kDecimal && content.size() <= kLongestDecimal) {
      return made_text(decimal_text(content, node.unit));
    }
    if (node.logical == Logical::kUuid) return Value{uuid_text(content)};
    return node.logical == Logical::kDuration ? duration(content) : Value{content};
  }

  // Returns a text that a few bytes of the record stand for.
  Result<Value> made_text(std::string text) {
    if (text.size() > text_room_) return Error{Code::kLimit, 0, "the record has too much text"};
    text_room_ -= text.size();
    return Value{std::move(text)};
  }

  Result<Value> symbol(const Node& node) {
    const auto index = read_index(cursor_, node.words.size());
    if (!index) return no_record();
    return made_text(node.words[*index]);
  }

  // A branch that is an object has its type's name around it, if others are objects too.
  Result<Value> branch(const Node& node, std::uint32_t depth) {
    const auto index = read_index(cursor_, node.inner.size());
    if (!index) return no_record();
    const bool has_name = node.has_several_objects && schema_.nodes_[node.inner[*index]].is_object();
    ASSIGN_OR_RETURN(auto value, make(node.inner[*index], depth + (has_name ? kLevelsOfAnObject : 0)));
    if (!has_name) return value;
    Value::Object members;
    Member& member = members.emplace_back();
    member.name = schema_.nodes_[node.inner[*index]].name;
    member.value = std::move(value);
    return Value{std::move(members)};
  }

  Result<Value> list(const Node& node, std::uint32_t depth) {
    Value::List values;
    const std::uint64_t least = schema_.nodes_[node.inner.front()].least_size;
    for (;;) {
      const ListBlock block = read_list_block(cursor_, least);
      if (block.count == 0) return checked(Value{std::move(values)});
      for (std::uint64_t i = 0; i < block.count; ++i) {
        ASSIGN_OR_RETURN(auto value, make(node.inner.front(), depth + 1));
        values.push_back(std::move(value));
      }
    }
  }

  // An object; if that would lose something, a list of objects with a key and a value.
  Result<Value> map(const Node& node, std::uint32_t depth) {
    Value::Object members;
    for (;;) {
      const ListBlock block = read_list_block(cursor_, 1);
      if (block.count == 0) break;
      for (std::uint64_t i = 0; i < block.count; ++i) {
        const Bytes key = cursor_.take(read_size(cursor_));
        ASSIGN_OR_RETURN(auto value, make(node.inner.front(), depth + kLevelsOfAMap));
        Member& member = members.emplace_back();
        member.name = as_text(key);
        member.value = std::move(value);
      }
    }
    if (!cursor_.ok()) return no_record();
    std::vector<std::string_view> keys;
    for (const Member& member : members) keys.push_back(member.name);
    std::ranges::sort(keys);
    const bool are_unique = std::ranges::adjacent_find(keys) == keys.end();
    if (are_unique && std::ranges::all_of(keys, is_utf8)) return Value{std::move(members)};
    Value::List entries;
    for (Member& member : members) {
      Value::Object entry;
      entry.push_back({"key", text_or_bytes(as_bytes(member.name))});
      entry.push_back({"value", std::move(member.value)});
      entries.push_back(Value{std::move(entry)});
    }
    return Value{std::move(entries)};
  }

  Result<Value> record(const Node& node, std::uint32_t depth) {
    Value::Object members;
    for (std::size_t i = 0; i < node.inner.size(); ++i) {
      ASSIGN_OR_RETURN(auto value, make(node.inner[i], depth + kLevelsOfAnObject));
      Member& member = members.emplace_back();
      member.name = node.words[i];
      member.value = std::move(value);
    }
    return Value{std::move(members)};
  }

  const Schema& schema_;
  Cursor cursor_;
  std::uint64_t room_;       // for values
  std::uint64_t text_room_;  // in bytes, for texts that are not in the record
  const std::uint32_t deepest_;
};

Result<Value> Schema::value(Bytes record, const Limits& limits) const {
  return ValueMaker(*this, record, limits).run();
}

}  // namespace recordfs::avro
