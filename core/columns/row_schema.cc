#include "core/columns/row_schema.h"

#include <algorithm>
#include <set>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "core/base/utf8.h"
#include "core/decoding/chunk_metadata.h"
#include "core/decoding/json_record.h"
#include "core/decoding/record_decoder.h"
#include "core/store/wait_ticket.h"

namespace recordfs {
namespace {

constexpr const char* kColumn = "decoded";

Error unsupported(std::string why) { return {.code = Code::kUnsupported, .detail = std::move(why)}; }
Error no_columns(std::string why) { return {.code = Code::kNotFound, .detail = std::move(why)}; }

bool is_object(const Value& value) { return std::holds_alternative<Value::Object>(value.is); }

// Returns whether a format reads a record as an Example, whose columns are its features.
bool is_example(const RecordSchema& format, const Value& value) {
  return format.type && format.type(value) == tensorflow::kExampleType;
}

// Returns a member of an object, which for a list is its first item; null if there is none.
const Value* member_of(const Value* value, std::string_view name) {
  const auto* const list = value == nullptr ? nullptr : std::get_if<Value::List>(&value->is);
  if (list != nullptr) value = list->empty() ? nullptr : &list->front();
  const auto* const object = value == nullptr ? nullptr : std::get_if<Value::Object>(&value->is);
  if (object == nullptr) return nullptr;
  const auto found = std::ranges::find(*object, name, &Member::name);
  return found == object->end() ? nullptr : &found->value;
}

// Returns the path to the values of a feature of a SequenceExample; empty if it has no such feature with values.
std::string path_of_feature(const Value& example, const std::string& name) {
  const auto path_in = [&](const Value* features, const std::string& place, std::string_view inside) {
    for (const char* const kind : {"bytes_list", "float_list", "int64_list"}) {
      const Value* const feature = member_of(features, name);
      const Value* const values = member_of(inside.empty() ? feature : member_of(feature, inside.substr(1)), kind);
      if (values != nullptr) return fmt::format("{}.{}{}.{}.value", place, name, inside, kind);
    }
    return std::string();
  };
  const Value* const context = member_of(member_of(&example, "context"), "feature");
  const Value* const lists = member_of(member_of(&example, "feature_lists"), "feature_list");
  std::string path = path_in(context, "context.feature", "");
  return path.empty() ? path_in(lists, "feature_lists.feature_list", ".feature") : path;
}

// Returns whether paths lead through a field. Those in a map lead to all keys or values.
bool has_paths(const MessageField& field) { return field.type == FieldType::kMessage; }

// Returns an error, which says what to try if records after the first ones may have columns.
Error without_columns(Error why, const RowSources& sources, std::size_t records) {
  constexpr std::size_t kFirst = 1024;
  if (!sources.later_records && records >= kFirst) why.detail += " in the first 1,024 records (try: --scan-columns)";
  return why;
}

// Adds the names of fields, and the paths to those inside if `all`.
void add_paths(const std::vector<MessageField>& fields, const std::string& parent, bool all,
               std::vector<std::string>& paths) {
  for (const MessageField& field : fields) {
    paths.push_back(parent + field.name);
    if (all && has_paths(field)) add_paths(field.fields, parent + field.name + ".", all, paths);
  }
}

// Removes the fields that are not wanted, but not those that exclude a wanted one.
void keep_parts(std::vector<MessageField>& fields, const WantedParts& wanted) {
  if (wanted.is_all()) return;
  std::set<std::uint64_t> oneofs;  // of wanted fields
  std::set<std::uint32_t> kept;    // numbers
  for (MessageField& field : fields) {
    const auto parts = wanted.member(field.name);
    if (!parts || (!parts->is_all() && !has_paths(field))) continue;
    auto inside = field.fields;
    keep_parts(inside, *parts);
    if (inside.empty() && !parts->is_all()) continue;  // the path leads nowhere
    field.fields = std::move(inside);
    kept.insert(field.number);
    if (field.oneof) oneofs.insert(*field.oneof);
  }
  std::erase_if(fields, [&](const MessageField& field) {
    return !kept.contains(field.number) && !(field.oneof && oneofs.contains(*field.oneof));
  });
}

// Adds the parts of fields that keep_parts() has kept. `path` is that of the message.
void add_parts(const std::vector<MessageField>& fields, const WantedParts& parts, std::vector<std::uint32_t>& path,
               FieldProjection& wanted) {
  for (const MessageField& field : fields) {
    const auto inside = parts.member(field.name);
    path.push_back(field.number);
    // Of the entries of a map with the same key, one counts.
    if (!inside || inside->is_all() || field.is_map || !has_paths(field) || field.fields.empty()) {
      wanted.add(path);
    } else {
      add_parts(field.fields, *inside, path, wanted);
    }
    path.pop_back();
  }
}

}  // namespace

Result<std::optional<ChunkInfo>> first_with_records(const RequestContext& context, const RecordStore& store) {
  return wait_for(context, [&] { return store.index().first_with_records(context); });
}

Result<std::optional<RecordType>> stated_type(const RequestContext& context, const RecordStore& store,
                                              const UserTypes& types) {
  const Metadata* const metadata = store.metadata();
  RecordType type{std::string(type_of_records(types, store.schema(), metadata)), types.descriptors};
  const bool is_given = !type.name.empty();
  // Where the metadata changes along the file, types may too.
  const bool has_metadata = metadata != nullptr && !metadata->varies();
  if (is_given && (type.descriptors != nullptr || !has_metadata)) return std::optional(std::move(type));
  if (!has_metadata) return std::optional<RecordType>();
  if (!is_given) {
    ASSIGN_OR_RETURN(const auto name, metadata->record_type(context));
    if (name.empty()) return std::optional<RecordType>();
    type = {.name = std::string(name)};
  }
  if (metadata->has_descriptors()) {
    ASSIGN_OR_RETURN(const auto first, first_with_records(context, store));
    ASSIGN_OR_RETURN(type.descriptors, metadata->descriptors(context, first.value_or(ChunkInfo())));
  }
  return std::optional(std::move(type));
}

namespace {

// Returns the source by the names of the files, if they all name one and no file has a record.
Result<std::optional<ScalarSource>> source_without_records(const RequestContext& context, const RowSources& sources) {
  std::optional<ScalarSource> source;
  for (std::size_t shard = 0; shard < sources.shards; ++shard) {
    const auto named = scalar_source_by_name(sources.path(shard));
    if (!named) return std::optional<ScalarSource>();
    source = source.value_or(*named);
  }
  ASSIGN_OR_RETURN(const auto records, sources.first_records(context));
  return records.empty() ? source : std::nullopt;
}

// Returns whether a shard has records whose type is not lost with damaged metadata.
Result<bool> has_types(const RequestContext& context, const RecordStore& store) {
  if (const auto checked = check_metadata(context, store.metadata()); !checked) return false;
  ASSIGN_OR_RETURN(const auto first, first_with_records(context, store));
  return first.has_value();
}

// Returns the user's type, or that of the first shard that has records and types. If none has, returns the first type.
Result<std::optional<RecordType>> first_type(const RequestContext& context, const RowSources& sources) {
  const UserTypes& types = sources.types;
  const bool is_given = !types.type.empty() && !types.is_only_type;
  if (is_given && types.descriptors != nullptr) return std::optional(RecordType{types.type, types.descriptors});
  std::optional<Result<std::optional<RecordType>>> others;
  for (std::size_t shard = 0; shard < sources.shards; ++shard) {
    const auto store = sources.open(context, shard);
    auto type = store ? stated_type(context, **store, types) : store.error();
    const bool may_skip = !type && (is_permanent(type.error().code) || type.error().code == Code::kNoContainer);
    if (sources.shards == 1 || (!type && !may_skip)) return type;
    if (type) {
      ASSIGN_OR_RETURN(const bool is_decisive, has_types(context, **store));
      if (is_decisive) return type;
    }
    if (!others || (type && (!*others || !**others))) others = std::move(type);
  }
  return others ? std::move(*others) : std::optional<RecordType>();
}

}  // namespace

// Returns how the formats of shards read records. Opens a shard when records of another one were asked for.
class RowSchema::FormatsOfShards {
 public:
  // The arguments must outlive the object.
  FormatsOfShards(const RequestContext& context, const RowSources& sources) : context_(context), sources_(sources) {}

  // The result is valid until the next call. Fails as RowSources::open.
  Result<const RecordSchema*> of(std::size_t shard) {
    if (store_ == nullptr || shard != shard_) {
      ASSIGN_OR_RETURN(store_, sources_.open(context_, shard));
      shard_ = shard;
    }
    return &store_->schema();
  }

 private:
  const RequestContext& context_;
  const RowSources& sources_;
  std::shared_ptr<const RecordStore> store_;
  std::size_t shard_ = 0;
};

bool RecordType::operator==(const RecordType& other) const {
  if (name != other.name || (descriptors == nullptr) != (other.descriptors == nullptr)) return false;
  return descriptors == other.descriptors || *descriptors == *other.descriptors;
}

Result<std::shared_ptr<const RowSchema>> RowSchema::find(const RequestContext& context, const RowSources& sources) {
  auto schema = std::make_shared<RowSchema>();
  schema->user_types_ = sources.types;
  schema->limits_ = sources.limits;
  schema->selection_ = sources.selection;
  schema->root_ = {.name = kColumn, .number = 1, .type = FieldType::kMessage, .has_presence = true};
  ASSIGN_OR_RETURN(auto type, first_type(context, sources));
  if (type && type->name != tensorflow::kExampleType) {
    if (type->descriptors == nullptr) return no_columns("no descriptors of " + printable(type->name));
    ASSIGN_OR_RETURN(auto fields, message_schema(as_bytes(*type->descriptors), type->name));
    TRY(schema->select_fields(std::move(fields)));
    schema->type_ = std::move(type);
  } else {
    ASSIGN_OR_RETURN(const auto records, sources.first_records(context));
    if (type) {
      TRY(schema->add_features(context, sources, records));
    } else {
      TRY(schema->add_first(context, sources, records));
    }
  }
  return std::shared_ptr<const RowSchema>(std::move(schema));
}

Result<void> RowSchema::add_first(const RequestContext& context, const RowSources& sources,
                                  const DefiningRecords& records) {
  if (records.empty()) return no_columns("records of unknown type");
  FormatsOfShards formats(context, sources);
  Result<void> unreadable;  // why the first record is left out that is JSON and has no value
  const auto add = [&](std::size_t shard, Bytes record) -> Result<void> {
    ASSIGN_OR_RETURN(const RecordSchema* const format, formats.of(shard));
    if (!features_ && !values_) {
      const bool is_example = tensorflow::features_of_example(record, limits_).has_value();
      if (is_example) TRY(begin_features(sources));
      if (!is_example) values_ = kind_of(*format, record);
      if (values_) value_columns_.emplace(selection_);
    }
    if (features_) return features_->add(record);
    return values_ ? add_value(*format, record, unreadable) : Result<void>();
  };
  TRY(add_all(context, sources, records, add));
  if (values_ == ValueKind::kFormat && !sources.later_records && sources.records_of_others) {
    TRY(sources.records_of_others(context, add));
  }
  if (features_) return finish_features(sources, records.size());
  if (!values_) {
    const Bytes record = as_bytes(records.front().bytes);
    ASSIGN_OR_RETURN(const RecordSchema* const format, formats.of(records.front().shard));
    const auto json = json_of_record(record);
    const bool has_value = (json && *json) || (format->value && format->value(record, ValueForm::kJson));
    return no_columns(has_value ? "records without columns: a value is no object" : "records of unknown type");
  }
  auto fields = value_columns_->finish();
  if (!fields && !unreadable) {
    return unsupported(unreadable.error().detail + " (try: --select ordinal,data)");
  }
  if (!fields && (!value_columns_->has_columns() || ColumnSelection::is_of_check(fields.error()))) {
    Error why = without_columns(std::move(fields).error(), sources, records.size());
    if (values_ == ValueKind::kFormat) TRY(add_paths_of_features(formats, records, why));
    return why;
  }
  ASSIGN_OR_RETURN(root_.fields, std::move(fields));
  return {};
}

// Adds to the error of a selection where the features are that it names, if these are in SequenceExamples.
Result<void> RowSchema::add_paths_of_features(FormatsOfShards& formats, const DefiningRecords& records,
                                              Error& why) const {
  for (const DefiningRecord& record : records) {
    ASSIGN_OR_RETURN(const RecordSchema* const format, formats.of(record.shard));
    const auto value = format->value ? format->value(as_bytes(record.bytes), ValueForm::kJson) : Result<Value>(Error{});
    if (!value || !format->type || format->type(*value) != tensorflow::kSequenceExampleType) continue;
    for (const std::string& name : selection_.names()) {
      const std::string path = path_of_feature(*value, name);
      if (!path.empty()) return why.detail += fmt::format(" (try: {})", printable(path)), Result<void>();
    }
  }
  return {};
}

Result<void> RowSchema::add_all(const RequestContext& context, const RowSources& sources,
                                const DefiningRecords& records, const RowSources::TakeRecord& add) {
  for (const DefiningRecord& record : records) TRY(add(record.shard, as_bytes(record.bytes)));
  return sources.later_records ? sources.later_records(context, add) : Result<void>();
}

// Returns what a record has columns of, if it is no Example.
std::optional<RowSchema::ValueKind> RowSchema::kind_of(const RecordSchema& format, Bytes record) {
  if (format.value) {
    const auto value = format.value(record, ValueForm::kJson);
    if (value) return is_object(*value) ? std::optional(ValueKind::kFormat) : std::nullopt;
  }
  const auto json = json_record(record);
  const bool is_json = !json || *json;
  return is_json ? std::optional(ValueKind::kJson) : std::nullopt;
}

Result<void> RowSchema::select_fields(std::vector<MessageField> fields) {
  std::vector<std::string> names;
  add_paths(fields, {}, selection_.has_dots(), names);
  TRY(selection_.check(names));
  if (fields.empty()) return unsupported("the messages have no fields");
  keep_parts(fields, selection_.parts());
  root_.fields = std::move(fields);
  return {};
}

// Adds the columns of a record; none if it is of another kind, or cannot be decoded.
Result<void> RowSchema::add_value(const RecordSchema& format, Bytes record, Result<void>& unreadable) {
  if (values_ == ValueKind::kFormat) {
    if (!format.value) return {};
    const auto value = format.value(record, ValueForm::kJson);
    if (value) return is_object(*value) && !is_example(format, *value) ? value_columns_->add(*value) : Result<void>();
    return value.error().code == Code::kDamage ? Result<void>() : value.error();
  }
  const auto json = json_record(record, selection_);
  if (!json && unreadable) unreadable = json.error();
  return json && *json ? value_columns_->add((*json)->value) : Result<void>();
}

Result<void> RowSchema::append_value(ColumnBuilder& builder, const RecordSchema& format, Bytes record) const {
  if (values_ == ValueKind::kFormat) {
    const auto value = format.value(record, ValueForm::kJson);
    const auto json = value ? Result<std::optional<JsonRecord>>(std::nullopt) : json_record(record);
    if (json && *json) return unsupported("a JSON object, unlike other records");
    if (!value) return value.error();
    if (is_example(format, *value) && !tensorflow::is_empty_example(record)) {
      return unsupported("a tensorflow.Example, unlike other records");
    }
    return value_columns_->append(builder, *value);
  }
  ASSIGN_OR_RETURN(const auto json, json_record(record, selection_));
  return json ? value_columns_->append(builder, json->value) : unsupported("not a JSON object");
}

Result<void> RowSchema::add_features(const RequestContext& context, const RowSources& sources,
                                     const DefiningRecords& records) {
  TRY(begin_features(sources));
  TRY(add_all(context, sources, records, [&](std::size_t, Bytes record) { return features_->add(record); }));
  if (records.empty()) return no_columns("records of unknown type");
  return finish_features(sources, records.size());
}

Result<void> RowSchema::begin_features(const RowSources& sources) {
  ASSIGN_OR_RETURN(
      features_,
      FeatureColumns::of(
          {.selection = selection_, .limits = limits_, .lists = sources.lists, .allows_nul = sources.allows_nul}));
  return {};
}

Result<void> RowSchema::finish_features(const RowSources& sources, std::size_t records) {
  auto fields = features_->finish();
  if (!fields && (!features_->has_types() || ColumnSelection::is_of_check(fields.error()))) {
    return without_columns(std::move(fields).error(), sources, records);
  }
  ASSIGN_OR_RETURN(root_.fields, std::move(fields));
  return {};
}

std::optional<std::string_view> RowSchema::column_of(std::string_view feature) const {
  if (features_) return features_->column_of(feature);
  return selection_.is_all() ? std::optional(feature) : std::nullopt;
}

Result<std::shared_ptr<const RowSchema>> RowSchema::find_scalars(const RequestContext& context,
                                                                 const RowSources& sources) {
  constexpr std::size_t kMostUnknown = 16;  // shards
  ASSIGN_OR_RETURN(auto type, first_type(context, sources));
  // A run without a first record does not say its type, but others do.
  for (std::size_t shard = 0; !type && shard < std::min(sources.shards, kMostUnknown); ++shard) {
    const auto store = sources.open(context, shard);
    const auto stated = store ? stated_type(context, **store, sources.types) : store.error();
    if (stated && *stated && scalar_source((*stated)->name)) type = *stated;
  }
  auto source = type ? scalar_source(type->name) : std::nullopt;
  if (!type && sources.path) {
    ASSIGN_OR_RETURN(source, source_without_records(context, sources));
  }
  if (!source) return std::shared_ptr<const RowSchema>();
  auto schema = std::make_shared<RowSchema>();
  schema->user_types_ = sources.types;
  schema->limits_ = sources.limits;
  schema->root_ = scalar_columns();
  schema->type_ = std::move(type);
  schema->has_scalars_ = true;
  return std::shared_ptr<const RowSchema>(std::move(schema));
}

bool RowSchema::add_wanted_fields(FieldProjection& wanted) const {
  if (!type_ || has_scalars_) return false;
  std::vector<std::uint32_t> path;
  add_parts(root_.fields, selection_.parts(), path, wanted);
  return true;
}

Result<RowDecoder> RowSchema::decoder(const RequestContext& context, std::shared_ptr<const RecordStore> store,
                                      std::string_view path, SelectScalar selects) const {
  const bool is_given = !user_types_.type.empty() && !user_types_.is_only_type;
  std::optional<RecordType> type = type_;
  if (type_ && !is_given) {
    ASSIGN_OR_RETURN(type, stated_type(context, *store, user_types_));
  }
  ScalarRows scalars{.selects = std::move(selects)};
  bool is_other = type != type_ || (values_ == ValueKind::kFormat && !store->schema().value);
  if (has_scalars_) {
    // All types with scalars have the same rows.
    const auto source = type ? scalar_source(type->name) : scalar_source_by_name(path);
    is_other = !source;
    scalars.source = source.value_or(ScalarSource::kEvents);
    scalars.run = run_of(scalars.source, path);
  }
  std::optional<Error> refusal;
  if (is_other) {
    refusal = unsupported("the records of this shard are of another type than those of other shards");
    if (!is_given || user_types_.descriptors == nullptr) TRY(check_metadata(context, store->metadata()));
    ASSIGN_OR_RETURN(const auto first, first_with_records(context, *store));
    if (first) return *refusal;
  }
  // Rows of thousands of shards may wait for their decoders, so these keep only stores that they need.
  if (values_ != ValueKind::kFormat) store = nullptr;
  return RowDecoder(*this, std::move(store), std::move(scalars), std::move(refusal));
}

Result<void> RowDecoder::append(ColumnBuilder& builder, Bytes record, LeftOut* left_out) const {
  auto appended = append_any(builder, record, left_out);
  const auto blame_record = [](Error& why) {
    if (why.code == Code::kDamage) why.code = Code::kUnsupported;
  };
  if (left_out != nullptr) std::ranges::for_each(left_out->errors, blame_record);
  if (!appended) blame_record(appended.error());
  return appended;
}

Result<void> RowDecoder::append_scalars(ColumnBuilder& builder, Bytes record, LeftOut* left_out) const {
  LeftOut others;
  const auto is_selected = [this](const ScalarRow& scalar) {
    return !scalars_.selects || scalars_.selects(scalars_.run, scalar);
  };
  const auto take = [&](const ScalarRow& scalar) {
    return is_selected(scalar) ? builder.append_message(as_bytes(scalar_message(scalars_.run, scalar)))
                               : Result<void>();
  };
  const auto leave_out = [&](const ScalarRow& scalar) {
    if (is_selected(scalar)) others.errors.push_back(*scalar.unfit);
  };
  const auto skip = [&](const ScalarRow& scalar) { others.values += is_selected(scalar) ? 1 : 0; };
  TRY(each_scalar(scalars_.source, record, {.take = take, .leave_out = leave_out, .skip = skip}));
  if (left_out == nullptr && !others.errors.empty()) return others.errors.front();
  if (left_out != nullptr) *left_out = std::move(others);
  return {};
}

Result<void> RowDecoder::append_any(ColumnBuilder& builder, Bytes record, LeftOut* left_out) const {
  if (refusal_) return *refusal_;
  if (schema_->has_scalars_) return append_scalars(builder, record, left_out);
  if (schema_->values_) {
    static const RecordSchema none;
    const RecordSchema& format = store_ != nullptr ? store_->schema() : none;
    return schema_->append_value(builder, format, record);
  }
  return schema_->type_ ? builder.append_message(record) : schema_->features_->append(builder, record);
}

}  // namespace recordfs
