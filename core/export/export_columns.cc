#include "core/export/export_columns.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "core/columns/selected_columns.h"
#include "core/dataset/record_stream.h"
#include "core/decoding/record_decoder.h"
#include "core/export/table_groups.h"

namespace recordfs {
namespace {

constexpr std::size_t kFirstRecords = 1024;           // that define the columns
constexpr std::uint64_t kMostFirstBytes = 64u << 20;  // of them

// Passes the readable records of a set, in order, until `take` fails or returns false. Fails as first_records().
Result<void> each_block(SetReader& reader, const std::function<Result<bool>(const RecordBlock& block)>& take) {
  RecordStream stream(reader.set(), {.threads = 1});
  for (RecordBlock block;;) {
    const auto next = stream.next(block, std::chrono::hours(1));
    if (next == RecordStream::Next::kEnd) return {};
    if (next == RecordStream::Next::kTimeout) continue;
    for (const StreamProblem& problem : block.problems) {
      const Code code = problem.error.code;
      if (!is_permanent(code) && code != Code::kNoContainer) return problem.error;
    }
    ASSIGN_OR_RETURN(const bool goes_on, take(block));
    if (!goes_on) return {};
  }
}

// Returns the first readable records of a set, up to the limits. Fails with errors that may pass, because with other
// records the columns would be others.
Result<std::vector<std::string>> first_records(SetReader& reader) {
  std::vector<std::string> records;
  std::uint64_t bytes = 0;
  TRY(each_block(reader, [&](const RecordBlock& block) -> Result<bool> {
    for (const Bytes record : block.records.first(std::min(block.records.size(), kFirstRecords - records.size()))) {
      records.emplace_back(as_text(record));
      bytes += record.size();
    }
    return records.size() < kFirstRecords && bytes < kMostFirstBytes;
  }));
  return records;
}

// Passes the readable records after the first `skipped` ones to `take`. Fails as that, and as first_records().
Result<void> each_later(SetReader& reader, std::size_t skipped, const RowSources::TakeRecord& take) {
  return each_block(reader, [&](const RecordBlock& block) -> Result<bool> {
    for (const Bytes record : block.records.subspan(std::min(block.records.size(), skipped))) TRY(take(record));
    skipped -= std::min(block.records.size(), skipped);
    return true;
  });
}

// Returns the type that the user names, or that the first readable shard states; empty if there is none.
std::string type_of(const RequestContext& context, SetReader& reader, const UserTypes& types) {
  for (std::size_t shard = 0; shard < reader.set().size(); ++shard) {
    const auto store = reader.set().open(context, shard);
    if (!store) continue;
    const auto type = RecordDecoder((*store)->schema(), (*store)->metadata(), types).type(context);
    return type ? std::string(*type) : std::string();
  }
  return {};
}

// Returns whether a selected name is not that of a column, but a path.
bool has_paths(const ColumnSelection& selection, const MessageField& root) {
  return std::ranges::any_of(selection.names(), [&](const std::string& name) {
    return std::ranges::find(root.fields, name, &MessageField::name) == root.fields.end();
  });
}

}  // namespace

Result<FoundColumns> find_columns(SetReader& reader, bool is_table, const ColumnChoice& choice, const UserTypes& types,
                                  const Limits& limits) {
  FoundColumns columns{.has_columns = true};
  const auto open = [&reader](const RequestContext& context, std::size_t shard) {
    return reader.set().open(context, shard);
  };
  std::size_t defining = 0;  // records
  RowSources sources{.shards = reader.set().size(),
                     .open = open,
                     .types = types,
                     .limits = limits,
                     .selection = choice.selection,
                     .lists = choice.lists,
                     .allows_nul = !is_table,
                     .path = [&reader](std::size_t shard) { return reader.set().shard(shard).path; },
                     .first_records = [&](const RequestContext&) -> Result<std::vector<std::string>> {
                       auto records = first_records(reader);
                       defining = records ? records->size() : 0;
                       return records;
                     }};
  if (choice.scans) {
    sources.later_records = [&](const RequestContext&, const RowSources::TakeRecord& take) {
      return each_later(reader, defining, take);
    };
  }
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

Result<void> take_record_type(const RecordStore& store, EncoderOptions& encoding) {
  const Metadata* const metadata = store.metadata();
  if (metadata == nullptr || metadata->varies()) return {};
  auto attributes = metadata->attributes({}, nullptr);
  if (!attributes) return is_permanent(attributes.error().code) ? Result<void>() : attributes.error();
  std::erase_if(*attributes, [](const Attribute& each) { return each.key != "file_comment"; });
  ASSIGN_OR_RETURN(encoding.record_type, metadata->record_type({}));
  if (!encoding.record_type.empty() && metadata->has_descriptors()) {
    ASSIGN_OR_RETURN(encoding.descriptors, metadata->descriptors({}, ChunkInfo{}));
  }
  encoding.metadata = std::move(*attributes);
  return {};
}

bool state_the_same(const EncoderOptions& some, const EncoderOptions& others) {
  const bool has_descriptors = some.descriptors != nullptr && others.descriptors != nullptr;
  const bool has_same_descriptors =
      has_descriptors ? *some.descriptors == *others.descriptors : some.descriptors == others.descriptors;
  return some.record_type == others.record_type && has_same_descriptors &&
         std::ranges::equal(some.metadata, others.metadata, [](const Attribute& one, const Attribute& other) {
           return one.key == other.key && one.value == other.value;
         });
}

}  // namespace recordfs
