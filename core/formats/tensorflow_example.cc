#include "core/formats/tensorflow_example.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/base/cursor.h"
#include "core/base/protobuf.h"
#include "core/base/utf8.h"
#include "core/formats/shortest_digits.h"

namespace recordfs::tensorflow {
namespace {

using protobuf::Field;
using protobuf::MessageReader;
using protobuf::WireType;

// An entry of a map.
struct Entry {
  std::string_view key;
  Bytes value;
};

using Kind = FeatureKind;

struct Feature {
  Kind kind = Kind::kNone;
  Bytes list;
};

struct Example {
  std::optional<std::vector<Entry>> features;  // the context of a SequenceExample
  std::optional<std::vector<Entry>> lists;     // of a SequenceExample only
};

Error no_example() { return {.code = Code::kDamage, .detail = "not a tensorflow.Example"}; }

// Counts how many more parts or values, and how many bytes of text, a record may produce.
class Room {
 public:
  explicit Room(const Limits& limits) : parts_(limits.parts_per_record), text_(limits.metadata_bytes) {}

  Result<void> take(std::uint64_t parts, std::uint64_t text = 0) {
    if (parts > parts_) return Error{.code = Code::kLimit, .detail = "the example has too many values"};
    if (text > text_) return Error{.code = Code::kLimit, .detail = "the numbers of the example are too long as text"};
    parts_ -= parts;
    text_ -= text;
    return {};
  }

 private:
  std::uint64_t parts_;
  std::uint64_t text_;
};

// Calls `take(field, content)` for each field of a message. Fails with kDamage if it is not a message, and as `take`
// does.
template <class Take>
Result<void> for_each(Bytes message, Take take) {
  MessageReader reader(message, 0);
  while (reader.next()) {
    TRY(take(reader.field(), reader.content()));
  }
  return reader.finish() ? Result<void>{} : no_example();
}

// Stores a field that may occur only once.
Result<void> keep_once(std::optional<Bytes>& kept, Bytes content) {
  if (kept) return no_example();
  kept = content;
  return {};
}

Result<Entry> read_entry(Bytes message) {
  std::optional<Bytes> key;
  std::optional<Bytes> value;
  TRY(for_each(message, [&](const Field& field, Bytes content) -> Result<void> {
    if (field.is(1, WireType::kLengthDelimited)) return keep_once(key, content);
    if (field.is(2, WireType::kLengthDelimited)) return keep_once(value, content);
    return no_example();
  }));
  if (!key || !value || !is_utf8(as_text(*key))) return no_example();
  return Entry{as_text(*key), *value};
}

// Returns the entries sorted by key. Of entries with equal keys the last one counts.
Result<std::vector<Entry>> read_map(Bytes message, Room& room) {
  std::vector<Entry> entries;
  TRY(for_each(message, [&](const Field& field, Bytes content) -> Result<void> {
    if (!field.is(1, WireType::kLengthDelimited)) return no_example();
    ASSIGN_OR_RETURN(const auto entry, read_entry(content));
    entries.push_back(entry);
    return room.take(1);
  }));
  std::ranges::stable_sort(entries, {}, &Entry::key);
  const auto first =
      std::unique(entries.rbegin(), entries.rend(), [](const Entry& a, const Entry& b) { return a.key == b.key; });
  entries.erase(entries.begin(), first.base());
  return entries;
}

Result<Example> read_example(Bytes record, Room& room) {
  Example example;
  TRY(for_each(record, [&](const Field& field, Bytes content) -> Result<void> {
    const bool is_known = field.is(1, WireType::kLengthDelimited) || field.is(2, WireType::kLengthDelimited);
    auto& map = field.number == 1 ? example.features : example.lists;
    if (!is_known || map) return no_example();
    ASSIGN_OR_RETURN(auto entries, read_map(content, room));
    map = std::move(entries);
    return {};
  }));
  const bool has_key = (example.features && !example.features->empty()) || (example.lists && !example.lists->empty());
  if (!has_key) return no_example();
  return example;
}

Result<Feature> read_feature(Bytes message) {
  Feature feature;
  TRY(for_each(message, [&](const Field& field, Bytes content) -> Result<void> {
    if (feature.kind != Kind::kNone || field.type != WireType::kLengthDelimited) return no_example();
    switch (field.number) {
      case 1: feature.kind = Kind::kBytes; break;
      case 2: feature.kind = Kind::kFloats; break;
      case 3: feature.kind = Kind::kInts; break;
      default: return no_example();
    }
    feature.list = content;
    return {};
  }));
  return feature;
}

Result<std::vector<Bytes>> read_features(Bytes feature_list, Room& room) {
  std::vector<Bytes> features;
  TRY(for_each(feature_list, [&](const Field& field, Bytes content) -> Result<void> {
    if (!field.is(1, WireType::kLengthDelimited)) return no_example();
    features.push_back(content);
    return room.take(1);
  }));
  return features;
}

// Passes each value of a feature to `take`: Bytes, a float or a std::int64_t.
template <class Take>
Result<void> each_value(const Feature& feature, Take take) {
  return for_each(feature.list, [&](const Field& field, Bytes content) -> Result<void> {
    const bool is_delimited = field.is(1, WireType::kLengthDelimited);
    if (feature.kind == Kind::kInts && field.is(1, WireType::kVarint)) {
      return take(static_cast<std::int64_t>(field.value));
    }
    if (!is_delimited && !(feature.kind == Kind::kFloats && field.is(1, WireType::kFixed32))) return no_example();
    if (feature.kind == Kind::kBytes) return take(content);
    if (feature.kind == Kind::kFloats && content.size() % sizeof(float) != 0) return no_example();
    for (Cursor cursor(content); !cursor.at_end();) {
      if (feature.kind == Kind::kFloats) {
        TRY(take(std::bit_cast<float>(cursor.u32_le())));
        continue;
      }
      const std::uint64_t value = cursor.varint64();
      if (!cursor.ok()) return no_example();
      TRY(take(static_cast<std::int64_t>(value)));
    }
    return {};
  });
}

using Digits = std::array<char, 32>;

// Writes a number in the fewest digits that reproduce it.
template <class Number>
std::string_view write_digits(Digits& digits, Number number) {
  return {digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr};
}

// Appends such a number, and a newline. Returns the number of bytes appended.
template <class Number>
std::size_t append_line(std::string& text, Number number) {
  Digits digits;
  const std::string_view written = write_digits(digits, number);
  text.append(written) += '\n';
  return written.size() + 1;
}

class ValueMaker {
 public:
  ValueMaker(const Limits& limits, ValueForm form) : room_(limits), is_json_(form == ValueForm::kJson) {}

  Result<Value> make(Bytes record) {
    ASSIGN_OR_RETURN(const auto example, read_example(record, room_));
    const bool is_sequence = example.lists.has_value();
    Value::Object members;
    if (example.features) {
      ASSIGN_OR_RETURN(auto map, map_of(*example.features, [this](Bytes message) { return feature_of(message); }));
      if (!is_json_ && !is_sequence) return map;
      members.push_back({is_sequence ? "context" : "features", json_object("feature", std::move(map))});
    }
    if (is_sequence) {
      ASSIGN_OR_RETURN(auto map, map_of(*example.lists, [this](Bytes message) { return list_of(message); }));
      members.push_back({"feature_lists", json_object("feature_list", std::move(map))});
    }
    return Value{std::move(members)};
  }

 private:
  // Returns an object with one member in JSON, and the value itself as parts.
  Value json_object(std::string_view name, Value value) const {
    if (!is_json_) return value;
    Value::Object members;
    members.push_back({name, std::move(value)});
    return {std::move(members)};
  }

  template <class ValueOf>
  Result<Value> map_of(const std::vector<Entry>& entries, ValueOf value_of) {
    Value::Object members;
    members.reserve(entries.size());
    for (const Entry& entry : entries) {
      ASSIGN_OR_RETURN(auto value, value_of(entry.value));
      members.push_back({entry.key, std::move(value)});
    }
    return Value{std::move(members)};
  }

  Result<Value> list_of(Bytes message) {
    ASSIGN_OR_RETURN(const auto features, read_features(message, room_));
    Value::List values;
    for (const Bytes feature : features) {
      ASSIGN_OR_RETURN(auto value, feature_of(feature));
      values.push_back(std::move(value));
    }
    return json_object("feature", {std::move(values)});
  }

  Result<Value> feature_of(Bytes message) {
    constexpr std::string_view kNames[] = {"", "bytes_list", "float_list", "int64_list"};
    ASSIGN_OR_RETURN(const auto feature, read_feature(message));
    TRY(room_.take(is_json_ ? 3 : 0));
    Value::List values;
    std::string lines;  // of numbers, as a part
    TRY(each_value(feature, [&](auto value) {
      if constexpr (!std::is_same_v<decltype(value), Bytes>) {
        if (!is_json_) return room_.take(0, append_line(lines, value));
      }
      if constexpr (std::is_same_v<decltype(value), float>) {
        values.push_back(Value{with_its_digits(value)});
      } else {
        values.push_back(Value{value});
      }
      return room_.take(1);
    }));
    if (is_json_ && feature.kind == Kind::kNone) return Value{Value::Object{}};
    if (is_json_) {
      return json_object(kNames[static_cast<std::size_t>(feature.kind)], json_object("value", {std::move(values)}));
    }
    if (values.empty()) return Value{std::move(lines)};
    if (values.size() == 1) return std::move(values.front());
    return Value{std::move(values)};
  }

  Room room_;
  const bool is_json_;
};

}  // namespace

Result<Value> value_of_example(Bytes record, const Limits& limits, ValueForm form) {
  return ValueMaker(limits, form).make(record);
}

std::string_view type_of_example(const Value& value) {
  const auto* members = std::get_if<Value::Object>(&value.is);
  const bool is_sequence = members != nullptr && !members->empty() && members->back().name == "feature_lists";
  return is_sequence ? kSequenceExampleType : kExampleType;
}

bool is_empty_example(Bytes record) {
  constexpr std::string_view kEmptyFeatures("\x0A\x00", 2);
  return record.empty() || as_text(record) == kEmptyFeatures;
}

Result<std::vector<NamedFeature>> features_of_example(Bytes record, const Limits& limits) {
  Room room(limits);
  ASSIGN_OR_RETURN(const auto example, read_example(record, room));
  if (example.lists || !example.features) return no_example();
  std::vector<NamedFeature> features;
  for (const Entry& entry : *example.features) {
    ASSIGN_OR_RETURN(const auto feature, read_feature(entry.value));
    features.push_back({.name = entry.key, .kind = feature.kind, .list = feature.list});
  }
  return features;
}

}  // namespace recordfs::tensorflow
