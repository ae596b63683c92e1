#include "core/python/row_schema.h"

#include <utility>

#include <fmt/format.h>

#include "core/base/protobuf.h"
#include "core/base/utf8.h"
#include "core/store/wait_ticket.h"

namespace recordfs::python {
namespace {

using protobuf::MessageReader;
using protobuf::WireType;
using tensorflow::FeatureKind;

constexpr const char* kColumn = "decoded";

Error unsupported(std::string why) { return {.code = Code::kUnsupported, .detail = std::move(why)}; }

FieldType type_of(FeatureKind kind) {
  switch (kind) {
    case FeatureKind::kFloats: return FieldType::kFloat;
    case FeatureKind::kInts: return FieldType::kInt64;
    default: return FieldType::kBytes;
  }
}

bool has_values(const tensorflow::NamedFeature& feature) {
  if (feature.kind == FeatureKind::kBytes) return !feature.list.empty();
  MessageReader reader(feature.list, 0);
  while (reader.next()) {
    const bool is_packed = reader.field().type == WireType::kLengthDelimited;
    if (reader.field().number == 1 && !(is_packed && reader.content().empty())) return true;
  }
  return !reader.finish();
}

// Fails with what the first records lack or have otherwise.
Error unlike_first(std::string_view feature, std::string_view what) {
  return {.code = Code::kDamage,
          .detail = fmt::format("feature {} {} the first 1,024 records", printable(feature), what)};
}

// Returns the type that a shard states; nullopt if it states none.
Result<std::optional<RecordType>> type_of_shard(const RequestContext& context, const OpenedSet& set,
                                                std::size_t shard) {
  const UserTypes& types = set.plan().options.types;
  if (!types.type.empty() && !types.is_only_type) return std::optional(RecordType{types.type, types.descriptors});
  ASSIGN_OR_RETURN(const auto store, set.set().open(context, shard));
  const std::string_view given = type_of_records(types, store->schema(), store->metadata());
  if (!given.empty()) return std::optional(RecordType{std::string(given), types.descriptors});
  const Metadata* const metadata = store->metadata();
  // Where the metadata changes along the file, types may too.
  if (metadata == nullptr || metadata->varies()) return std::optional<RecordType>();
  ASSIGN_OR_RETURN(const auto name, metadata->record_type(context));
  if (name.empty()) return std::optional<RecordType>();
  RecordType type{.name = std::string(name)};
  ASSIGN_OR_RETURN(const auto first, wait_for(context, [&] { return store->index().first_with_records(context); }));
  if (first && metadata->has_descriptors()) {
    ASSIGN_OR_RETURN(type.descriptors, metadata->descriptors(context, *first));
  }
  return std::optional(std::move(type));
}

// Returns that of the first shard that can be read.
Result<std::optional<RecordType>> first_type(const RequestContext& context, const OpenedSet& set) {
  const std::size_t last = set.plan().list.shards.size() - 1;
  for (std::size_t shard = 0; shard < last; ++shard) {
    auto type = type_of_shard(context, set, shard);
    if (type || !(is_permanent(type.error().code) || type.error().code == Code::kNoContainer)) return type;
  }
  return type_of_shard(context, set, last);
}

}  // namespace

bool RecordType::operator==(const RecordType& other) const {
  if (name != other.name || (descriptors == nullptr) != (other.descriptors == nullptr)) return false;
  return descriptors == other.descriptors || *descriptors == *other.descriptors;
}

Result<std::shared_ptr<const RowSchema>> RowSchema::find(
    const RequestContext& context, const OpenedSet& set,
    const std::function<std::vector<std::string>()>& first_records) {
  auto schema = std::make_shared<RowSchema>();
  schema->limits_ = set.plan().limits;
  schema->root_ = {.name = kColumn, .number = 1, .type = FieldType::kMessage, .has_presence = true};
  ASSIGN_OR_RETURN(auto type, first_type(context, set));
  if (type && type->name != tensorflow::kExampleType) {
    if (type->descriptors == nullptr) return unsupported("no descriptors of " + printable(type->name));
    ASSIGN_OR_RETURN(schema->root_.fields, message_schema(as_bytes(*type->descriptors), type->name));
    schema->type_ = std::move(type);
  } else {
    TRY(schema->add_features(first_records()));
  }
  return std::shared_ptr<const RowSchema>(std::move(schema));
}

Result<void> RowSchema::add_features(const std::vector<std::string>& records) {
  for (const std::string& record : records) {
    const auto features = tensorflow::features_of_example(as_bytes(record), limits_);
    if (!features) return unsupported("records of unknown type");
    for (const auto& feature : *features) {
      if (!has_values(feature) || feature.name.find('\0') != std::string_view::npos) continue;
      features_.try_emplace(std::string(feature.name), Feature{.kind = feature.kind});
    }
    if (features_.size() > SchemaLimits().fields) {
      return Error{.code = Code::kLimit, .detail = "the examples have too many features"};
    }
  }
  for (auto& [name, feature] : features_) {
    feature.column = root_.fields.size();
    root_.fields.push_back({.name = name,
                            .number = static_cast<std::uint32_t>(feature.column + 1),
                            .type = type_of(feature.kind),
                            .is_repeated = true});
  }
  return features_.empty() ? unsupported("records of unknown type") : Result<void>();
}

Result<void> RowSchema::check_shard(const RequestContext& context, const OpenedSet& set, std::size_t shard) const {
  if (!type_) return {};
  ASSIGN_OR_RETURN(const auto type, type_of_shard(context, set, shard));
  if (type == type_) return {};
  return unsupported("the records of this shard are not of the type of the first shard");
}

Result<void> RowSchema::append(ColumnBuilder& builder, Bytes record) const {
  return type_ ? builder.append_message(record) : append_example(builder, record);
}

Result<void> RowSchema::append_example(ColumnBuilder& builder, Bytes record) const {
  ASSIGN_OR_RETURN(const auto features, tensorflow::features_of_example(record, limits_));
  for (const auto& feature : features) {
    if (!has_values(feature)) continue;
    const auto known = features_.find(feature.name);
    if (known == features_.end()) return unlike_first(feature.name, "does not occur in");
    if (known->second.kind != feature.kind) return unlike_first(feature.name, "has another type than in");
    ColumnBuilder& list = builder.child_at(known->second.column);
    MessageReader reader(feature.list, 0);
    while (reader.next()) {
      if (reader.field().number == 1) TRY(list.add_items(reader.field(), reader.content()));
    }
    TRY(reader.finish());
  }
  for (std::size_t i = 0; i < root_.fields.size(); ++i) TRY(builder.child_at(i).append_list());
  builder.complete_row();
  return {};
}

}  // namespace recordfs::python
