#include "core/columns/scalar_rows.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <limits>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/base/append.h"
#include "core/base/cursor.h"
#include "core/base/parse_number.h"
#include "core/base/protobuf.h"
#include "core/base/utf8.h"
#include "core/decoding/exact_number.h"
#include "core/formats/json_text.h"
#include "core/formats/run_names.h"

namespace recordfs {
namespace {

using protobuf::Field;
using protobuf::MessageReader;
using protobuf::WireType;

constexpr std::uint32_t kGroups = 16;  // of unknown groups, inside each other
constexpr std::uint32_t kJsonDepth = 32;
constexpr std::size_t kMostJsonValues = 1u << 20;

// Calls `take` for each field of a message. Fails as `take` does, and if the message is invalid.
template <class Take>
Result<void> each_field(Bytes message, const Take& take) {
  MessageReader reader(message, kGroups);
  while (reader.next()) {
    if (Result<void> taken = take(reader.field(), reader.content()); !taken) return taken;
  }
  return reader.finish();
}

double double_of(Bytes content) { return std::bit_cast<double>(Cursor(content).u64_le()); }
double float_of(Bytes content) { return std::bit_cast<float>(Cursor(content).u32_le()); }

Error not_exact(std::string_view tag) {
  return {.code = Code::kDamage, .detail = fmt::format("a value of {} is not exactly a double", printable(tag))};
}

// Returns an integer as a double; nullopt if no double is equal to it.
template <class Integer>
std::optional<double> exact(Integer integer) {
  const auto number = static_cast<double>(integer);
  const bool is_exact = compare_exactly(integer, number) == std::partial_ordering::equivalent;
  return is_exact ? std::optional(number) : std::nullopt;
}

// --- tensors

// Numbers of tensorflow.DataType, and of the fields of a TensorProto that have single values.
enum class Element : std::uint8_t { kNone, kSigned, kUnsigned, kFloat, kDouble, kHalf, kBfloat16 };
struct ElementType {
  std::uint64_t number = 0;  // of DataType
  Element element = Element::kNone;
  std::size_t size = 0;     // bytes in tensor_content
  std::uint32_t field = 0;  // of TensorProto
};
constexpr ElementType kElements[] = {
    {1, Element::kFloat, 4, 5},     {2, Element::kDouble, 8, 6},     {3, Element::kSigned, 4, 7},
    {4, Element::kUnsigned, 1, 7},  {5, Element::kSigned, 2, 7},     {6, Element::kSigned, 1, 7},
    {9, Element::kSigned, 8, 10},   {10, Element::kUnsigned, 1, 11}, {14, Element::kBfloat16, 2, 13},
    {17, Element::kUnsigned, 2, 7}, {19, Element::kHalf, 2, 13},     {22, Element::kUnsigned, 4, 16},
    {23, Element::kUnsigned, 8, 17}};
constexpr std::uint32_t kLastElementField = 17;

double half_of(std::uint64_t bits) {
  const double sign = (bits & 0x8000) != 0 ? -1 : 1;
  const int exponent = static_cast<int>(bits >> 10 & 31);
  const auto fraction = static_cast<double>(bits & 1023);
  if (exponent == 31) return sign * (fraction == 0 ? std::numeric_limits<double>::infinity() : std::nan(""));
  return sign * (exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(fraction + 1024, exponent - 25));
}

// Returns the number that `size` bytes are, least significant byte first; nullopt if that is not exactly a double.
std::optional<double> number_of(const ElementType& type, std::uint64_t bits) {
  switch (type.element) {
    case Element::kFloat: return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    case Element::kDouble: return std::bit_cast<double>(bits);
    case Element::kHalf: return half_of(bits);
    case Element::kBfloat16: return std::bit_cast<float>(static_cast<std::uint32_t>(bits << 16));
    case Element::kUnsigned: return exact(bits);
    case Element::kSigned: {
      const unsigned unused = 64 - 8 * static_cast<unsigned>(type.size);
      return exact(static_cast<std::int64_t>(bits << unused) >> unused);
    }
    case Element::kNone: break;
  }
  return std::nullopt;
}

// A TensorProto, as far as a scalar needs it.
struct Tensor {
  std::uint64_t type = 0;
  bool has_dimensions = false;
  Bytes content{};
  struct First {
    std::uint32_t field = 0;
    std::uint64_t bits = 0;
  };
  std::vector<First> values{};  // of each field the first one
};

std::uint64_t bits_of(const Field& field, Bytes content) {
  std::uint64_t bits = field.value;
  if (field.type == WireType::kVarint) return bits;
  // Packed values, of which the first counts.
  Cursor cursor(content);
  const bool is_varint = field.type == WireType::kLengthDelimited && field.number != 5 && field.number != 6;
  if (is_varint) return cursor.varint64();
  return field.number == 6 ? cursor.u64_le() : cursor.u32_le();
}

Result<Tensor> tensor_of(Bytes message) {
  Tensor tensor;
  const auto take_shape = [&](const Field& field, Bytes) {
    // A list of dimensions, or an unknown rank.
    tensor.has_dimensions = tensor.has_dimensions || field.number == 2 || (field.number == 3 && field.value != 0);
    return Result<void>();
  };
  TRY(each_field(message, [&](const Field& field, Bytes content) -> Result<void> {
    if (field.is(1, WireType::kVarint)) tensor.type = field.value;
    if (field.is(2, WireType::kLengthDelimited)) return each_field(content, take_shape);
    if (field.is(4, WireType::kLengthDelimited)) tensor.content = content;
    if (field.number > 4 && field.type != WireType::kGroupStart &&
        !(content.empty() && field.type != WireType::kVarint)) {
      const bool is_known =
          std::ranges::find(tensor.values, field.number, &Tensor::First::field) != tensor.values.end();
      if (!is_known && field.number <= kLastElementField)
        tensor.values.push_back({field.number, bits_of(field, content)});
    }
    return {};
  }));
  return tensor;
}

struct TensorValue {
  double number = 0;
  bool is_float = false;
};

// Returns the value of a tensor without dimensions; nullopt if it is not one with a number.
Result<std::optional<TensorValue>> scalar_of(Bytes message, std::string_view tag) {
  ASSIGN_OR_RETURN(const auto tensor, tensor_of(message));
  const auto* const type = std::ranges::find(kElements, tensor.type, &ElementType::number);
  if (type == std::end(kElements) || tensor.has_dimensions) return std::optional<TensorValue>();
  std::uint64_t bits = 0;  // a tensor without values has zeros
  const auto value = std::ranges::find(tensor.values, type->field, &Tensor::First::field);
  if (tensor.content.size() == type->size) {
    for (std::size_t i = type->size; i-- > 0;) bits = bits << 8 | std::to_integer<std::uint64_t>(tensor.content[i]);
  } else if (!tensor.content.empty()) {
    return Error{.code = Code::kDamage, .detail = fmt::format("the tensor of {} has a wrong size", printable(tag))};
  } else if (value != tensor.values.end()) {
    bits = value->bits;
  }
  const auto number = number_of(*type, bits);
  if (!number) return not_exact(tag);
  return std::optional(TensorValue{.number = *number, .is_float = type->element == Element::kFloat});
}

// --- events

// Returns whether an error is of a scalar alone; then it is left out.
bool leave_out(const Error& error, const ScalarTaker& taker) {
  if (error.code != Code::kDamage) return false;
  taker.leave_out(error);
  return true;
}

// Takes a value of a summary.
Result<void> take_value(Bytes message, ScalarRow& scalar, const ScalarTaker& taker) {
  enum class Kind : std::uint8_t { kOther, kSimple, kTensor };
  Kind kind = Kind::kOther;
  Bytes tensor;
  scalar.tag.clear();
  TRY(each_field(message, [&](const Field& field, Bytes content) {
    if (field.is(1, WireType::kLengthDelimited)) scalar.tag = as_text(content);
    // Values exclude each other: the last one counts.
    if (field.number >= 2 && field.number <= 8 && field.number != 7) kind = Kind::kOther;
    if (field.is(2, WireType::kFixed32)) {
      kind = Kind::kSimple;
      scalar.value = float_of(content);
      scalar.is_float = true;
    } else if (field.is(8, WireType::kLengthDelimited)) {
      kind = Kind::kTensor;
      tensor = content;
    }
    return Result<void>();
  }));
  if (kind == Kind::kTensor) {
    const auto value = scalar_of(tensor, scalar.tag);
    if (!value) return leave_out(value.error(), taker) ? Result<void>() : value.error();
    if (!value->has_value()) return {};
    scalar.value = (*value)->number;
    scalar.is_float = (*value)->is_float;
  }
  if (kind == Kind::kOther) return {};
  if (!is_utf8(scalar.tag)) {
    taker.leave_out({.code = Code::kDamage, .detail = "a tag is not UTF-8"});
    return {};
  }
  return taker.take(scalar);
}

Result<void> each_of_event(Bytes record, const ScalarTaker& taker) {
  ScalarRow scalar{.step = 0, .wall_time = 0};
  std::vector<Bytes> summaries;
  TRY(each_field(record, [&](const Field& field, Bytes content) {
    if (field.is(1, WireType::kFixed64)) scalar.wall_time = double_of(content);
    if (field.is(2, WireType::kVarint)) scalar.step = static_cast<std::int64_t>(field.value);
    // What an event has excludes each other: the last one counts.
    if (field.number >= 3 && field.number <= 9 && field.number != 5) summaries.clear();
    if (field.is(5, WireType::kLengthDelimited)) summaries.push_back(content);
    return Result<void>();
  }));
  for (const Bytes summary : summaries) {
    TRY(each_field(summary, [&](const Field& field, Bytes content) {
      return field.is(1, WireType::kLengthDelimited) ? take_value(content, scalar, taker) : Result<void>();
    }));
  }
  return {};
}

// --- history of wandb

struct HistoryItem {
  std::string key{};
  std::string json{};
};

Result<HistoryItem> item_of(Bytes message) {
  HistoryItem item;
  std::string nested;
  TRY(each_field(message, [&](const Field& field, Bytes content) {
    if (field.is(1, WireType::kLengthDelimited)) item.key = as_text(content);
    if (field.is(2, WireType::kLengthDelimited)) nested += (nested.empty() ? "" : ".") + std::string(as_text(content));
    if (field.is(16, WireType::kLengthDelimited)) item.json = as_text(content);
    return Result<void>();
  }));
  if (item.key.empty()) item.key = std::move(nested);
  return item;
}

Error not_json(std::string_view key) {
  return {.code = Code::kDamage, .detail = fmt::format("the value of {} is not JSON", printable(key))};
}

// Returns the number that a JSON value is, 1 for true and 0 for false, or a word that Python writes for a number;
// nullopt: it is none. Digits beyond a double's precision are rounded, as in any JSON number. Fails with kDamage if it
// is too large, or no number of JSON.
Result<std::optional<double>> number_of(const JsonValue& value, std::string_view key) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (value.type == JsonType::kNumber) {
    double number = 0;
    const char* const end = value.text.data() + value.text.size();
    const auto parsed = std::from_chars(value.text.data(), end, number);
    if (parsed.ec == std::errc::invalid_argument || parsed.ptr != end) return not_json(key);
    if (parsed.ec != std::errc{}) return not_exact(key);
    if (value.text.find_first_of(".eE") == std::string_view::npos) {
      const auto whole = parse_exact_number(value.text);
      if (!whole || compare_exactly(*whole, number) != std::partial_ordering::equivalent) return not_exact(key);
    }
    return std::optional(number);
  }
  const bool is_word = value.type == JsonType::kWord;
  if (is_word && (value.text == "true" || value.text == "false"))
    return std::optional(value.text == "true" ? 1.0 : 0.0);
  if (value.text == "NaN") return std::optional(std::nan(""));
  if (value.text == "Infinity") return std::optional(kInfinity);
  if (value.text == "-Infinity") return std::optional(-kInfinity);
  return std::optional<double>();
}

Result<void> take_json(const JsonValue& value, const std::string& key, ScalarRow& scalar, const ScalarTaker& taker) {
  if (value.type == JsonType::kObject) {
    if (value.find("_type") != nullptr) return {};
    for (const JsonValue& member : value.values) TRY(take_json(member, key + "." + member.key, scalar, taker));
    return {};
  }
  const auto number = number_of(value, key);
  if (!number) return leave_out(number.error(), taker) ? Result<void>() : number.error();
  if (!*number) return {};
  scalar.tag = key;
  scalar.value = **number;
  return taker.take(scalar);
}

Result<void> each_of_history(Bytes history, const ScalarTaker& taker) {
  ScalarRow scalar;
  std::vector<std::pair<std::string, JsonValue>> values;
  std::optional<std::int64_t> other_step;
  TRY(each_field(history, [&](const Field& field, Bytes content) -> Result<void> {
    if (field.is(2, WireType::kLengthDelimited)) {
      scalar.step = 0;
      return each_field(content, [&](const Field& inner, Bytes) {
        if (inner.is(1, WireType::kVarint)) scalar.step = static_cast<std::int64_t>(inner.value);
        return Result<void>();
      });
    }
    if (!field.is(1, WireType::kLengthDelimited)) return {};
    ASSIGN_OR_RETURN(auto item, item_of(content));
    auto value = read_json_tree(as_bytes(item.json), kJsonDepth, kMostJsonValues);
    const bool is_of_row = item.key == "_step" || item.key == "_timestamp";
    if (!value || !is_utf8(item.key)) {
      // Without its step or time, a record has no rows.
      if (is_of_row) return not_json(item.key);
      taker.leave_out(value ? Error{.code = Code::kDamage, .detail = "a key is not UTF-8"} : not_json(item.key));
      return {};
    }
    if (item.key == "_step") {
      other_step = parse_number<std::int64_t>(value->text);
      if (!other_step) return not_json(item.key);
    }
    if (item.key == "_timestamp") {
      ASSIGN_OR_RETURN(scalar.wall_time, number_of(*value, item.key));
    }
    values.emplace_back(std::move(item.key), std::move(*value));
    return {};
  }));
  if (!scalar.step) scalar.step = other_step;
  for (const auto& [key, value] : values) {
    if (!key.starts_with('_')) TRY(take_json(value, key, scalar, taker));
  }
  return {};
}

// --- scalars of SwanLab

Result<double> seconds_of(Bytes timestamp) {
  double seconds = 0;
  double nanoseconds = 0;
  TRY(each_field(timestamp, [&](const Field& field, Bytes) {
    if (field.is(1, WireType::kVarint)) seconds = static_cast<double>(static_cast<std::int64_t>(field.value));
    if (field.is(2, WireType::kVarint)) nanoseconds = static_cast<double>(static_cast<std::int32_t>(field.value));
    return Result<void>();
  }));
  return seconds + nanoseconds / 1e9;
}

// Takes a swanlab.metric.data.v1.ScalarRecord.
Result<void> take_swanlab(Bytes message, const ScalarTaker& taker) {
  ScalarRow scalar{.step = 0};
  bool has_value = false;
  TRY(each_field(message, [&](const Field& field, Bytes content) -> Result<void> {
    if (field.is(1, WireType::kLengthDelimited)) scalar.tag = as_text(content);
    if (field.is(2, WireType::kVarint)) scalar.step = static_cast<std::int64_t>(field.value);
    if (field.is(4, WireType::kLengthDelimited)) {
      ASSIGN_OR_RETURN(scalar.wall_time, seconds_of(content));
    }
    if (!field.is(5, WireType::kLengthDelimited)) return {};
    has_value = true;
    return each_field(content, [&](const Field& inner, Bytes number) {
      if (inner.is(1, WireType::kFixed64)) scalar.value = double_of(number);
      return Result<void>();
    });
  }));
  if (!has_value) return {};
  if (!is_utf8(scalar.tag)) {
    taker.leave_out({.code = Code::kDamage, .detail = "a key is not UTF-8"});
    return {};
  }
  return taker.take(scalar);
}

constexpr std::string_view kColumns[] = {"run", "step", "wall_time", "tag", "value"};  // by ScalarColumn

}  // namespace

std::optional<ScalarSource> scalar_source(std::string_view type) {
  if (type == "tensorflow.Event") return ScalarSource::kEvents;
  if (type == "wandb_internal.Record") return ScalarSource::kHistory;
  if (type == "swanlab.record.v1.Record") return ScalarSource::kSwanLab;
  return std::nullopt;
}

std::optional<ScalarSource> scalar_source_by_name(std::string_view path) {
  const auto kind = run_kind(path.substr(path.rfind('/') + 1));
  if (!kind) return std::nullopt;
  switch (*kind) {
    case RunKind::kWandb: return ScalarSource::kHistory;
    case RunKind::kSwanLab: return ScalarSource::kSwanLab;
    case RunKind::kEvents: break;
  }
  return ScalarSource::kEvents;
}

Result<void> each_scalar(ScalarSource source, Bytes record, const ScalarTaker& taker) {
  switch (source) {
    case ScalarSource::kEvents: return each_of_event(record, taker);
    case ScalarSource::kHistory:
      return each_field(record, [&](const Field& field, Bytes content) {
        return field.is(2, WireType::kLengthDelimited) ? each_of_history(content, taker) : Result<void>();
      });
    case ScalarSource::kSwanLab: break;
  }
  return each_field(record, [&](const Field& field, Bytes content) {
    return field.is(13, WireType::kLengthDelimited) ? take_swanlab(content, taker) : Result<void>();
  });
}

std::optional<ScalarColumn> scalar_column(std::string_view name) {
  const auto* const found = std::ranges::find(kColumns, name);
  if (found == std::end(kColumns)) return std::nullopt;
  return static_cast<ScalarColumn>(found - std::begin(kColumns));
}

MessageField scalar_columns() {
  const auto column = [](ScalarColumn which, FieldType type, bool has_presence = false) {
    const auto index = static_cast<std::uint32_t>(which);
    return MessageField{
        .name = std::string(kColumns[index]), .number = index + 1, .type = type, .has_presence = has_presence};
  };
  return {
      .name = "decoded",
      .number = 1,
      .type = FieldType::kMessage,
      .has_presence = true,
      .fields = {column(ScalarColumn::kRun, FieldType::kString), column(ScalarColumn::kStep, FieldType::kInt64, true),
                 column(ScalarColumn::kWallTime, FieldType::kDouble, true),
                 column(ScalarColumn::kTag, FieldType::kString), column(ScalarColumn::kValue, FieldType::kDouble)}};
}

std::string scalar_message(std::string_view run, const ScalarRow& scalar) {
  std::string message;
  const auto append_double = [&](char tag, double value) {
    message.push_back(tag);
    append_le(message, std::bit_cast<std::uint64_t>(value));
  };
  protobuf::append_field(message, 1, run);
  if (scalar.step) {
    message.push_back('\x10');
    protobuf::append_varint(message, static_cast<std::uint64_t>(*scalar.step));
  }
  if (scalar.wall_time) append_double('\x19', *scalar.wall_time);
  protobuf::append_field(message, 4, scalar.tag);
  append_double('\x29', scalar.value);
  return message;
}

std::string run_of(ScalarSource source, std::string_view path) {
  const std::size_t slash = path.rfind('/');
  if (source == ScalarSource::kEvents) {
    return slash == std::string_view::npos ? "." : std::string(path.substr(0, std::max<std::size_t>(slash, 1)));
  }
  std::string_view name = path.substr(slash == std::string_view::npos ? 0 : slash + 1);
  for (const std::string_view suffix : {".wandb", ".swanlab"}) {
    if (name.ends_with(suffix)) name.remove_suffix(suffix.size());
  }
  if (name.starts_with("run-")) name.remove_prefix(4);
  return std::string(name);
}

}  // namespace recordfs
