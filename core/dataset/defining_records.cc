#include "core/dataset/defining_records.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/dataset/record_stream.h"

namespace recordfs {
namespace {

constexpr std::size_t kFirstRecords = 1024;
constexpr std::uint64_t kMostFirstBytes = 64u << 20;
constexpr std::chrono::milliseconds kPoll{50};  // of whether the request is cancelled

// Passes the readable records of a set, in order, until `take` fails or returns false.
Result<void> each_block(const RequestContext& context, DataSet& set,
                        const std::function<Result<bool>(const RecordBlock& block)>& take) {
  RecordStream stream(set, {.threads = 1});
  for (RecordBlock block;;) {
    const auto next = stream.next(block, context.can_be_cancelled() ? kPoll : std::chrono::hours(1));
    if (next == RecordStream::Next::kEnd) return {};
    if (context.cancelled()) return Error{.code = Code::kInterrupted, .detail = "interrupted"};
    if (next == RecordStream::Next::kTimeout) continue;
    for (const StreamProblem& problem : block.problems) {
      const Code code = problem.error.code;
      if (!is_permanent(code) && code != Code::kNoContainer) return problem.error;
    }
    ASSIGN_OR_RETURN(const bool goes_on, take(block));
    if (!goes_on) return {};
  }
}

Result<std::vector<std::string>> first_records(const RequestContext& context, DataSet& set) {
  std::vector<std::string> records;
  std::uint64_t bytes = 0;
  TRY(each_block(context, set, [&](const RecordBlock& block) -> Result<bool> {
    for (const Bytes record : block.records.first(std::min(block.records.size(), kFirstRecords - records.size()))) {
      records.emplace_back(as_text(record));
      bytes += record.size();
    }
    return records.size() < kFirstRecords && bytes < kMostFirstBytes;
  }));
  return records;
}

// Passes the records after the first `skipped` ones to `take`.
Result<void> each_later(const RequestContext& context, DataSet& set, std::size_t skipped,
                        const RowSources::TakeRecord& take) {
  return each_block(context, set, [&](const RecordBlock& block) -> Result<bool> {
    for (const Bytes record : block.records.subspan(std::min(block.records.size(), skipped))) TRY(take(record));
    skipped -= std::min(block.records.size(), skipped);
    return true;
  });
}

}  // namespace

void define_by_records(DataSet& set, bool scans, RowSources& sources) {
  sources.shards = set.size();
  sources.open = [&set](const RequestContext& context, std::size_t shard) { return set.open(context, shard); };
  const auto first = std::make_shared<std::size_t>(0);  // records
  sources.first_records = [&set, first](const RequestContext& context) -> Result<std::vector<std::string>> {
    auto records = first_records(context, set);
    *first = records ? records->size() : 0;
    return records;
  };
  if (!scans) return;
  sources.later_records = [&set, first](const RequestContext& context, const RowSources::TakeRecord& take) {
    return each_later(context, set, *first, take);
  };
}

}  // namespace recordfs
