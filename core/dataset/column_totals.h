// Counts the columns of the records of containers and data sets.
#pragma once

#include <cstdint>
#include <memory>

#include "core/columns/column_statistics.h"
#include "core/dataset/damage_reporter.h"
#include "core/dataset/random_order.h"
#include "core/dataset/reporter.h"
#include "core/dataset/set_reader.h"
#include "core/decoding/record_decoder.h"
#include "core/search/record_condition.h"
#include "core/search/undecoded_records.h"
#include "core/store/record_store.h"

namespace recordfs {

// Which records are counted, and how they are decoded.
struct ColumnOptions : RecordChoice {
  RandomOptions random{};  // without a sample, all records
};

// Counts the columns of records. Reports damage, and what else cannot be read. Not thread-safe.
class ColumnTotals {
 public:
  // The arguments must outlive the object.
  ColumnTotals(const ColumnOptions& options, Reporter& reporter)
      : options_(options),
        reporter_(reporter),
        condition_(options.condition ? options.condition->renewed() : nullptr) {}

  // Adds the records of a container, which `damage` reports on. Returns false after reporting why it failed.
  bool add(const SetMember& member, DamageReporter& damage);
  // Adds the records of all shards that could be counted.
  void add(SetReader& reader);
  // Adds a sample of the records of all shards.
  void add_sample(SetReader& reader, const RandomOptions& sample);

  const ColumnStatistics& columns() const { return columns_; }
  // Returns the condition with the doubts about it; null: all records are counted.
  const RecordCondition* condition() const { return condition_.get(); }
  // Returns what is known of records that cannot be decoded.
  const UndecodedRecords::Summary& undecoded_records() const { return undecoded_; }

  // Returns the number of records of all containers that were added, without samples: those that a condition does not
  // select and those that cannot be read count too.
  std::uint64_t records() const { return records_; }
  // Returns the number of records that could not be decoded, also those that the condition did not apply to.
  std::uint64_t undecoded() const { return undecoded_.records + (condition_ ? condition_->undecoded().records : 0); }

 private:
  const ColumnOptions& options_;
  Reporter& reporter_;
  const ConditionPointer condition_;
  ColumnStatistics columns_;
  UndecodedRecords::Summary undecoded_;
  std::uint64_t records_ = 0;
};

}  // namespace recordfs
