// A condition for the records of containers, and the problems that a run of it found.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/request_context.h"
#include "core/base/result.h"
#include "core/columns/scalar_rows.h"
#include "core/decoding/record_decoder.h"
#include "core/formats/container.h"
#include "core/search/condition.h"
#include "core/search/scalar_fields.h"
#include "core/search/undecoded_records.h"

namespace recordfs {

// The file of a record.
struct RecordFile {
  std::string_view path{};         // for undecoded()
  std::string_view path_in_set{};  // names the run of its scalars: run_of()
};

// A condition, and whether it made sense for the records that it was evaluated for. Thread-safe.
class RecordCondition {
 public:
  // Fails as Condition::parse().
  static Result<std::shared_ptr<const RecordCondition>> parse(std::string_view text);

  explicit RecordCondition(std::shared_ptr<const Condition> condition);

  // Returns whether a record matches. A record that cannot be decoded does not, and is counted. Decodes only the fields
  // that the condition names, as far as the record's format allows. Fails with the transient errors of
  // RecordDecoder::visit(), with kLimit and with kOutOfMemory.
  //
  // If the names are columns of scalars (ScalarFields), a record that has scalars (core/columns/scalar_rows.h) matches
  // if one of these does, or if a value of several numbers does by the other columns. A scalar with an invalid value
  // counts as a record that cannot be decoded if the condition depends on that value.
  Result<bool> matches(const RequestContext& context, const RecordDecoder& decoder, const ChunkInfo& chunk,
                       Bytes record, const RecordFile& file) const;
  // Returns whether a scalar matches, false if that depends on an invalid value. Returns true if the names are not its
  // columns, because the other function decides for the whole record.
  bool matches(std::string_view run, const ScalarRow& scalar) const;

  // Returns what is known of records that could not be decoded, so that the condition did not apply to them.
  UndecodedRecords::Summary undecoded() const { return undecoded_.summary(); }

  // Returns the names that no record had, none if no record was decoded, and some names that records had instead.
  std::vector<std::string> absent() const { return fields_.absent(); }
  std::set<std::string> present() const { return fields_.names(); }
  // Returns the names that led to values in several ways.
  std::vector<std::string> several() const { return fields_.several(); }
  // Returns the terms that compare with a type that no value of their field had: they were never true, or always.
  std::vector<std::string> mismatched() const;

  const Condition& condition() const { return *condition_; }
  // Returns the same condition, with nothing found yet.
  std::shared_ptr<const RecordCondition> renewed() const { return std::make_shared<const RecordCondition>(condition_); }

 private:
  // The types that a term was compared with in all records.
  struct Seen {
    std::atomic<bool> comparable{false};
    std::atomic<bool> other{false};
  };

  using Truth = Condition::Truth;

  Truth evaluate(std::string_view run, const ScalarRow& scalar) const;
  Result<bool> matches_scalars(ScalarSource source, const ChunkInfo& chunk, Bytes record, const RecordFile& file) const;
  void note(const std::vector<ConditionEvaluation::Seen>& seen) const;

  const std::shared_ptr<const Condition> condition_;
  const FieldPaths fields_;
  const ScalarFields scalars_;
  const std::unique_ptr<Seen[]> seen_;  // by term
  mutable UndecodedRecords undecoded_;
};

// A condition of a command line or a program; null: all records are selected.
using ConditionPointer = std::shared_ptr<const RecordCondition>;

// Which records a job reads, and how they are decoded.
struct RecordChoice {
  ConditionPointer condition{};
  UserTypes types{};
};

// Returns which scalars a condition selects; all if it is null.
std::function<bool(std::string_view run, const ScalarRow& scalar)> scalar_selector(ConditionPointer condition);

}  // namespace recordfs
