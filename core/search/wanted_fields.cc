#include "core/search/wanted_fields.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "core/columns/row_schema.h"
#include "core/columns/scalar_rows.h"

namespace recordfs {
namespace {

using FieldNumbers = std::vector<std::uint32_t>;

// FieldPaths looks up a name in these, too.
constexpr std::array<std::string_view, 3> kPlacesOfFeatures = {"features", "context", "feature_lists"};

// Returns whether JSON has other names for the content than those of the fields: an entry of a map, or an Any.
bool has_other_names(const MessageField& field) {
  const auto is_value = [](const MessageField& inner) { return inner.number == 2 && inner.name == "value"; };
  return field.type != FieldType::kMessage || std::ranges::any_of(field.fields, is_value);
}

void add(const std::vector<MessageField>& message, const MessageField& field, FieldNumbers parent,
         FieldProjection& wanted) {
  parent.push_back(field.number);
  wanted.add(parent);
  for (const MessageField& other : message) {
    if (!field.oneof || other.oneof != field.oneof) continue;
    parent.back() = other.number;
    wanted.add(parent);
  }
}

bool add_path(const std::vector<MessageField>& message, std::string_view path, const FieldNumbers& parent,
              FieldProjection& wanted) {
  for (const MessageField& field : message) {
    if (!path.starts_with(field.name)) continue;
    const std::string_view rest = path.substr(field.name.size());
    if (!rest.empty() && rest.front() != '.') continue;
    const bool leads_inside = rest.size() > 1 && !field.oneof && !has_other_names(field);
    FieldNumbers inside = parent;
    inside.push_back(field.number);
    if (!leads_inside || !add_path(field.fields, rest.substr(1), inside, wanted)) add(message, field, parent, wanted);
    return true;
  }
  return false;
}

// Returns the type of all records of a store; nullopt if it is unknown, or if they are no messages.
std::optional<RecordType> type_of(const RequestContext& context, const RecordStore& store, const UserTypes& types) {
  const Metadata* const metadata = store.metadata();
  if (store.schema().value || (metadata != nullptr && metadata->varies())) return std::nullopt;
  auto type = stated_type(context, store, types);
  if (!type || !*type || (*type)->descriptors == nullptr) return std::nullopt;
  // The user's descriptors may have the type that the container states.
  if (types.descriptors != nullptr && (*type)->descriptors != types.descriptors) return std::nullopt;
  // The names of scalars in events are no names of fields.
  return scalar_source((*type)->name) ? std::nullopt : std::move(*type);
}

}  // namespace

bool add_wanted_field(const std::vector<MessageField>& message, std::string_view path, FieldProjection& wanted) {
  return add_path(message, path, {}, wanted);
}

bool add_wanted_fields(const RequestContext& context, const RecordStore& store, const UserTypes& types,
                       const std::vector<std::string>& paths, FieldProjection& wanted) {
  const auto type = type_of(context, store, types);
  if (!type) return false;
  const auto fields = message_schema(as_bytes(*type->descriptors), type->name);
  if (!fields) return false;
  const auto has_features = [](const MessageField& field) {
    return std::ranges::find(kPlacesOfFeatures, field.name) != kPlacesOfFeatures.end();
  };
  if (std::ranges::any_of(*fields, has_features)) return false;
  return std::ranges::all_of(paths, [&](const std::string& path) { return add_wanted_field(*fields, path, wanted); });
}

std::optional<FieldProjection> wanted_fields(const RequestContext& context, const RecordStore& store,
                                             const UserTypes& types, const std::vector<std::string>& paths) {
  FieldProjection wanted;
  return add_wanted_fields(context, store, types, paths, wanted) ? std::optional(std::move(wanted)) : std::nullopt;
}

}  // namespace recordfs
