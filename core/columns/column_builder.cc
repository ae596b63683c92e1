#include "core/columns/column_builder.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "core/base/cursor.h"
#include "core/base/utf8.h"
#include "core/decoding/well_known.h"

namespace recordfs {
namespace {

using protobuf::Field;
using protobuf::MessageReader;
using protobuf::WireType;

constexpr std::uint32_t kGroupDepth = 100;     // of unknown groups
constexpr std::uint64_t kPerValue = 9;         // bytes of budget, besides text
constexpr std::uint64_t kPerOccurrence = 128;  // bytes of budget for each merged message

bool is_text(FieldType type) {
  return type == FieldType::kString || type == FieldType::kBytes || type == FieldType::kEnum;
}

// Returns whether the values only say that a message is present.
bool is_presence(const MessageField& field) { return field.type == FieldType::kMessage && field.fields.empty(); }

// Returns whether the values are bits.
bool is_bool(const MessageField& field) { return field.type == FieldType::kBool || is_presence(field); }

const char* format_of(const MessageField& field) {
  if (is_presence(field)) return "b";
  switch (field.type) {
    case FieldType::kDouble: return "g";
    case FieldType::kFloat: return "f";
    case FieldType::kInt64:
    case FieldType::kSfixed64:
    case FieldType::kSint64: return "l";
    case FieldType::kUint64:
    case FieldType::kFixed64: return "L";
    case FieldType::kInt32:
    case FieldType::kSfixed32:
    case FieldType::kSint32: return "i";
    case FieldType::kUint32:
    case FieldType::kFixed32: return "I";
    case FieldType::kBool: return "b";
    case FieldType::kString:
    case FieldType::kEnum: return "U";
    case FieldType::kBytes:
    case FieldType::kGroup: return "Z";
    case FieldType::kMessage: return "+s";
  }
  return "Z";
}

bool is_message(const MessageField& field) {
  return field.type == FieldType::kMessage || (field.form != MessageForm::kFields && field.form != MessageForm::kNull);
}

// Returns whether a number is no value of a closed enum.
bool is_unknown(const MessageField& field, std::uint64_t encoded) {
  if (!field.is_closed || field.type != FieldType::kEnum || field.enumerators == nullptr) return false;
  return !field.enumerators->contains(static_cast<std::int32_t>(encoded));
}

// REQUIRES: `index` is that of a bit, or of the next one.
void set_bit(std::vector<std::uint8_t>& bits, std::size_t index, bool value) {
  if (index / 8 == bits.size()) bits.push_back(0);
  const auto mask = static_cast<std::uint8_t>(1u << index % 8);
  bits[index / 8] = static_cast<std::uint8_t>(value ? bits[index / 8] | mask : bits[index / 8] & ~mask);
}

std::int64_t from_zigzag(std::uint64_t value) {
  return static_cast<std::int64_t>(value >> 1) ^ -static_cast<std::int64_t>(value & 1);
}

// Returns the bytes of a number as the wire has them.
std::uint64_t fixed_of(WireType type, Bytes content) {
  Cursor cursor(content);
  return type == WireType::kFixed64 ? cursor.u64_le() : cursor.u32_le();
}

MessageField item_of(const MessageField& list) {
  MessageField item = list;
  item.name = "item";
  item.is_repeated = list.inner_lists > 0;
  if (item.is_repeated) --item.inner_lists;
  return item;
}

}  // namespace

ArrowField arrow_field_of(const MessageField& field) {
  if (field.is_repeated) {
    return {.format = "+L",
            .name = field.name,
            .is_nullable = field.has_presence,
            .children = {arrow_field_of(item_of(field))}};
  }
  ArrowField made{.format = format_of(field), .name = field.name, .is_nullable = true};
  for (const MessageField& child : field.fields) made.children.push_back(arrow_field_of(child));
  return made;
}

Result<void> ColumnBudget::take(std::uint64_t bytes) {
  if (bytes > left_) return Error{.code = Code::kLimit, .detail = "decoded content too large"};
  left_ -= bytes;
  return {};
}

ColumnBuilder::ColumnBuilder(const MessageField& field, ColumnBudget& budget, unsigned lists)
    : field_(field), budget_(budget), is_list_(lists > 0) {
  if (is_list_ || is_text(field_.type)) offsets_.push_back(0);
  if (is_list_) {
    children_.push_back(ColumnBuilder(field_, budget_, lists - 1));
    return;
  }
  children_.reserve(field_.fields.size());
  for (const MessageField& child : field_.fields) children_.emplace_back(child, budget_);
  found_.resize(children_.size());
}

void ColumnBuilder::note(bool is_valid) {
  set_bit(validity_, size_++, is_valid);
  if (!is_valid) ++nulls_;
}

void ColumnBuilder::note_valid(std::size_t count) {
  for (; count > 0 && size_ % 8 != 0; --count) note(true);
  if (count == 0) return;
  validity_.resize(size_ / 8 + count / 8, UINT8_MAX);
  size_ += count - count % 8;
  for (count %= 8; count > 0; --count) note(true);
}

template <class Number>
void ColumnBuilder::push(Number number) {
  const auto bytes = std::bit_cast<std::array<std::byte, sizeof(Number)>>(number);
  values_.insert(values_.end(), bytes.begin(), bytes.end());
}

Result<void> ColumnBuilder::append_null() {
  if (is_list_) {
    TRY(append_list());
    if (!field_.has_presence) return {};
    set_bit(validity_, size_ - 1, false);
    ++nulls_;
    return {};
  }
  TRY(budget_.take(kPerValue));
  if (field_.type == FieldType::kMessage && !is_presence(field_)) {
    for (ColumnBuilder& child : children_) TRY(child.append_null());
    note(false);
    return {};
  }
  if (is_text(field_.type)) {
    TRY(append_text({}));
  } else {
    TRY(append_number(0));
  }
  set_bit(validity_, size_ - 1, false);
  ++nulls_;
  return {};
}

Result<void> ColumnBuilder::append_absent() {
  if (field_.has_presence) return append_null();
  if (is_message(field_)) return append_value({}, {});
  if (field_.type == FieldType::kEnum) return append_number(static_cast<std::uint64_t>(field_.default_number));
  if (field_.type == FieldType::kString || field_.type == FieldType::kBytes) return append_text({});
  return append_number(0);
}

Result<void> ColumnBuilder::append_list() {
  TRY(budget_.take(kPerValue));
  offsets_.push_back(static_cast<std::int64_t>(children_.front().size()));
  note(true);
  return {};
}

Result<void> ColumnBuilder::append_text(Bytes text) {
  TRY(budget_.take(kPerValue + text.size()));
  values_.insert(values_.end(), text.begin(), text.end());
  offsets_.push_back(static_cast<std::int64_t>(values_.size()));
  note(true);
  return {};
}

Result<void> ColumnBuilder::append_number(std::uint64_t encoded) {
  if (field_.form == MessageForm::kNull) return append_null();
  if (field_.type == FieldType::kEnum) {
    const auto number = static_cast<std::int32_t>(encoded);
    const auto known = field_.enumerators == nullptr ? Enumerators::const_iterator() : field_.enumerators->find(number);
    if (field_.enumerators != nullptr && known != field_.enumerators->end())
      return append_text(as_bytes(known->second));
    return append_text(as_bytes(std::to_string(number)));
  }
  TRY(budget_.take(kPerValue));
  switch (field_.type) {
    case FieldType::kMessage:
    case FieldType::kBool: {
      // Bits, in whole bytes.
      const std::size_t at = size_ / 8;
      values_.resize(at + 1);
      const auto mask = std::byte{1} << size_ % 8;
      values_[at] = encoded != 0 ? values_[at] | mask : values_[at] & ~mask;
      break;
    }
    case FieldType::kSint32: push(static_cast<std::int32_t>(from_zigzag(encoded & UINT32_MAX))); break;
    case FieldType::kSint64: push(from_zigzag(encoded)); break;
    case FieldType::kInt32:
    case FieldType::kUint32:
    case FieldType::kFixed32:
    case FieldType::kSfixed32:
    case FieldType::kFloat: push(static_cast<std::uint32_t>(encoded)); break;
    default: push(encoded); break;
  }
  note(true);
  return {};
}

Result<void> ColumnBuilder::append_wrapped(Bytes message) {
  std::optional<Field> last;
  Bytes value;
  MessageReader reader(message, kGroupDepth);
  while (reader.next()) {
    if (!reader.field().is(1, wire_type_of(field_.type))) continue;
    last = reader.field();
    value = reader.content();
  }
  TRY(reader.finish());
  if (last) return append_scalar(*last, value);
  return is_text(field_.type) && field_.type != FieldType::kEnum ? append_text({}) : append_number(0);
}

Result<void> ColumnBuilder::append_formed(Bytes message) {
  TimeParts time;
  std::optional<std::string> text = std::string();
  MessageReader reader(message, kGroupDepth);
  while (reader.next()) {
    const Field& field = reader.field();
    if (field_.form == MessageForm::kFieldMask) {
      if (!field.is(1, WireType::kLengthDelimited)) continue;
      TRY(budget_.take(reader.content().size()));
      if (text && !append_mask_path(*text, as_text(reader.content()))) text.reset();
    } else if (field.is(1, WireType::kVarint)) {
      time.seconds = static_cast<std::int64_t>(field.value);
    } else if (field.is(2, WireType::kVarint)) {
      time.nanoseconds = static_cast<std::int32_t>(field.value);
    }
  }
  TRY(reader.finish());
  if (field_.form == MessageForm::kTimestamp) text = timestamp_text(time);
  if (field_.form == MessageForm::kDuration) text = duration_text(time);
  if (text) return append_text(as_bytes(*text));
  return Error{.code = Code::kDamage,
               .detail = fmt::format("field {} has a value that its type does not allow", printable(field_.name))};
}

Result<void> ColumnBuilder::append_value(const Field& field, Bytes content) {
  switch (field_.form) {
    case MessageForm::kWrapper: return append_wrapped(content);
    case MessageForm::kFields:
    case MessageForm::kNull: return append_scalar(field, content);
    default: return append_formed(content);
  }
}

// Appends a value of the field's type.
Result<void> ColumnBuilder::append_scalar(const Field& field, Bytes content) {
  switch (field_.type) {
    case FieldType::kMessage: return append_message(content);
    case FieldType::kString:
      if (!is_utf8(as_text(content))) {
        return Error{.code = Code::kDamage, .detail = fmt::format("field {} is not UTF-8", printable(field_.name))};
      }
      return append_text(content);
    case FieldType::kBytes: return append_text(content);
    default: return append_number(field.type == WireType::kVarint ? field.value : fixed_of(field.type, content));
  }
}

Result<void> ColumnBuilder::add_packed(Bytes content) {
  const WireType type = wire_type_of(field_.type);
  if (type != WireType::kVarint) return append_fixed(content, type == WireType::kFixed64 ? 8 : 4);
  for (Cursor cursor(content); !cursor.at_end();) {
    const std::uint64_t value = cursor.varint64();
    if (!cursor.ok()) return Error{.code = Code::kDamage, .detail = "not a valid protobuf message"};
    if (!is_unknown(field_, value)) TRY(append_number(value));
  }
  return {};
}

Result<void> ColumnBuilder::append_fixed(Bytes numbers, std::size_t width) {
  if (numbers.size() % width != 0) return Error{.code = Code::kDamage, .detail = "not a valid protobuf message"};
  const std::size_t count = numbers.size() / width;
  TRY(budget_.take(kPerValue * count));
  if constexpr (std::endian::native == std::endian::little) {
    values_.insert(values_.end(), numbers.begin(), numbers.end());
    note_valid(count);
  } else {
    for (; !numbers.empty(); numbers = numbers.subspan(width)) {
      TRY(append_number(fixed_of(width == 8 ? WireType::kFixed64 : WireType::kFixed32, numbers.first(width))));
    }
  }
  return {};
}

Result<void> ColumnBuilder::add_items(const Field& field, Bytes content) {
  const WireType type = wire_type_of(field_);
  ColumnBuilder& items = is_list_ ? children_.front() : *this;
  if (field.type == type) return is_unknown(field_, field.value) ? Result<void>() : items.append_value(field, content);
  const bool is_packed = field.type == WireType::kLengthDelimited && !field_.is_group;
  return is_packed ? items.add_packed(content) : Result<void>();
}

ColumnBuilder* ColumnBuilder::child(std::uint32_t number) {
  const auto at = std::ranges::lower_bound(field_.fields, number, {}, &MessageField::number);
  if (at == field_.fields.end() || at->number != number) return nullptr;
  return &children_[static_cast<std::size_t>(at - field_.fields.begin())];
}

// Keeps an occurrence of a field that does not repeat: the last one, or of messages all, which are merged.
void ColumnBuilder::keep(std::size_t child, const Field& field, Bytes content) {
  const MessageField& kept = field_.fields[child];
  if (is_unknown(kept, field.value)) return;
  for (std::size_t i = 0; kept.oneof && i < found_.size(); ++i) {
    if (i != child && field_.fields[i].oneof == kept.oneof) found_[i].is_there = false;
  }
  Occurrence& found = found_[child];
  if (!found.is_there) found.merged.clear();
  if (found.is_there && is_message(kept)) {
    if (found.merged.empty()) found.merged = as_text(found.content);
    found.merged += as_text(content);
    content = as_bytes(found.merged);
  }
  found.is_there = true;
  found.field = field;
  found.content = content;
}

Result<void> ColumnBuilder::keep_entry(const Field& field, Bytes entry) {
  if (field.type != WireType::kLengthDelimited) return {};
  TRY(budget_.take(kPerOccurrence + entry.size()));
  Occurrence& kept = found_.emplace_back();
  kept = {.is_there = true, .field = field, .content = entry};
  MessageReader reader(entry, kGroupDepth);
  while (reader.next()) {
    const Field& part = reader.field();
    if (part.number != 1) continue;
    const bool is_text = part.type == WireType::kLengthDelimited;
    const std::uint64_t number =
        is_text || part.type == WireType::kVarint ? part.value : fixed_of(part.type, reader.content());
    kept.merged = is_text ? std::string(as_text(reader.content())) : number == 0 ? "" : std::to_string(number);
  }
  return reader.finish();
}

Result<void> ColumnBuilder::add_entries() {
  std::vector<Occurrence*> by_key;
  by_key.reserve(found_.size());
  for (Occurrence& entry : found_) by_key.push_back(&entry);
  std::ranges::stable_sort(by_key, {}, [](const Occurrence* entry) { return std::string_view(entry->merged); });
  for (std::size_t i = 1; i < by_key.size(); ++i) {
    if (by_key[i - 1]->merged == by_key[i]->merged) by_key[i - 1]->is_there = false;
  }
  for (const Occurrence& entry : found_) {
    if (entry.is_there) TRY(add_items(entry.field, entry.content));
  }
  return {};
}

Result<void> ColumnBuilder::read_fields(Bytes message) {
  for (Occurrence& found : found_) found.is_there = false;
  for (ColumnBuilder& each : children_) {
    if (each.is_list_) each.found_.clear();
  }
  MessageReader reader(message, kGroupDepth);
  while (reader.next()) {
    const Field& field = reader.field();
    ColumnBuilder* const found = child(field.number);
    if (found == nullptr) continue;
    if (found->is_list_) {
      const bool is_entry = found->field_.is_map;
      TRY(is_entry ? found->keep_entry(field, reader.content()) : found->add_items(field, reader.content()));
    } else if (field.type == wire_type_of(found->field_)) {
      if (is_message(found->field_)) TRY(budget_.take(kPerOccurrence + reader.content().size()));
      keep(static_cast<std::size_t>(found - children_.data()), field, reader.content());
    }
  }
  return reader.finish();
}

Result<void> ColumnBuilder::append_message(Bytes message) {
  TRY(budget_.take(kPerValue));
  TRY(read_fields(message));
  if (is_presence(field_)) return append_number(1);
  for (std::size_t i = 0; i < children_.size(); ++i) {
    ColumnBuilder& child = children_[i];
    if (child.is_list_) {
      TRY(child.add_entries());
      TRY(child.append_list());
    } else if (found_[i].is_there) {
      TRY(child.append_value(found_[i].field, found_[i].content));
    } else {
      TRY(child.append_absent());
    }
  }
  note(true);
  return {};
}

void ColumnBuilder::truncate(std::size_t size) {
  for (std::size_t i = size; i < size_; ++i) nulls_ -= (validity_[i / 8] >> i % 8 & 1) == 0 ? 1 : 0;
  size_ = size;
  validity_.resize((size + 7) / 8);
  if (!offsets_.empty()) {
    offsets_.resize(size + 1);
    const auto end = static_cast<std::size_t>(offsets_.back());
    if (is_list_) return children_.front().truncate(end);
    values_.resize(end);
    return;
  }
  for (ColumnBuilder& child : children_) child.truncate(size);
  if (is_bool(field_)) {
    values_.resize((size + 7) / 8);
  } else if (field_.type != FieldType::kMessage) {
    const bool is_short = std::strchr("iIf", *format_of(field_)) != nullptr;
    values_.resize(size * (is_short ? 4 : 8));
  }
}

ArrowColumn ColumnBuilder::finish() {
  ArrowColumn column{.length = static_cast<std::int64_t>(size_), .null_count = static_cast<std::int64_t>(nulls_)};
  column.buffers.push_back(nulls_ == 0 ? Slice() : buffer_of(std::move(validity_)));
  const bool is_struct = !is_list_ && field_.type == FieldType::kMessage && !is_presence(field_);
  if (!offsets_.empty()) column.buffers.push_back(buffer_of(std::move(offsets_)));
  if (!is_list_ && !is_struct) column.buffers.push_back(buffer_of(std::move(values_)));
  for (ColumnBuilder& child : children_) column.children.push_back(child.finish());
  return column;
}

}  // namespace recordfs
