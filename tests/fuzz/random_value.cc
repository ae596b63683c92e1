#include "tests/fuzz/random_value.h"

#include <algorithm>
#include <bit>
#include <string>
#include <utility>

#include "core/base/limits.h"
#include "core/base/utf8.h"

namespace recordfs::fuzz {
namespace {

constexpr std::uint64_t kMostValues = 2000;

class Maker {
 public:
  Maker(Bytes bytes, std::string_view type) : rest_(bytes), type_(type) {}

  Value make(std::uint32_t depth) {
    ++values_;
    switch (byte() % (may_go_on(depth) ? 11 : 8)) {
      case 0: return {std::monostate()};
      case 1: return {byte() % 2 == 0};
      case 2: return {static_cast<std::int64_t>(number())};
      case 3: return {number()};
      case 4: return {std::bit_cast<double>(number())};
      case 5: return {text()};
      case 6: return {piece()};
      case 7: return {Message{byte() % 4 == 0 ? std::string_view() : type_, piece()}};
      case 8: return {list(depth)};
      default: return {object(depth)};
    }
  }

 private:
  bool may_go_on(std::uint32_t depth) const { return depth > 1 && values_ < kMostValues && !rest_.empty(); }

  std::uint8_t byte() {
    const Bytes taken = take(1);
    return taken.empty() ? std::uint8_t{0} : static_cast<std::uint8_t>(taken[0]);
  }
  std::uint64_t number() {
    std::uint64_t value = 0;
    for (const std::byte next : take(8)) value = value << 8 | static_cast<std::uint8_t>(next);
    return value;
  }
  Bytes take(std::size_t size) {
    const Bytes taken = rest_.first(std::min(size, rest_.size()));
    rest_ = rest_.subspan(taken.size());
    return taken;
  }
  Bytes piece() { return take(byte()); }
  std::string text() { return printable(as_text(piece())); }

  Value::List list(std::uint32_t depth) {
    Value::List values;
    for (int left = byte() % 8; left > 0 && may_go_on(depth); --left) values.push_back(make(depth - 1));
    return values;
  }
  // Names are distinct and valid UTF-8.
  Value::Object object(std::uint32_t depth) {
    static constexpr std::string_view kNames[] = {"a", "b\"", "\\", "\xC3\xA4", "e\n", "f", "g", "h"};
    Value::Object members;
    for (std::size_t left = byte() % 8; left > 0 && may_go_on(depth); --left) {
      members.push_back({kNames[left], make(depth - 1)});
    }
    // A member without a name holds a message.
    if (byte() % 4 == 0 && depth > 1) members.push_back({{}, Value{Message{type_, piece()}}});
    return members;
  }

  Bytes rest_;
  const std::string_view type_;
  std::uint64_t values_ = 0;
};

}  // namespace

Value random_value(Bytes bytes, std::string_view type) { return Maker(bytes, type).make(Limits{}.nesting_depth); }

}  // namespace recordfs::fuzz
