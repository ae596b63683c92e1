#include "core/base/protobuf.h"

#include <utility>

namespace recordfs::protobuf {
namespace {

Error broken() { return {.code = Code::kDamage, .detail = "not a valid protobuf message"}; }

}  // namespace

Field read_field(Cursor& cursor) {
  const std::uint32_t tag = cursor.varint32();
  Field field{.number = tag >> 3};
  if (field.number == 0 || (tag & 7) > static_cast<std::uint32_t>(WireType::kFixed32)) {
    cursor.fail();
    return {};
  }
  field.type = static_cast<WireType>(tag & 7);
  switch (field.type) {
    case WireType::kVarint: field.value = cursor.varint64(); break;
    case WireType::kFixed64: field.size = 8; break;
    case WireType::kLengthDelimited: field.size = cursor.varint32(); break;
    case WireType::kFixed32: field.size = 4; break;
    case WireType::kGroupStart:
    case WireType::kGroupEnd: break;
  }
  return field;
}

Result<bool> Groups::note(const Field& field) {
  const bool at_top = open_.empty();
  if (field.type == WireType::kGroupStart) {
    if (open_.size() >= depth_limit_) return Error{.code = Code::kLimit, .detail = "message nested too deeply"};
    open_.push_back(field.number);
  } else if (field.type == WireType::kGroupEnd) {
    if (at_top || open_.back() != field.number) return broken();
    open_.pop_back();
  }
  return at_top;
}

bool MessageReader::next() {
  Bytes group;  // what follows the start of one
  while (outcome_ && !cursor_.at_end()) {
    const Bytes rest = cursor_.rest();
    const Field field = read_field(cursor_);
    const Bytes content = cursor_.take(field.size);
    if (!cursor_.ok()) break;
    auto at_top = groups_.note(field);
    if (!at_top) {
      outcome_ = std::move(at_top).error();
      break;
    }
    if (*at_top) {
      field_ = field;
      content_ = content;
      group = cursor_.rest();
    } else if (groups_.closed()) {
      content_ = group.first(group.size() - rest.size());
    }
    if (groups_.closed()) return true;
  }
  return false;
}

Result<void> MessageReader::finish() const {
  if (!outcome_) return outcome_;
  if (!cursor_.ok() || !groups_.closed()) return broken();
  return {};
}

void append_varint(std::string& out, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) out.push_back(static_cast<char>(value | 0x80));
  out.push_back(static_cast<char>(value));
}

void append_field(std::string& out, std::uint32_t number, std::string_view content) {
  append_varint(out, std::uint64_t{number} << 3 | static_cast<std::uint64_t>(WireType::kLengthDelimited));
  append_varint(out, content.size());
  out += content;
}

}  // namespace recordfs::protobuf
