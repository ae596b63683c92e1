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
#include "core/columns/scalar_tensor.h"
#include "core/decoding/exact_number.h"
#include "core/formats/json_text.h"
#include "core/formats/run_names.h"

namespace recordfs {
namespace {

using protobuf::Field;
using protobuf::MessageReader;
using protobuf::WireType;

constexpr std::uint32_t kJsonDepth = 32;
constexpr std::size_t kMostJsonValues = 1u << 20;

double double_of(Bytes content) { return std::bit_cast<double>(Cursor(content).u64_le()); }
double float_of(Bytes content) { return std::bit_cast<float>(Cursor(content).u32_le()); }

Error not_exact(std::string_view tag) {
  return {.code = Code::kDamage, .detail = fmt::format("a value of {} is not exactly a double", printable(tag))};
}

// Passes on a scalar with this number, or only its other columns if it is an error.
Result<void> give(ScalarRow& scalar, const Result<ScalarNumber>& number, const ScalarTaker& taker) {
  scalar.unfit.reset();
  scalar.exact.reset();
  scalar.has_value = number.has_value();
  if (number) {
    scalar.value = number->value;
    scalar.is_float = number->is_float;
    scalar.exact = number->exact;
    if (scalar.exact) scalar.unfit = not_exact(scalar.tag);
  } else if (number.error().code == Code::kDamage) {
    scalar.unfit = number.error();
  } else {
    return number.error();
  }
  if (!scalar.unfit && !is_utf8(scalar.tag)) scalar.unfit = {.code = Code::kDamage, .detail = "a tag is not UTF-8"};
  if (!scalar.unfit) return taker.take(scalar);
  taker.leave_out(scalar);
  return {};
}

// Passes on the scalar that a tensor is.
Result<void> take_tensor(Bytes message, std::string_view plugin, ScalarRow& scalar, const ScalarTaker& taker) {
  const auto tensor = scalar_tensor(message, plugin, scalar.tag);
  if (!tensor) return give(scalar, tensor.error(), taker);
  if (tensor->kind == ScalarTensor::Kind::kScalar) return give(scalar, tensor->number, taker);
  if (tensor->kind != ScalarTensor::Kind::kNoScalar || !taker.skip) return {};
  scalar.unfit.reset();
  scalar.exact.reset();
  scalar.has_value = false;
  taker.skip(scalar);
  return {};
}

// --- events

// Returns the name of the plugin in a SummaryMetadata.
Result<std::string_view> plugin_in(Bytes metadata) {
  std::string_view name;
  TRY(each_field(metadata, [&name](const Field& field, Bytes content) -> Result<void> {
    if (!field.is(1, WireType::kLengthDelimited)) return {};
    return each_field(content, [&name](const Field& inner, Bytes text) {
      if (inner.is(1, WireType::kLengthDelimited)) name = as_text(text);
      return Result<void>();
    });
  }));
  return name;
}

// Takes a value of a summary.
Result<void> take_value(Bytes message, ScalarRow& scalar, const ScalarTaker& taker) {
  enum class Kind : std::uint8_t { kOther, kSimple, kTensor };
  Kind kind = Kind::kOther;
  Bytes content_of_kind;
  Bytes metadata;
  scalar.tag.clear();
  TRY(each_field(message, [&](const Field& field, Bytes content) {
    if (field.is(9, WireType::kLengthDelimited)) metadata = content;
    if (field.is(1, WireType::kLengthDelimited)) scalar.tag = as_text(content);
    // Values exclude each other: the last one counts.
    if (field.number >= 2 && field.number <= 8 && field.number != 7) kind = Kind::kOther;
    if (field.is(2, WireType::kFixed32)) {
      kind = Kind::kSimple;
      content_of_kind = content;
    } else if (field.is(8, WireType::kLengthDelimited)) {
      kind = Kind::kTensor;
      content_of_kind = content;
    }
    return Result<void>();
  }));
  if (kind == Kind::kSimple)
    return give(scalar, ScalarNumber{.value = float_of(content_of_kind), .is_float = true}, taker);
  if (kind == Kind::kOther) return {};
  const auto plugin = plugin_in(metadata);
  return plugin ? take_tensor(content_of_kind, *plugin, scalar, taker) : give(scalar, plugin.error(), taker);
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
Result<std::optional<ScalarNumber>> number_of(const JsonValue& value, std::string_view key) {
  const auto found = [](double number) { return std::optional(ScalarNumber{.value = number}); };
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (value.type == JsonType::kNumber) {
    double number = 0;
    const char* const end = value.text.data() + value.text.size();
    const auto parsed = std::from_chars(value.text.data(), end, number);
    if (parsed.ec == std::errc::invalid_argument || parsed.ptr != end) return not_json(key);
    if (parsed.ec != std::errc{}) return not_exact(key);
    if (value.text.find_first_of(".eE") == std::string_view::npos) {
      const auto whole = parse_exact_number(value.text);
      if (!whole) return not_exact(key);
      const bool is_exact = compare_exactly(*whole, number) == std::partial_ordering::equivalent;
      if (!is_exact) return std::optional(ScalarNumber{.value = number, .exact = whole});
    }
    return found(number);
  }
  const bool is_word = value.type == JsonType::kWord;
  if (is_word && (value.text == "true" || value.text == "false")) return found(value.text == "true" ? 1.0 : 0.0);
  if (value.text == "NaN") return found(std::nan(""));
  if (value.text == "Infinity") return found(kInfinity);
  if (value.text == "-Infinity") return found(-kInfinity);
  return std::optional<ScalarNumber>();
}

Result<void> take_json(const JsonValue& value, const std::string& key, ScalarRow& scalar, const ScalarTaker& taker) {
  if (value.type == JsonType::kObject) {
    if (value.find("_type") != nullptr) return {};
    for (const JsonValue& member : value.values) TRY(take_json(member, key + "." + member.key, scalar, taker));
    return {};
  }
  const auto number = number_of(value, key);
  if (number && !*number) return {};
  scalar.tag = key;
  return give(scalar, number ? Result<ScalarNumber>(**number) : number.error(), taker);
}

Result<void> each_of_history(Bytes history, const ScalarTaker& taker) {
  ScalarRow scalar;
  std::vector<std::pair<std::string, std::optional<JsonValue>>> values;
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
    // Without its step or time, a record has no rows.
    if (!value && (item.key == "_step" || item.key == "_timestamp")) return not_json(item.key);
    if (item.key == "_step") {
      other_step = parse_number<std::int64_t>(value->text);
      if (!other_step) return not_json(item.key);
    }
    if (item.key == "_timestamp") {
      ASSIGN_OR_RETURN(const auto time, number_of(*value, item.key));
      if (time && time->exact) return not_exact(item.key);
      scalar.wall_time = time ? std::optional(time->value) : std::nullopt;
    }
    if (!item.key.starts_with('_')) values.emplace_back(std::move(item.key), std::move(value));
    return {};
  }));
  if (!scalar.step) scalar.step = other_step;
  for (const auto& [key, value] : values) {
    scalar.tag = key;
    TRY(value ? take_json(*value, key, scalar, taker) : give(scalar, not_json(key), taker));
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
  std::optional<ScalarNumber> value;
  TRY(each_field(message, [&](const Field& field, Bytes content) -> Result<void> {
    if (field.is(1, WireType::kLengthDelimited)) scalar.tag = as_text(content);
    if (field.is(2, WireType::kVarint)) scalar.step = static_cast<std::int64_t>(field.value);
    if (field.is(4, WireType::kLengthDelimited)) {
      ASSIGN_OR_RETURN(scalar.wall_time, seconds_of(content));
    }
    if (!field.is(5, WireType::kLengthDelimited)) return {};
    if (!value) value.emplace();
    return each_field(content, [&](const Field& inner, Bytes number) {
      if (inner.is(1, WireType::kFixed64)) value->value = double_of(number);
      return Result<void>();
    });
  }));
  return value ? give(scalar, *value, taker) : Result<void>();
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
  if (source == ScalarSource::kSwanLab && as_text(record).starts_with('{')) {  // no message begins so
    return Error{.code = Code::kUnsupported,
                 .detail = "a JSON text of SwanLab before 0.8.0, which has no rows of scalars (try: this file alone)"};
  }
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
