// Rows that are taken together as columns.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/base/bytes.h"
#include "core/base/result.h"
#include "core/columns/arrow_interface.h"
#include "core/columns/column_builder.h"
#include "core/columns/row_schema.h"

namespace recordfs {

// Functions may throw std::bad_alloc. Not thread-safe.
class RowBatch {
 public:
  static constexpr std::uint64_t kMostDecoded = 256u << 20;  // bytes of columns

  // `schema` must outlive the batch.
  explicit RowBatch(const RowSchema& schema, std::uint64_t most_decoded = kMostDecoded)
      : budget_(most_decoded), rows_(schema.root(), budget_) {}
  RowBatch(const RowBatch&) = delete;
  RowBatch& operator=(const RowBatch&) = delete;

  std::size_t size() const { return rows_.size(); }

  // Append a decoded record, which is a row unless the schema is of scalars, and a row of nulls. `left_out`: as of
  // RowDecoder::append(). Fail as that, and with kLimit if the columns would exceed the bound: the record may then fit
  // into an empty batch. A failure leaves the batch as it was.
  Result<void> append(const RowDecoder& decoder, Bytes record, LeftOut* left_out = nullptr) {
    return keep_or_undo([&] { return decoder.append(rows_, record, left_out); });
  }
  Result<void> append_null() {
    return keep_or_undo([&] { return rows_.append_null(); });
  }

  // Takes the rows: a struct with the columns.
  ArrowColumn finish() { return rows_.finish(); }

 private:
  template <class Append>
  Result<void> keep_or_undo(const Append& append) {
    const std::size_t before = rows_.size();
    const ColumnBudget left = budget_;
    auto appended = append();
    if (!appended) {
      rows_.truncate(before);
      budget_ = left;
    }
    return appended;
  }

  ColumnBudget budget_;
  ColumnBuilder rows_;
};

}  // namespace recordfs
