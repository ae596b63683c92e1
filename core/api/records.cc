// Records in order.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/api/handles.h"
#include "core/base/counted.h"
#include "core/dataset/record_stream.h"
#include "core/decoding/field_names.h"
#include "core/search/record_condition.h"

namespace recordfs::api {
namespace {

// Returns whether an iteration may go on after this error, because another attempt would fail too.
bool may_skip(const Error& error) { return is_permanent(error.code) || error.code == Code::kNoContainer; }

// Returns how a condition does not fit the records that were read; nullopt if it does.
std::optional<Failure> misfit(const RecordCondition& condition) {
  if (const auto absent = condition.absent(); !absent.empty()) {
    return misuse(no_field(absent.front(), condition.present()));
  }
  if (const auto several = condition.several(); !several.empty()) {
    return misuse(several.front() + " names several columns, because names have dots");
  }
  if (const auto terms = condition.mismatched(); !terms.empty()) {
    return misuse(terms.front() + ": no value of this field has the type of what it is compared with");
  }
  const auto undecoded = condition.undecoded();
  if (undecoded.records == 0) return std::nullopt;
  return failure_of({.code = Code::kUnsupported,
                     .position = undecoded.chunk,
                     .detail = fmt::format("{} cannot be decoded, so the condition does not apply: {}",
                                           counted(undecoded.records, "record"), undecoded.why)},
                    undecoded.path);
}

}  // namespace
}  // namespace recordfs::api

using namespace recordfs;
using namespace recordfs::api;

struct recordfs_records : Handle {
  recordfs_records(std::shared_ptr<const OpenedSet> opened, RecordStream::Options options,
                   std::shared_ptr<const RecordCondition> where)
      : set(std::move(opened)), condition(std::move(where)), stream(set->set(), std::move(options)) {}

  recordfs_status next(const recordfs_record** record) {
    if (fatal) return report(*fatal);
    while (at >= readable()) {
      if (problem < block.problems.size()) return fail(block.problems[problem++]);
      if (is_over || !next_block()) return end();
    }
    const Bytes bytes = block.records[at];
    const std::uint64_t ordinal = condition ? block.ordinals[at] : block.first_ordinal + at;
    current = {.data = begin_of(bytes), .size = bytes.size(), .ordinal = ordinal, .file = block.shard};
    ++at;
    *record = &current;
    return RECORDFS_OK;
  }

 private:
  // Returns the end of the records that can be read before the next problem.
  std::size_t readable() const {
    return problem < block.problems.size() ? block.problems[problem].before : block.records.size();
  }

  bool next_block() {
    constexpr std::chrono::hours kLong{1};
    RecordStream::Next next{};
    block = RecordBlock();
    at = problem = 0;
    do next = stream.next(block, kLong);
    while (next == RecordStream::Next::kTimeout);
    is_over = next == RecordStream::Next::kEnd;
    return !is_over;
  }

  recordfs_status fail(const StreamProblem& found) {
    const bool can_continue = may_skip(found.error);
    const std::string named = can_continue ? std::string() : path_in(*set, found.error);
    Failure failure = failure_of(found.error, named.empty() ? path_of(*set, block.shard) : named, can_continue);
    if (!can_continue) fatal = failure;
    return report(failure);
  }

  recordfs_status end() {
    if (condition) fatal = misfit(*condition);
    return fatal ? report(*fatal) : RECORDFS_END;
  }

  const std::shared_ptr<const OpenedSet> set;
  const std::shared_ptr<const RecordCondition> condition;  // null: all records are selected
  RecordBlock block{};
  std::size_t at = 0;       // the next record
  std::size_t problem = 0;  // the next problem
  bool is_over = false;
  recordfs_record current{};
  std::optional<Failure> fatal{};  // of all further calls
  RecordStream stream;             // destroyed first
};

recordfs_status recordfs_records_open(const recordfs_dataset* dataset, uint64_t begin, uint64_t end, const char* where,
                                      recordfs_records** records) {
  const auto make = [&]() -> Result<recordfs_records*> {
    if (begin > end) return Error{.code = Code::kNotFound, .detail = "the end is before the begin"};
    RecordStream::Options options;
    options.ordinals = {.begin = begin, .end = end};
    options.threads = dataset->set->threads();
    options.largest_searched = dataset->set->plan().limits.decoded_chunk;
    std::shared_ptr<const RecordCondition> condition;
    if (where != nullptr) {
      ASSIGN_OR_RETURN(condition, RecordCondition::parse(where));
      options.selects = selector(*dataset->set, condition);
    }
    return std::make_unique<recordfs_records>(dataset->set, std::move(options), std::move(condition)).release();
  };
  return answer(
      records, make, [](const Error& error) { return misuse(error.detail); }, dataset);
}

recordfs_status recordfs_records_next(recordfs_records* records, const recordfs_record** record) {
  return advance(records, record);
}

void recordfs_records_close(recordfs_records* records) { free_object(records); }
