#include "core/export/export_columns.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "core/columns/selected_columns.h"
#include "core/dataset/defining_records.h"
#include "core/decoding/record_decoder.h"
#include "core/export/table_groups.h"

namespace recordfs {
namespace {

// Returns the type that the user names, or the first that a readable shard states; empty if there is none.
std::string type_of(const RequestContext& context, SetReader& reader, const UserTypes& types) {
  for (std::size_t shard = 0; shard < reader.set().size(); ++shard) {
    const auto store = reader.set().open(context, shard);
    if (!store) continue;
    const auto type = RecordDecoder((*store)->schema(), (*store)->metadata(), types).type(context);
    if (type && !type->empty()) return std::string(*type);
  }
  return {};
}

// Returns whether a selected name is not that of a column, but a path.
bool has_paths(const ColumnSelection& selection, const MessageField& root) {
  return std::ranges::any_of(selection.names(), [&](const std::string& name) {
    return std::ranges::find(root.fields, name, &MessageField::name) == root.fields.end();
  });
}

// Returns whether the rows are the records themselves, unless these have such columns.
bool wants_records(const ColumnSelection& selection) {
  return selection.names().size() == 2 && selection.wants("ordinal") && selection.wants("data");
}

// Returns the columns of the records themselves.
Result<FoundColumns> columns_of_records(bool is_table, const ColumnSelection& selection) {
  FoundColumns columns;
  if (!is_table) return columns;
  ASSIGN_OR_RETURN(auto table, TableColumns::of(nullptr, selection));
  columns.table = std::make_shared<const TableColumns>(std::move(table));
  return columns;
}

Result<FoundColumns> find_described(SetReader& reader, bool is_table, const ColumnChoice& choice,
                                    const UserTypes& types, const Limits& limits) {
  FoundColumns columns{.has_columns = true};
  RowSources sources{.types = types,
                     .limits = limits,
                     .selection = choice.selection,
                     .lists = choice.lists,
                     .allows_nul = !is_table,
                     .path = [&reader](std::size_t shard) { return reader.set().shard(shard).path; }};
  define_by_records(reader.set(), choice.scans, sources);
  ASSIGN_OR_RETURN(columns.schema, RowSchema::find_scalars({}, sources));
  is_table = is_table || columns.schema != nullptr;
  if (columns.schema == nullptr) {
    auto found = RowSchema::find({}, sources);
    const Code why = found ? Code{} : found.error().code;
    columns.has_columns = found || why != Code::kNotFound;
    if (!columns.has_columns) columns.undescribed = type_of({}, reader, types);
    if (columns.undescribed == tensorflow::kExampleType) columns.undescribed.clear();  // without records
    if (!columns.undescribed.empty() && columns.undescribed == types.type && types.descriptors == nullptr) {
      return Error{.code = Code::kUnsupported, .detail = found.error().detail + " (try: --descriptors)"};
    }
    const bool is_indescribable = why == Code::kUnsupported && !is_table && choice.selection.is_all();
    if (!found && columns.has_columns && !is_indescribable) return found.error();
    if (found) columns.schema = std::move(*found);
    if (found) TRY(SelectedColumns::of(arrow_field_of(columns.schema->root()), choice.selection));
    is_table = is_table || (columns.schema != nullptr && has_paths(choice.selection, columns.schema->root()));
  }
  if (is_table) {
    ASSIGN_OR_RETURN(auto table, TableColumns::of(columns.schema, choice.selection));
    columns.table = std::make_shared<const TableColumns>(std::move(table));
  } else if (!columns.has_columns) {
    TRY(choice.selection.check({"ordinal", "data"}));
  }
  return columns;
}

// What a file states of its records.
struct StatedType {
  std::string name{};
  std::shared_ptr<const std::string> descriptors{};
  std::vector<Attribute> metadata{};  // the comment on the file
  bool is_of_empty_file = false;      // without records
};

Result<void> read_record_type(const Metadata& metadata, StatedType& type) {
  auto attributes = metadata.attributes({}, nullptr);
  if (!attributes) return is_permanent(attributes.error().code) ? Result<void>() : attributes.error();
  std::erase_if(*attributes, [](const Attribute& each) { return each.key != "file_comment"; });
  ASSIGN_OR_RETURN(type.name, metadata.record_type({}));
  if (!type.name.empty() && metadata.has_descriptors()) {
    ASSIGN_OR_RETURN(type.descriptors, metadata.descriptors({}, ChunkInfo{}));
  }
  type.metadata = std::move(*attributes);
  return {};
}

// Leaves out damaged metadata. Fails with errors that may pass.
Result<StatedType> record_type_of(const RecordStore& store) {
  StatedType type;
  const Metadata* const metadata = store.metadata();
  if (metadata != nullptr && !metadata->varies()) TRY(read_record_type(*metadata, type));
  const auto first = first_with_records({}, store);
  if (!first && !is_permanent(first.error().code)) return first.error();
  type.is_of_empty_file = first && !*first;
  return type;
}

bool state_the_same(const StatedType& one, const StatedType& other) {
  const bool has_descriptors = one.descriptors != nullptr && other.descriptors != nullptr;
  const bool has_same_descriptors =
      has_descriptors ? *one.descriptors == *other.descriptors : one.descriptors == other.descriptors;
  return one.name == other.name && has_same_descriptors &&
         std::ranges::equal(one.metadata, other.metadata, [](const Attribute& mine, const Attribute& its) {
           return mine.key == its.key && mine.value == its.value;
         });
}

}  // namespace

Result<FoundColumns> find_columns(SetReader& reader, bool is_table, const ColumnChoice& choice, const UserTypes& types,
                                  const Limits& limits) {
  auto found = find_described(reader, is_table, choice, types, limits);
  const bool has_none = !found && found.error().code == Code::kUnsupported;
  if (has_none && wants_records(choice.selection)) return columns_of_records(is_table, choice.selection);
  return found;
}

std::uint64_t values_without_row(const TableColumns* table) { return table == nullptr ? 0 : table->no_scalars(); }

std::optional<bool> take_record_type(SetReader& reader, Reporter& reporter, EncoderOptions& encoding) {
  std::optional<StatedType> taken;
  for (std::size_t shard = 0; shard < reader.set().size(); ++shard) {
    if (reader.set().shard(shard).is_missing) continue;
    const auto store = reader.set().open({}, shard);
    if (!store && is_permanent(store.error().code)) continue;  // reported when its records are read
    auto stated = store ? record_type_of(**store) : store.error();
    if (!stated) {
      reporter.report_failure(reader.set().shard(shard).path, stated.error());
      return std::nullopt;
    }
    if (!taken || (taken->is_of_empty_file && !stated->is_of_empty_file)) {
      taken = std::move(*stated);
    } else if (!stated->is_of_empty_file && !state_the_same(*taken, *stated)) {
      return false;
    }
  }
  if (!taken) return true;
  encoding.record_type = std::move(taken->name);
  encoding.descriptors = std::move(taken->descriptors);
  encoding.metadata = std::move(taken->metadata);
  return true;
}

}  // namespace recordfs
