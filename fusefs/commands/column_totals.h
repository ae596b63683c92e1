// The statistics of columns that info --columns prints, and that a report shows.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "core/columns/column_statistics.h"
#include "core/dataset/damage_reporter.h"
#include "core/dataset/random_order.h"
#include "core/dataset/set_reader.h"
#include "core/decoding/record_decoder.h"
#include "core/search/undecoded_records.h"
#include "core/store/record_store.h"
#include "fusefs/commands/command_context.h"
#include "fusefs/commands/where.h"

namespace recordfs {

// Which records are counted, and how they are decoded.
struct ColumnOptions : RecordChoice {
  RandomOptions random{};  // without a sample, all records
};

// Prints and notes that there are too many columns, if so. `name`: of the file or set.
void report_too_many(const std::string& name, const ColumnStatistics& columns, CommandContext& context);

// Counts the columns of records. Prints and notes damage, and what else cannot be read or decoded. Not thread-safe.
class ColumnTotals {
 public:
  // The arguments must outlive the object.
  ColumnTotals(const ColumnOptions& options, CommandContext& context)
      : options_(options), context_(context), condition_(options.condition ? options.condition->renewed() : nullptr) {}

  // Adds the records of a container, which `damage` reports on. Returns false after printing why it failed.
  bool add(const SetMember& member, DamageReporter& damage);
  // Adds the records of all shards that could be counted.
  void add(SetReader& reader);
  // Adds a sample of the records of all shards.
  void add_sample(SetReader& reader, const RandomOptions& sample);
  // Reports doubts about the condition. Returns null after printing it if there are too many columns.
  const ColumnStatistics* finish(const std::string& name);

  // Returns the number of records of all containers that were added, without samples: those that a condition does not
  // select and those that cannot be read count too.
  std::uint64_t records() const { return records_; }
  // Returns the number of records that could not be decoded, also those that the condition did not apply to.
  std::uint64_t undecoded() const { return undecoded_.records + (condition_ ? condition_->undecoded().records : 0); }

 private:
  const ColumnOptions& options_;
  CommandContext& context_;
  const ConditionPointer condition_;
  ColumnStatistics columns_;
  UndecodedRecords::Summary undecoded_;
  std::uint64_t records_ = 0;
};

}  // namespace recordfs
