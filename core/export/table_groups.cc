#include "core/export/table_groups.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/base/buffer.h"
#include "core/columns/row_batch.h"

namespace recordfs {
namespace {

// A group is a row group of Parquet, so readers and recordfs hold it in memory.
constexpr std::size_t kMostRows = 1u << 20;
constexpr std::uint64_t kMostBytes = 16u << 20;  // of records; one may exceed it
constexpr std::uint64_t kMostCells = 7u << 20;   // rows by columns; an empty one has about 9 bytes

// Returns the number of columns with values of their own.
std::size_t leaves_of(const ArrowField& field) {
  std::size_t leaves = field.children.empty() ? 1 : 0;
  for (const ArrowField& child : field.children) leaves += leaves_of(child);
  return leaves;
}

// Returns the columns ordinal and data.
ArrowColumn data_of(const RecordGroup& group) {
  const RowBytes& records = group.records;
  std::vector<std::int64_t> ordinals;
  std::vector<std::int64_t> offsets{0};
  ordinals.reserve(records.size());
  offsets.reserve(records.size() + 1);
  for (std::size_t i = 0; i < records.size(); ++i) {
    ordinals.push_back(static_cast<std::int64_t>(records.ordinals[i]));
    offsets.push_back(static_cast<std::int64_t>(records.ends[i]));
  }
  const auto length = static_cast<std::int64_t>(records.size());
  const auto data = std::make_shared<const std::string>(records.bytes);
  ArrowColumn rows{.length = length, .buffers = {Slice()}};
  rows.children.push_back({.length = length, .buffers = {Slice(), buffer_of(std::move(ordinals))}});
  rows.children.push_back(
      {.length = length, .buffers = {Slice(), buffer_of(std::move(offsets)), Slice{as_bytes(*data), data}}});
  return rows;
}

class TableGroups final : public GroupEncoder {
 public:
  TableGroups(std::shared_ptr<const TableColumns> columns, std::unique_ptr<TableWriter> writer, bool skips_failures,
              std::uint64_t* counted)
      : columns_(std::move(columns)), writer_(std::move(writer)), skips_failures_(skips_failures), counted_(counted) {}

  bool is_full(std::size_t records, std::uint64_t bytes) const override {
    return records >= kMostRows || bytes >= kMostBytes || records >= kMostCells / columns_->leaves();
  }
  Result<Append> encode(const RecordGroup& group, std::vector<RowFailure>& failures) override {
    const auto rows = columns_->rows_of(group, skips_failures_, failures);
    std::uint64_t count = 0;
    for (const ArrowColumn& batch : rows) count += static_cast<std::uint64_t>(batch.length);
    if (count == 0) return Append([] { return Result<void>(); });
    ASSIGN_OR_RETURN(auto encoded, writer_->encode(rows));
    const std::shared_ptr<const EncodedRows> shared = std::move(encoded);
    return Append([this, shared, count] {
      if (counted_ != nullptr) *counted_ += count;
      return writer_->append(*shared);
    });
  }
  Result<void> finish() override { return writer_->finish(); }

 private:
  const std::shared_ptr<const TableColumns> columns_;
  const std::unique_ptr<TableWriter> writer_;
  const bool skips_failures_;
  std::uint64_t* const counted_;
};

}  // namespace

Result<TableColumns> TableColumns::of(std::shared_ptr<const RowSchema> schema, const ColumnSelection& selection) {
  TableColumns columns;
  ArrowField root{.format = "+s", .children = {{.format = "l", .name = "ordinal"}, {.format = "Z", .name = "data"}}};
  if (schema != nullptr) root = arrow_field_of(schema->root());
  columns.leaves_ = std::max<std::size_t>(leaves_of(root), 1);
  columns.schema_ = std::move(schema);
  ASSIGN_OR_RETURN(columns.columns_, SelectedColumns::of(std::move(root), selection));
  return columns;
}

std::vector<ArrowColumn> TableColumns::rows_of(const RecordGroup& group, bool skips_failures,
                                               std::vector<RowFailure>& failures) const {
  std::vector<ArrowColumn> batches;
  if (schema_ == nullptr) {
    batches.push_back(columns_.select(data_of(group)));
    return batches;
  }
  auto rows = std::make_unique<RowBatch>(*schema_);
  std::size_t segment = 0;
  for (std::size_t i = 0; i < group.records.size() && (skips_failures || failures.empty()); ++i) {
    while (segment + 1 < group.segments.size() && group.segments[segment + 1].first <= i) ++segment;
    const auto& origin = group.segments[segment].origin;
    const Bytes record = group.records.between(i, i + 1);
    LeftOut left_out;
    std::size_t before = rows->size();
    auto appended = rows->append(*origin->decoder, record, &left_out);
    if (!appended && appended.error().code == Code::kLimit && rows->size() > 0) {
      batches.push_back(columns_.select(rows->finish()));
      rows = std::make_unique<RowBatch>(*schema_);
      before = 0;
      appended = rows->append(*origin->decoder, record, &left_out);
    }
    if (!appended) left_out.errors.push_back(appended.error());
    *no_scalars_ += left_out.values;
    bool is_part = rows->size() > before;
    for (Error& why : left_out.errors) {
      failures.push_back({.origin = origin,
                          .ordinal = group.records.ordinals[i],
                          .why = std::move(why),
                          .is_part = std::exchange(is_part, true)});
    }
  }
  if (rows->size() > 0) batches.push_back(columns_.select(rows->finish()));
  return batches;
}

std::unique_ptr<GroupEncoder> table_groups(std::shared_ptr<const TableColumns> columns,
                                           std::unique_ptr<TableWriter> writer, bool skips_failures,
                                           std::uint64_t* counted) {
  return std::make_unique<TableGroups>(std::move(columns), std::move(writer), skips_failures, counted);
}

}  // namespace recordfs
