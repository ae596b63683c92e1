// Statistics of the columns of records: how many have them, their types, bounds, and most frequent values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/result.h"
#include "core/columns/column_value.h"
#include "core/columns/column_visitor.h"
#include "core/columns/row_schema.h"
#include "core/columns/scalar_rows.h"
#include "core/decoding/record_decoder.h"

namespace recordfs {

// Why a record that is decoded has no columns.
inline constexpr std::string_view kNoObject = "the value of this record is no object";

// The values of one column. Not thread-safe.
class ColumnSummary {
 public:
  static constexpr std::size_t kMostDistinct = 1000;
  using Counts = std::map<ColumnValue, std::uint64_t, IsLessColumnValue>;

  std::uint64_t records() const { return records_; }  // that have a value, or an object where others have values
  std::uint64_t values() const { return values_; }
  // Returns the number of elements of the lists in these records; a list in a list is one, and so is a null.
  std::uint64_t elements() const { return elements_; }
  // Returns whether a record has the column, maybe without a value.
  bool occurs() const { return occurs_; }
  // Returns whether the column has lists: by its type, or because a record has several values, or an empty list.
  bool is_list() const { return is_list_; }
  // Returns "int64", "str", or several such, as "bool or str"; empty without values. Integers among doubles are doubles
  // if they are that exactly.
  std::string type() const;
  // The bounds, without NaN. nullopt if there are none, or if the values have different types.
  std::optional<ColumnValue> minimum() const { return is_ordered() ? minimum_ : std::nullopt; }
  std::optional<ColumnValue> maximum() const { return is_ordered() ? maximum_ : std::nullopt; }
  // Returns the mean size of texts and bytes, in bytes; nullopt if there are none.
  std::optional<double> mean_size() const;
  // Returns the number of each value; null if there are more different ones than the limit.
  const Counts* counts() const { return has_many_ ? nullptr : &counts_; }

 private:
  friend class ColumnCounter;
  friend class ColumnStatistics;

  // Adds a value, or null for none, of a record with this number. Numbers of records ascend.
  void add(std::optional<ColumnValue> value, const ColumnVisitor::Place& place, std::uint64_t record,
           std::size_t most_distinct);
  void note_element(std::uint64_t record);
  void add(const ColumnSummary& other, std::size_t most_distinct);
  void widen(const ColumnValue& value);
  bool has_32_bits() const;
  void limit_counts(std::size_t most_distinct);
  bool is_ordered() const;

  bool occurs_ = false;
  bool is_list_ = false;
  bool is_leaf_ = false;     // has values that are no objects
  bool is_message_ = false;  // its type says that it has columns
  unsigned types_ = 0;       // bits
  std::uint64_t records_ = 0;
  std::uint64_t values_ = 0;
  std::uint64_t texts_ = 0;
  std::uint64_t bytes_ = 0;        // of texts and bytes
  std::uint64_t last_record_ = 0;  // that has a value
  std::uint64_t elements_ = 0;
  std::uint64_t early_record_ = 0;    // whose first elements had no value
  std::uint64_t early_elements_ = 0;  // of that record
  std::uint64_t way_ = 1;             // of ColumnVisitor
  std::optional<ColumnValue> minimum_;
  std::optional<ColumnValue> maximum_;
  bool has_many_ = false;
  Counts counts_;
};

using NamedColumn = std::pair<const std::string, ColumnSummary>;

// Counts the values of records, for one thread. Memory is bounded: 256 Ki different values are kept, so that each of
// thousands of columns has fewer. Every record counts: no first ones decide which columns there are.
class ColumnCounter final : public ColumnVisitor {
 public:
  // Counts a record that `decoder` decodes. Fails as RecordDecoder::visit(); nothing is counted then. Of a record of
  // scalars (scalar_rows.h), counts each as a record with scalar_columns(), of the run that `path_in_set` names, if
  // `selects` is empty or returns true; fails as each_scalar(), and with the first error of those that cannot be rows
  // after the others were counted. May throw std::bad_alloc.
  Result<void> count(const RequestContext& context, const RecordDecoder& decoder, const ChunkInfo& chunk, Bytes record,
                     std::string_view path_in_set = {}, const SelectScalar& selects = {});

  // Returns how many different values are kept of each of so many columns.
  static std::size_t most_distinct(std::size_t columns);

 private:
  friend class ColumnStatistics;
  static constexpr std::size_t kMostKept = 256u << 10;    // different values of all columns
  static constexpr std::size_t kMostPending = 16u << 10;  // values of a record that is decoded once

  // A value of a record that is not decoded to its end yet.
  struct Pending {
    std::size_t column = 0;
    Place place{};
    std::optional<ColumnValue> value{};
  };
  enum class Use : std::uint8_t { kGather, kIgnore, kCount };

  void take_value(std::size_t column, const Place& place, const Scalar& value) override;
  Result<void> count_scalars(ScalarSource source, Bytes record, std::string_view path_in_set,
                             const SelectScalar& selects);
  void count_scalar(std::string_view run, const ScalarRow& scalar);

  std::vector<ColumnSummary> summaries_;  // by column
  std::uint64_t records_ = 0;
  bool has_scalars_ = false;
  bool has_rows_ = false;
  Use use_ = Use::kGather;
  std::vector<Pending> pending_;
};

// The sum of counters. Does not depend on how records were divided, or on their order. Not thread-safe.
class ColumnStatistics {
 public:
  // May throw std::bad_alloc.
  void add(const ColumnCounter& counter);
  void add(const ColumnStatistics& other);

  // Says that the type of the records has integers of 32 bits in a column.
  void declare_32_bits(std::string_view name);
  // Says that it has messages with fields in a column.
  void declare_message(std::string_view name);

  // Returns the number of records that were counted.
  std::uint64_t records() const { return records_; }
  // Returns whether these are scalars.
  bool has_scalars() const { return has_scalars_; }
  // Returns whether scalars and whole records were counted, which no table has together.
  bool is_mixed() const { return has_scalars_ && has_rows_; }
  // Returns whether columns() lacks some, because there are more than ColumnVisitor::kMostColumns.
  bool has_too_many() const { return has_too_many_; }
  // Returns the names that columns() lacks, because several columns have them: the member a.b, and b in a.
  const std::set<std::string, std::less<>>& several() const { return several_; }
  // Returns the most different values of a column whose counts are kept.
  std::size_t most_distinct() const { return ColumnCounter::most_distinct(columns_.size()); }
  // Returns the columns that occur, by name, but not those that only have other columns: of objects, where some have
  // members. They are valid until the next change.
  std::vector<const NamedColumn*> columns() const;

 private:
  void add(std::string_view name, const ColumnSummary& summary, std::uint64_t way);
  void add_objects(std::string_view name, std::uint64_t records);
  void limit();

  std::map<std::string, ColumnSummary, std::less<>> columns_;
  std::set<std::string, std::less<>> several_;
  std::map<std::string, std::uint64_t, std::less<>> objects_;  // records with objects where there is no column
  std::uint64_t records_ = 0;
  bool has_scalars_ = false;
  bool has_rows_ = false;  // whole records
  bool has_too_many_ = false;
};

// Notes what the type of a container's records says of columns that were counted, if it states one.
void declare_types_of(const std::shared_ptr<const RecordStore>& store, const UserTypes& types,
                      ColumnStatistics& columns);

}  // namespace recordfs
