#include "core/columns/feature_columns.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include <fmt/format.h>

#include "core/base/protobuf.h"
#include "core/base/utf8.h"

namespace recordfs {
namespace {

using protobuf::MessageReader;
using protobuf::WireType;
using tensorflow::FeatureKind;

constexpr std::size_t kMostNames = 65'536;  // of features, also of those that are not selected

Error unsupported(std::string why) { return {.code = Code::kUnsupported, .detail = std::move(why)}; }

FieldType type_of(FeatureKind kind) {
  switch (kind) {
    case FeatureKind::kFloats: return FieldType::kFloat;
    case FeatureKind::kInts: return FieldType::kInt64;
    default: return FieldType::kBytes;
  }
}

// Returns the number of values; those of a list that is not valid count somehow.
std::size_t values_of(const tensorflow::NamedFeature& feature) {
  std::size_t values = 0;
  MessageReader reader(feature.list, 0);
  while (reader.next()) {
    const bool is_packed = feature.kind != FeatureKind::kBytes && reader.field().is(1, WireType::kLengthDelimited);
    const Bytes packed = reader.content();
    if (!is_packed) {
      ++values;
    } else if (feature.kind == FeatureKind::kFloats) {
      values += packed.size() / sizeof(float);
    } else {
      values += static_cast<std::size_t>(
          std::ranges::count_if(packed, [](std::byte byte) { return (byte & std::byte{0x80}) == std::byte{0}; }));
    }
  }
  return values;
}

bool has_values(const tensorflow::NamedFeature& feature) {
  if (feature.kind == FeatureKind::kBytes) return !feature.list.empty();
  MessageReader reader(feature.list, 0);
  while (reader.next()) {
    if (!reader.field().is(1, WireType::kLengthDelimited) || !reader.content().empty()) return true;
  }
  return !reader.finish();
}

// Returns the error of a list whose values are not of its type.
Error no_example() { return {.code = Code::kDamage, .detail = "not a valid tensorflow.Example"}; }

Error feature_error(std::string_view feature, std::string_view what) {
  return {.code = Code::kDamage, .detail = fmt::format("feature {} {}", printable(feature), what)};
}

// Returns the features of a record among Examples.
Result<std::vector<tensorflow::NamedFeature>> features_in(Bytes record, const Limits& limits) {
  if (tensorflow::is_empty_example(record)) return std::vector<tensorflow::NamedFeature>();
  return tensorflow::features_of_example(record, limits);
}

Error nul_in(std::string_view feature) {
  return unsupported(fmt::format("feature {} has a NUL in its name", printable(feature)));
}

constexpr std::array<std::pair<std::string_view, FeatureKind>, 6> kListsOfFeatures = {
    {{".bytes_list.value", FeatureKind::kBytes},
     {".float_list.value", FeatureKind::kFloats},
     {".int64_list.value", FeatureKind::kInts},
     {".bytes_list", FeatureKind::kBytes},
     {".float_list", FeatureKind::kFloats},
     {".int64_list", FeatureKind::kInts}}};

constexpr std::string_view kPlaceOfFeatures = "features.feature";

// Returns a name without the place of all features.
std::string_view name_in_features(std::string_view name) {
  const bool is_inside = name.starts_with(kPlaceOfFeatures) && name.substr(kPlaceOfFeatures.size()).starts_with('.');
  return is_inside ? name.substr(kPlaceOfFeatures.size() + 1) : name;
}

// A feature that a name may lead to.
struct FeatureName {
  std::string_view feature{};
  FeatureKind kind = FeatureKind::kNone;  // that the feature must have; kNone: any
};

// Returns the features that a name may lead to: its own, and with a place before the name, or the list of values after
// it.
std::vector<FeatureName> features_of(std::string_view given) {
  std::vector<FeatureName> features;
  const auto add = [&features](std::string_view name) {
    features.push_back({.feature = name});
    for (const auto& [list, kind] : kListsOfFeatures) {
      if (name.ends_with(list))
        features.push_back({.feature = name.substr(0, name.size() - list.size()), .kind = kind});
    }
  };
  add(given);
  const std::string_view inside = name_in_features(given);
  if (inside != given) add(inside);
  return features;
}

}  // namespace

Result<FeatureColumns> FeatureColumns::of(Options options) {
  FeatureColumns columns(std::move(options));
  TRY(columns.select());
  return columns;
}

Result<void> FeatureColumns::select() {
  const auto add = [&](std::string_view feature, const std::string& given) -> Result<void> {
    const auto [known, is_new] = selected_.try_emplace(std::string(feature), given);
    if (is_new || known->second == given) return {};
    return unsupported(fmt::format("{} and {} name the same column", printable(known->second), printable(given)));
  };
  for (const std::string& given : options_.selection.names()) {
    for (const FeatureName& one : features_of(given)) TRY(add(one.feature, given));
  }
  return {};
}

Result<void> FeatureColumns::add(Bytes record) {
  const auto features = tensorflow::features_of_example(record, options_.limits);
  if (!features) return {};
  for (const auto& feature : *features) {
    names_.emplace(feature.name);
    if (!column_of(feature.name)) continue;
    if (!options_.allows_nul && feature.name.find('\0') != std::string_view::npos) return nul_in(feature.name);
    const auto known = features_.try_emplace(std::string(feature.name), Feature{.kind = feature.kind}).first;
    Feature& column = known->second;
    const bool is_null = feature.kind == FeatureKind::kNone;
    column.is_list = column.is_list || options_.lists || (!is_null && values_of(feature) != 1);
    // An empty list of another type may precede the first value.
    if (!column.has_values && !is_null) column.kind = feature.kind;
    column.has_values = column.has_values || has_values(feature);
  }
  if (features_.size() <= SchemaLimits().fields && names_.size() <= kMostNames) return {};
  const std::size_t most = features_.size() > SchemaLimits().fields ? SchemaLimits().fields : kMostNames;
  return Error{.code = Code::kLimit,
               .detail = fmt::format("the Examples have more than {} features{}", most,
                                     options_.selection.is_all() ? " (try: --select)" : "")};
}

Result<void> FeatureColumns::resolve() {
  std::vector<std::string> known(names_.begin(), names_.end());
  for (const std::string& given : options_.selection.names()) {
    std::size_t found = 0;
    for (const auto& [name, kind] : features_of(given)) {
      const auto feature = features_.find(name);
      if (feature == features_.end()) continue;
      if (kind == FeatureKind::kNone || feature->second.kind == kind) {
        ++found;
      } else {
        selected_.erase(selected_.find(name));
        features_.erase(feature);
      }
    }
    // In conditions, the place of all features is a path, too.
    if (found == 1 && given == kPlaceOfFeatures) ++found;
    if (found > 1) return unsupported(fmt::format("{} names several columns", printable(given)));
    if (found == 1 && !names_.contains(given)) known.push_back(given);
  }
  return options_.selection.check(known);
}

Result<std::vector<MessageField>> FeatureColumns::finish() {
  if (names_.empty()) return unsupported("the Examples have no features");
  TRY(resolve());
  std::vector<MessageField> fields;
  fields.reserve(features_.size());
  for (auto& [name, feature] : features_) {
    feature.column = fields.size();
    fields.push_back({.name = std::string(*column_of(name)),
                      .number = static_cast<std::uint32_t>(feature.column + 1),
                      .type = type_of(feature.kind),
                      .is_repeated = feature.is_list,
                      .has_presence = true});
  }
  return fields;
}

std::optional<std::string_view> FeatureColumns::column_of(std::string_view feature) const {
  if (options_.selection.is_all()) return feature;
  const auto known = selected_.find(feature);
  return known == selected_.end() ? std::nullopt : std::optional<std::string_view>(known->second);
}

bool FeatureColumns::is_list(std::string_view feature) const {
  const auto known = features_.find(feature);
  return known == features_.end() || known->second.is_list;
}

Error FeatureColumns::several_values(std::string_view feature) {
  return feature_error(feature,
                       "has several values, but at most one in each of the first 1,024 records (try: --lists)");
}

Result<void> FeatureColumns::append(ColumnBuilder& builder, Bytes record) const {
  ASSIGN_OR_RETURN(const auto features, features_in(record, options_.limits));
  std::vector<bool> has_list(features_.size());  // by column
  for (const auto& feature : features) {
    const auto known = features_.find(feature.name);
    if (known != features_.end() && feature.kind != FeatureKind::kNone) has_list[known->second.column] = true;
    const bool is_skipped = known == features_.end() && !column_of(feature.name);
    if (is_skipped || !has_values(feature)) continue;
    if (known == features_.end()) {
      return feature_error(feature.name, "does not occur in the first 1,024 records (try: --scan-columns)");
    }
    if (known->second.kind != feature.kind) {
      return feature_error(feature.name, "has another type than in an earlier record");
    }
    const WireType wire = wire_type_of(type_of(feature.kind));
    ColumnBuilder& column = builder.child_at(known->second.column);
    MessageReader reader(feature.list, 0);
    while (reader.next()) {
      const protobuf::Field& item = reader.field();
      if (!item.is(1, wire) && !item.is(1, WireType::kLengthDelimited)) return no_example();
      TRY(column.add_items(item, reader.content()));
    }
    TRY(reader.finish());
    if (!known->second.is_list && column.size() > builder.size() + 1) return several_values(feature.name);
  }
  for (const auto& [name, feature] : features_) {
    ColumnBuilder& column = builder.child_at(feature.column);
    if (feature.is_list) {
      TRY(has_list[feature.column] ? column.append_list() : column.append_null());
    } else if (column.size() == builder.size()) {
      TRY(column.append_absent());
    }
  }
  builder.complete_row();
  return {};
}

}  // namespace recordfs
