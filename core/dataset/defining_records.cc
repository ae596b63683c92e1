#include "core/dataset/defining_records.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/dataset/ask_together.h"
#include "core/dataset/record_stream.h"
#include "core/store/executor.h"

namespace recordfs {
namespace {

constexpr std::size_t kFirstRecords = 1024;
constexpr std::uint64_t kMostFirstBytes = 64u << 20;
constexpr std::chrono::milliseconds kPoll{50};  // of whether the request is cancelled

// Passes the readable records of a set, in order, until `take` fails or returns false. `shard`: only those of one.
Result<void> each_block(const RequestContext& context, DataSet& set,
                        const std::function<Result<bool>(const RecordBlock& block)>& take,
                        std::optional<std::size_t> shard = std::nullopt) {
  RecordStream::Options options;
  if (shard) {
    options.split = Split();
    options.split_shard = *shard;
  }
  RecordStream stream(set, std::move(options));
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

Result<std::vector<DefiningRecord>> first_records(const RequestContext& context, DataSet& set) {
  std::vector<DefiningRecord> records;
  std::uint64_t bytes = 0;
  TRY(each_block(context, set, [&](const RecordBlock& block) -> Result<bool> {
    for (const Bytes record : block.records.first(std::min(block.records.size(), kFirstRecords - records.size()))) {
      records.push_back({.shard = block.shard, .bytes = std::string(as_text(record))});
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
    for (const Bytes record : block.records.subspan(std::min(block.records.size(), skipped))) {
      TRY(take(block.shard, record));
    }
    skipped -= std::min(block.records.size(), skipped);
    return true;
  });
}

// The metadata of shards, each once. Bounded.
class KnownMetadata {
 public:
  bool is_full() const { return bytes_ > kMostFirstBytes; }
  // Returns whether the metadata of a shard is new.
  bool add(const std::vector<Attribute>& attributes) {
    std::string text;
    for (const Attribute& attribute : attributes) {
      for (const std::string& part : {attribute.key, attribute.value}) text += fmt::format("{}:{}", part.size(), part);
    }
    const std::size_t size = text.size() + sizeof(text);
    const bool is_new = known_.insert(std::move(text)).second;
    if (is_new) bytes_ += size;
    return is_new;
  }

 private:
  std::set<std::string> known_;
  std::uint64_t bytes_ = 0;
};

using ReadMetadata = Result<std::vector<Attribute>>;

// Returns the metadata that is the same for all records of a shard.
ReadMetadata metadata_of(const RequestContext& context, const DataSet& set, std::size_t shard) {
  ASSIGN_OR_RETURN(const auto store, set.open(context, shard));
  const Metadata* const metadata = store->metadata();
  if (metadata == nullptr || metadata->varies()) return std::vector<Attribute>();
  return metadata->attributes(context, nullptr);
}

// Passes the metadata of the shards, which several threads open, in order until `take` returns false.
void each_metadata(const RequestContext& context, const DataSet& set,
                   const std::function<bool(std::size_t shard, const ReadMetadata& metadata)>& take) {
  Executor executor(static_cast<unsigned>(std::min(set.size(), kAskedTogether)) - 1);
  std::size_t next = 0;
  executor.run_in_order({.tasks = kAskedTogether}, [&]() -> std::optional<Executor::OrderedTask> {
    if (next == set.size()) return std::nullopt;
    const auto read = std::make_shared<ReadMetadata>(std::vector<Attribute>());
    const std::size_t shard = next++;
    return Executor::OrderedTask{
        .run = [&, read, shard] { *read = metadata_of(context, set, shard); },
        .finish = [&, read, shard](bool has_run) { return has_run && take(shard, *read); },
    };
  });
}

// Passes the first records of the shards after `covered` whose metadata is new. All together have few bytes.
Result<void> first_of_others(const RequestContext& context, DataSet& set, std::size_t covered,
                             const RowSources::TakeRecord& take) {
  if (covered + 1 >= set.size()) return {};
  KnownMetadata known;
  std::uint64_t bytes = 0;
  Result<void> outcome;
  std::vector<std::size_t> others;
  each_metadata(context, set, [&](std::size_t shard, const ReadMetadata& metadata) {
    const bool may_pass = !metadata && !is_permanent(metadata.error().code);
    if (may_pass && metadata.error().code != Code::kNoContainer) outcome = metadata.error();
    if (metadata && known.add(*metadata) && shard > covered) others.push_back(shard);
    return outcome && !known.is_full();
  });
  TRY(outcome);
  for (const std::size_t shard : others) {
    std::size_t records = 0;
    TRY(each_block(
        context, set,
        [&](const RecordBlock& block) -> Result<bool> {
          for (const Bytes record : block.records.first(std::min(block.records.size(), kFirstRecords - records))) {
            TRY(take(shard, record));
            ++records;
            bytes += record.size();
          }
          return records < kFirstRecords && bytes < kMostFirstBytes;
        },
        shard));
    if (bytes >= kMostFirstBytes) break;
  }
  return {};
}

}  // namespace

void define_by_records(DataSet& set, bool scans, RowSources& sources) {
  sources.shards = set.size();
  sources.open = [&set](const RequestContext& context, std::size_t shard) { return set.open(context, shard); };
  const auto first = std::make_shared<std::size_t>(0);    // records
  const auto covered = std::make_shared<std::size_t>(0);  // the last shard with such
  sources.first_records = [&set, first, covered](const RequestContext& context) -> Result<std::vector<DefiningRecord>> {
    auto records = first_records(context, set);
    *first = records ? records->size() : 0;
    *covered = records && !records->empty() ? records->back().shard : 0;
    return records;
  };
  sources.records_of_others = [&set, covered](const RequestContext& context, const RowSources::TakeRecord& take) {
    return first_of_others(context, set, *covered, take);
  };
  if (!scans) return;
  sources.later_records = [&set, first](const RequestContext& context, const RowSources::TakeRecord& take) {
    return each_later(context, set, *first, take);
  };
}

}  // namespace recordfs
