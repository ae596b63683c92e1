// Reads records of a data set in a random order, or a random sample of them.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "core/dataset/picked_records.h"
#include "core/dataset/reporter.h"
#include "core/dataset/set_reader.h"
#include "core/decoding/record_decoder.h"
#include "core/search/record_condition.h"

namespace recordfs {

struct RandomOptions {
  std::optional<std::uint64_t> shuffle;  // a seed
  std::optional<std::uint64_t> sample;   // number of records
  std::uint64_t seed = 0;                // of a sample in ascending order

  bool is_given() const { return shuffle || sample; }
};

// A record in a random order, or the bytes that RandomTarget::render made of it.
struct RandomRecord {
  std::uint64_t ordinal = 0;
  Bytes bytes{};
};

// The use of the records.
struct RandomTarget {
  PickUse use;                                           // on any thread
  std::function<bool(const RandomRecord& record)> take;  // in order; false to stop
  std::function<bool()> end_group{};                     // after records that were read together; false to stop
  // Reports why a record has no bytes; empty: the reporter does.
  std::function<void(std::uint64_t ordinal, const RecordStore& store, const Error& why)> report{};
  const ConditionPointer& condition;  // null: all records are selected
  const UserTypes& types;             // for the condition
  bool skips_damage = false;
};

// Reads all records, or a sample, in the order of Permutation, or a sample in ascending order. Reads some ahead in the
// order of the shards and chunks, in at most 64 MiB, so that several records of a chunk are decoded together. Reports
// errors, and at the end the damage in headers, which may have cost records; stops at the first record that
// cannot be read, unless these are skipped. Returns whether all records were taken.
bool read_in_random_order(const RandomOptions& options, const RandomTarget& target, SetReader& reader,
                          Reporter& reporter);

}  // namespace recordfs
