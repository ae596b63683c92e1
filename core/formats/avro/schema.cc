#include "core/formats/avro/schema.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "core/base/utf8.h"
#include "core/formats/avro/encoding.h"
#include "core/formats/json_text.h"

namespace recordfs::avro {
namespace {

// Of a schema. The records of a file must not depend on what users set.
constexpr std::size_t kLargestSchema = 1 << 20;   // bytes
constexpr std::size_t kMostSchemaValues = 65536;  // in its JSON
constexpr std::uint32_t kDeepestSchema = 100;
constexpr std::size_t kLongestName = 1024;  // bytes; each type in a namespace repeats its name

constexpr std::uint32_t kDeepestRecord = 1000;  // values inside each other, of a record that is skipped
constexpr std::uint64_t kMostDigits = 1000;     // of a decimal, after the point

struct Primitive {
  std::string_view name;
  std::optional<std::uint64_t> size{};  // in bytes; nullopt: it varies
};
// In the order of Schema::Type.
constexpr std::array kPrimitives{Primitive{"null", 0}, Primitive{"boolean", 1}, Primitive{"int"},
                                 Primitive{"long"},    Primitive{"float", 4},   Primitive{"double", 8},
                                 Primitive{"bytes"},   Primitive{"string"}};

Error invalid(std::string_view why) { return {Code::kDamage, 0, fmt::format("invalid schema: {}", why)}; }

std::uint64_t add_up(std::uint64_t a, std::uint64_t b) { return a > UINT64_MAX - b ? UINT64_MAX : a + b; }

// Returns the elements of a member that is an array; null if there is none.
const std::vector<JsonValue>* list_member(const JsonValue& object, std::string_view key) {
  const JsonValue* const found = object.find(key);
  return found != nullptr && found->type == JsonType::kArray ? &found->values : nullptr;
}

}  // namespace

// Makes the nodes of a schema. The depth of the JSON bounds the recursion.
class SchemaReader {
 public:
  Result<Schema> read(const JsonValue& json) {
    TRY(add(json, {}));
    return std::move(schema_);
  }

 private:
  using Type = Schema::Type;
  using Logical = Schema::Logical;
  using Node = Schema::Node;
  using Index = std::uint32_t;

  Node& node(Index index) { return schema_.nodes_[index]; }

  Index new_node(Type type, std::string_view name) {
    schema_.nodes_.push_back({.type = type, .name = std::string(name)});
    return static_cast<Index>(schema_.nodes_.size() - 1);
  }

  // Returns the node of a type. `space`: the namespace that encloses it.
  Result<Index> add(const JsonValue& json, const std::string& space) {
    if (json.type == JsonType::kString) return add_named(json.text, space);
    if (json.type == JsonType::kArray) return add_union(json, space);
    if (json.type != JsonType::kObject) return invalid("neither a name, an array nor an object");
    const JsonValue* const type = json.find("type");
    if (type == nullptr) return invalid("an object without a type");
    if (type->type != JsonType::kString) return add(*type, space);
    const std::string_view name = type->text;
    if (name == "record" || name == "error") return add_record(json, space);
    if (name == "enum") return add_enum(json, space);
    if (name == "fixed") return add_fixed(json, space);
    if (name == "array") return add_list(json, Type::kArray, "items", space);
    if (name == "map") return add_list(json, Type::kMap, "values", space);
    ASSIGN_OR_RETURN(const auto index, add_named(type->text, space));
    if (node(index).type <= Type::kString) set_logical(json, node(index));
    return index;
  }

  static std::string full_name(std::string_view name, const std::string& space) {
    const bool is_full = name.find('.') != std::string_view::npos || space.empty();
    return is_full ? std::string(name) : fmt::format("{}.{}", space, name);
  }

  // Returns the node of a primitive type, or of a type that has a name.
  Result<Index> add_named(std::string_view name, const std::string& space) {
    const auto primitive = std::ranges::find(kPrimitives, name, &Primitive::name);
    if (primitive != kPrimitives.end()) {
      const Index index = new_node(static_cast<Type>(primitive - kPrimitives.begin()), name);
      node(index).fixed_size = primitive->size;
      node(index).least_size = primitive->size.value_or(1);
      return index;
    }
    if (name.size() > 2 * kLongestName) return invalid("a name is too long");
    for (const std::string& known : {full_name(name, space), std::string(name)}) {
      if (const auto found = names_.find(known); found != names_.end()) return found->second;
    }
    return invalid(fmt::format("the type {} is not defined", printable(name)));
  }

  // Makes the node of a type that defines a name. Sets `space` to its namespace.
  Result<Index> define(const JsonValue& json, Type type, std::string& space) {
    const std::string_view name = json.string("name");
    if (name.empty()) return invalid("a type without a name");
    if (const auto dot = name.rfind('.'); dot != std::string_view::npos) {
      space = name.substr(0, dot);
    } else if (json.find("namespace") != nullptr) {
      space = json.string("namespace");
    }
    if (name.size() > kLongestName || space.size() > kLongestName) return invalid("a name is too long");
    std::string full = full_name(name, space);
    if (!is_utf8(full)) return invalid("a type without a name");
    const Index index = new_node(type, full);
    if (!names_.emplace(std::move(full), index).second) return invalid("two types of one name");
    return index;
  }

  Result<Index> add_record(const JsonValue& json, std::string space) {
    ASSIGN_OR_RETURN(const auto index, define(json, Type::kRecord, space));
    const auto* const fields = list_member(json, "fields");
    if (fields == nullptr) return invalid("a record without fields");
    std::vector<Index> inner;
    std::set<std::string_view> known;
    for (const JsonValue& field : *fields) {
      const std::string_view name = field.string("name");
      const JsonValue* const type = field.find("type");
      if (type == nullptr || !is_utf8(name) || !known.insert(name).second)
        return invalid("a field without a name or type");
      ASSIGN_OR_RETURN(const auto made, add(*type, space));
      inner.push_back(made);
      node(index).words.emplace_back(name);
    }
    set_record_size(index, inner);
    node(index).inner = std::move(inner);
    return index;
  }

  void set_record_size(Index index, const std::vector<Index>& fields) {
    std::uint64_t least = 0;
    std::uint64_t bytes = 0;
    std::vector<Schema::SkipStep> steps;
    for (const Index field : fields) {
      const Node& type = node(field);
      least = add_up(least, type.least_size);
      if (type.fixed_size) {
        bytes = add_up(bytes, *type.fixed_size);
      } else if (type.type == Type::kRecord && type.steps.size() == 1) {
        steps.push_back({add_up(bytes, type.steps.front().bytes), type.steps.front().node});
        bytes = type.bytes_after;
      } else {
        steps.push_back({bytes, field});
        bytes = 0;
      }
    }
    Node& made = node(index);
    made.least_size = least;
    if (steps.empty()) made.fixed_size = bytes;
    made.steps = std::move(steps);
    made.bytes_after = bytes;
  }

  Result<Index> add_enum(const JsonValue& json, std::string space) {
    ASSIGN_OR_RETURN(const auto index, define(json, Type::kEnum, space));
    const auto* const symbols = list_member(json, "symbols");
    if (symbols == nullptr) return invalid("an enum without symbols");
    for (const JsonValue& symbol : *symbols) {
      if (symbol.type != JsonType::kString || !is_utf8(symbol.text)) return invalid("a symbol that is not a string");
      node(index).words.push_back(symbol.text);
    }
    node(index).least_size = 1;
    return index;
  }

  Result<Index> add_fixed(const JsonValue& json, std::string space) {
    ASSIGN_OR_RETURN(const auto index, define(json, Type::kFixed, space));
    const auto size = json.number("size");
    if (!size) return invalid("a fixed without a size");
    node(index).fixed_size = node(index).least_size = *size;
    set_logical(json, node(index));
    return index;
  }

  Result<Index> add_list(const JsonValue& json, Type type, std::string_view key, const std::string& space) {
    const Index index = new_node(type, type == Type::kArray ? "array" : "map");
    node(index).least_size = 1;
    const JsonValue* const items = json.find(key);
    if (items == nullptr) return invalid("an array or a map without a type");
    ASSIGN_OR_RETURN(const auto item, add(*items, space));
    node(index).inner.push_back(item);
    return index;
  }

  Result<Index> add_union(const JsonValue& json, const std::string& space) {
    const Index index = new_node(Type::kUnion, "union");
    node(index).least_size = 1;
    for (const JsonValue& branch : json.values) {
      if (branch.type == JsonType::kArray) return invalid("a union in a union");
      ASSIGN_OR_RETURN(const auto made, add(branch, space));
      node(index).inner.push_back(made);
    }
    const auto is_object = [this](Index branch) { return node(branch).is_object(); };
    node(index).has_several_objects = std::ranges::count_if(node(index).inner, is_object) > 1;
    return index;
  }

  // Sets the logical type, if it is known and fits the type. Others are ignored, as the specification demands.
  static void set_logical(const JsonValue& json, Node& made) {
    const std::string_view name = json.string("logicalType");
    const bool is_int = made.type == Type::kInt;
    const bool is_long = made.type == Type::kLong;
    const bool is_fixed = made.type == Type::kFixed;
    const auto unit = name.ends_with("-millis") ? 1000u : name.ends_with("-micros") ? 1000000u : 1000000000u;
    const auto is_moment = [&](std::string_view prefix) {
      if (!is_long || !name.starts_with(prefix)) return false;
      const std::string_view word = name.substr(prefix.size());
      return word == "millis" || word == "micros" || word == "nanos";
    };
    made.unit = name == "decimal" ? json.number("scale").value_or(0) : unit;
    if (is_int && name == "date") made.logical = Logical::kDate;
    if ((is_int && name == "time-millis") || (is_long && name == "time-micros")) made.logical = Logical::kTime;
    if (is_moment("timestamp-")) made.logical = Logical::kTimestamp;
    if (is_moment("local-timestamp-")) made.logical = Logical::kLocalTimestamp;
    if (is_fixed && name == "uuid" && made.fixed_size == 16u) made.logical = Logical::kUuid;
    if (is_fixed && name == "duration" && made.fixed_size == 12u) made.logical = Logical::kDuration;
    const auto precision = json.number("precision");
    const bool has_scale = json.find("scale") == nullptr || json.number("scale");
    const bool may_be_decimal =
        (is_fixed || made.type == Type::kBytes) && has_scale && precision && *precision > 0 && made.unit <= *precision;
    if (may_be_decimal && name == "decimal" && made.unit <= kMostDigits) made.logical = Logical::kDecimal;
  }

  Schema schema_;
  std::map<std::string, Index, std::less<>> names_;
};

// Skips values of a schema.
class RecordSkipper {
 public:
  RecordSkipper(const Schema& schema, Cursor& cursor) : schema_(schema), cursor_(cursor) {}

  void skip(std::uint32_t index, std::uint32_t depth = 0) {
    using Type = Schema::Type;
    if (depth > kDeepestRecord) {
      is_too_deep_ = true;
      cursor_.fail();
    }
    if (!cursor_.ok()) return;
    const Schema::Node& node = schema_.nodes_[index];
    if (node.fixed_size) return cursor_.skip(*node.fixed_size);
    switch (node.type) {
      case Type::kBytes:
      case Type::kString: cursor_.skip(read_size(cursor_)); return;
      case Type::kEnum: read_index(cursor_, node.words.size()); return;
      case Type::kUnion: {
        const auto branch = read_index(cursor_, node.inner.size());
        if (branch) skip(node.inner[*branch], depth + 1);
        return;
      }
      case Type::kArray:
      case Type::kMap: return skip_list(node, depth);
      case Type::kRecord:
        for (const auto& step : node.steps) {
          cursor_.skip(step.bytes);
          skip(step.node, depth + 1);
          if (!cursor_.ok()) return;
        }
        cursor_.skip(node.bytes_after);
        return;
      default: cursor_.varint64();
    }
  }

  bool is_too_deep() const { return is_too_deep_; }

 private:
  void skip_list(const Schema::Node& list, std::uint32_t depth) {
    const bool is_map = list.type == Schema::Type::kMap;
    const Schema::Node& item = schema_.nodes_[list.inner.front()];
    const std::uint64_t least = add_up(item.least_size, is_map ? 1 : 0);
    for (;;) {
      const ListBlock block = read_list_block(cursor_, least);
      if (block.count == 0) return;
      const std::size_t begin = cursor_.remaining();
      if (!is_map && item.fixed_size) {
        if (*item.fixed_size > 0) cursor_.skip(block.count * *item.fixed_size);
      } else {
        for (std::uint64_t i = 0; i < block.count && cursor_.ok(); ++i) {
          if (is_map) cursor_.skip(read_size(cursor_));
          skip(list.inner.front(), depth + 1);
        }
      }
      if (block.bytes && begin - cursor_.remaining() != *block.bytes) cursor_.fail();
    }
  }

  const Schema& schema_;
  Cursor& cursor_;
  bool is_too_deep_ = false;
};

Result<Schema> Schema::parse(Bytes json) {
  if (json.size() > kLargestSchema) return invalid("too large");
  const auto tree = read_json_tree(json, kDeepestSchema, kMostSchemaValues);
  if (!tree) return invalid("not JSON, or too large");
  return SchemaReader().read(*tree);
}

Result<void> Schema::skip(Cursor& cursor) const {
  RecordSkipper skipper(*this, cursor);
  skipper.skip(0);
  if (skipper.is_too_deep()) return Error{Code::kLimit, 0, "the record nests too deeply"};
  if (!cursor.ok()) return Error{Code::kDamage, 0, "the record does not match the schema"};
  return {};
}

}  // namespace recordfs::avro
