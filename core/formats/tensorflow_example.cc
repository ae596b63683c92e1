#include "core/formats/tensorflow_example.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/base/cursor.h"
#include "core/base/protobuf.h"
#include "core/base/utf8.h"

namespace recordfs::tensorflow {
namespace {

using protobuf::Field;
using protobuf::MessageReader;
using protobuf::WireType;

constexpr std::size_t kLongestNumber = 32;

// A field's content, and its offset in the record.
struct Piece {
  Bytes bytes;
  std::uint64_t begin = 0;
};

// An entry of a map.
struct Entry {
  std::string_view key;
  Piece value;
};

enum class Kind : std::uint8_t { kNone, kBytes, kFloats, kInts };

struct Feature {
  Kind kind = Kind::kNone;
  Piece list;
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
Result<void> for_each(const Piece& message, Take take) {
  MessageReader reader(message.bytes, 0);
  while (reader.next()) {
    TRY(take(reader.field(), Piece{reader.content(), message.begin + reader.content_begin()}));
  }
  return reader.finish() ? Result<void>{} : no_example();
}

// Stores a field that may occur only once.
Result<void> keep_once(std::optional<Piece>& kept, const Piece& content) {
  if (kept) return no_example();
  kept = content;
  return {};
}

Result<Entry> read_entry(const Piece& message) {
  std::optional<Piece> key;
  std::optional<Piece> value;
  TRY(for_each(message, [&](const Field& field, const Piece& content) -> Result<void> {
    if (field.is(1, WireType::kLengthDelimited)) return keep_once(key, content);
    if (field.is(2, WireType::kLengthDelimited)) return keep_once(value, content);
    return no_example();
  }));
  if (!key || !value || !is_utf8(as_text(key->bytes))) return no_example();
  return Entry{as_text(key->bytes), *value};
}

// Returns the entries sorted by key. Of entries with equal keys the last one counts.
Result<std::vector<Entry>> read_map(const Piece& message, Room& room) {
  std::vector<Entry> entries;
  TRY(for_each(message, [&](const Field& field, const Piece& content) -> Result<void> {
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
  TRY(for_each({record, 0}, [&](const Field& field, const Piece& content) -> Result<void> {
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

Result<Feature> read_feature(const Piece& message) {
  Feature feature;
  TRY(for_each(message, [&](const Field& field, const Piece& content) -> Result<void> {
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

Result<std::vector<Piece>> read_features(const Piece& feature_list, Room& room) {
  std::vector<Piece> features;
  TRY(for_each(feature_list, [&](const Field& field, const Piece& content) -> Result<void> {
    if (!field.is(1, WireType::kLengthDelimited)) return no_example();
    features.push_back(content);
    return room.take(1);
  }));
  return features;
}

template <class Take>
Result<void> each_bytes(const Piece& list, Take take) {
  return for_each(list, [&](const Field& field, const Piece& content) -> Result<void> {
    if (!field.is(1, WireType::kLengthDelimited)) return no_example();
    return take(content);
  });
}

template <class Take>
Result<void> each_float(const Piece& list, Take take) {
  return for_each(list, [&](const Field& field, const Piece& content) -> Result<void> {
    const bool is_known = field.is(1, WireType::kFixed32) || field.is(1, WireType::kLengthDelimited);
    if (!is_known || content.bytes.size() % sizeof(float) != 0) return no_example();
    for (Cursor cursor(content.bytes); !cursor.at_end();) {
      TRY(take(std::bit_cast<float>(cursor.u32_le())));
    }
    return {};
  });
}

template <class Take>
Result<void> each_int(const Piece& list, Take take) {
  return for_each(list, [&](const Field& field, const Piece& content) -> Result<void> {
    if (field.is(1, WireType::kVarint)) return take(static_cast<std::int64_t>(field.value));
    if (!field.is(1, WireType::kLengthDelimited)) return no_example();
    for (Cursor cursor(content.bytes); !cursor.at_end();) {
      const std::uint64_t value = cursor.varint64();
      if (!cursor.ok()) return no_example();
      TRY(take(static_cast<std::int64_t>(value)));
    }
    return {};
  });
}

// Appends a number in the fewest digits that reproduce it, and a newline. Returns the number of bytes appended.
template <class Number>
std::size_t append_line(std::string& text, Number number) {
  std::array<char, kLongestNumber> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
  const std::size_t before = text.size();
  text.append(digits.data(), end);
  text += '\n';
  return text.size() - before;
}

class PartsMaker {
 public:
  explicit PartsMaker(const Limits& limits) : room_(limits) {}

  Result<Parts> make(Bytes record) {
    ASSIGN_OR_RETURN(const auto example, read_example(record, room_));
    const bool is_sequence = example.lists.has_value();
    if (example.features) {
      const auto context = is_sequence ? std::optional(add_directory("context", std::nullopt)) : std::nullopt;
      for (const Entry& entry : *example.features) {
        TRY(add_feature(std::string(entry.key), context, entry.value));
      }
    }
    if (is_sequence) {
      TRY(add_lists(*example.lists));
    }
    return std::move(parts_);
  }

 private:
  std::size_t add_directory(std::string key, std::optional<std::size_t> parent) {
    parts_.push_back({.key = std::move(key), .parent = parent, .kind = PartKind::kDirectory});
    return parts_.size() - 1;
  }

  void add_text(std::string key, std::optional<std::size_t> parent, std::string text) {
    parts_.push_back({.key = std::move(key), .parent = parent, .kind = PartKind::kText, .text = std::move(text)});
  }

  void add_slice(std::string key, std::optional<std::size_t> parent, const Piece& piece) {
    parts_.push_back({.key = std::move(key),
                      .parent = parent,
                      .kind = PartKind::kSlice,
                      .extent = {piece.begin, piece.bytes.size()}});
  }

  Result<void> add_lists(const std::vector<Entry>& lists) {
    const std::size_t directory = add_directory("feature_lists", std::nullopt);
    for (const Entry& entry : lists) {
      ASSIGN_OR_RETURN(const auto features, read_features(entry.value, room_));
      const std::size_t list = add_directory(std::string(entry.key), directory);
      for (std::size_t i = 0; i < features.size(); ++i) {
        TRY(add_feature(std::to_string(i), list, features[i]));
      }
    }
    return {};
  }

  Result<void> add_feature(std::string key, std::optional<std::size_t> parent, const Piece& message) {
    ASSIGN_OR_RETURN(const auto feature, read_feature(message));
    if (feature.kind == Kind::kBytes) return add_bytes(std::move(key), parent, feature.list);
    std::string text;
    const auto add_line = [&](auto number) { return room_.take(0, append_line(text, number)); };
    Result<void> read;
    if (feature.kind == Kind::kFloats) read = each_float(feature.list, add_line);
    if (feature.kind == Kind::kInts) read = each_int(feature.list, add_line);
    if (!read) return read;
    add_text(std::move(key), parent, std::move(text));
    return {};
  }

  Result<void> add_bytes(std::string key, std::optional<std::size_t> parent, const Piece& list) {
    std::vector<Piece> values;
    TRY(each_bytes(list, [&](const Piece& value) {
      values.push_back(value);
      return room_.take(1);
    }));
    if (values.size() == 1) {
      add_slice(std::move(key), parent, values.front());
    } else if (values.empty()) {
      add_text(std::move(key), parent, {});
    } else {
      const std::size_t directory = add_directory(std::move(key), parent);
      for (std::size_t i = 0; i < values.size(); ++i) add_slice(std::to_string(i), directory, values[i]);
    }
    return {};
  }

  Room room_;
  Parts parts_;
};

// Returns the double with the float's shortest digits: 0.1 instead of 0.10000000149011612.
double with_its_digits(float number) {
  if (!std::isfinite(number)) return static_cast<double>(number);
  std::array<char, kLongestNumber> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
  double same = 0;
  std::from_chars(digits.data(), end, same);
  return same;
}

Value object_of(std::string_view name, Value value) {
  Value::Object members;
  members.push_back({name, std::move(value)});
  return {std::move(members)};
}

class ValueMaker {
 public:
  explicit ValueMaker(const Limits& limits) : room_(limits) {}

  Result<Value> make(Bytes record) {
    ASSIGN_OR_RETURN(const auto example, read_example(record, room_));
    const bool is_sequence = example.lists.has_value();
    Value::Object members;
    if (example.features) {
      ASSIGN_OR_RETURN(auto map,
                       map_of(*example.features, [this](const Piece& message) { return feature_of(message); }));
      members.push_back({is_sequence ? "context" : "features", object_of("feature", std::move(map))});
    }
    if (is_sequence) {
      ASSIGN_OR_RETURN(auto map, map_of(*example.lists, [this](const Piece& message) { return list_of(message); }));
      members.push_back({"feature_lists", object_of("feature_list", std::move(map))});
    }
    return Value{std::move(members)};
  }

 private:
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

  Result<Value> list_of(const Piece& message) {
    ASSIGN_OR_RETURN(const auto features, read_features(message, room_));
    Value::List values;
    for (const Piece& feature : features) {
      ASSIGN_OR_RETURN(auto value, feature_of(feature));
      values.push_back(std::move(value));
    }
    return object_of("feature", {std::move(values)});
  }

  Result<Value> feature_of(const Piece& message) {
    ASSIGN_OR_RETURN(const auto feature, read_feature(message));
    TRY(room_.take(3));
    Value::List values;
    const auto add = [&](auto value) {
      values.emplace_back().is.template emplace<decltype(value)>(value);
      return room_.take(1);
    };
    Result<void> read;
    std::string_view name;
    switch (feature.kind) {
      case Kind::kNone: return Value{Value::Object{}};
      case Kind::kBytes:
        name = "bytes_list";
        read = each_bytes(feature.list, [&](const Piece& value) { return add(value.bytes); });
        break;
      case Kind::kFloats:
        name = "float_list";
        read = each_float(feature.list, [&](float value) { return add(with_its_digits(value)); });
        break;
      case Kind::kInts:
        name = "int64_list";
        read = each_int(feature.list, add);
        break;
    }
    if (!read) return std::move(read).error();
    return object_of(name, object_of("value", {std::move(values)}));
  }

  Room room_;
};

}  // namespace

Result<Parts> parts_of_example(Bytes record, const Limits& limits) { return PartsMaker(limits).make(record); }

Result<Value> value_of_example(Bytes record, const Limits& limits) { return ValueMaker(limits).make(record); }

}  // namespace recordfs::tensorflow
