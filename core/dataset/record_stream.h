// Reads the records of a data set in order, decoded ahead on several threads, for callers that take them step by step.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "core/base/result.h"
#include "core/dataset/data_set.h"
#include "core/dataset/record_block.h"
#include "core/dataset/splits.h"
#include "core/search/record_matcher.h"
#include "core/search/record_search.h"

namespace recordfs {

// Returns what is searched of the records of a shard instead of their bytes.
using TextsOfShard = std::function<TextsOfRecord(std::size_t shard, const std::shared_ptr<const RecordStore>& store)>;

// Returns which records of a shard are selected.
using SelectOfShard = std::function<SelectRecord(std::size_t shard, const std::shared_ptr<const RecordStore>& store)>;

// Returns the fields that the records of a shard need to have, which may then lack others; null: all.
using FieldsOfShard = std::function<std::shared_ptr<const FieldProjection>(
    std::size_t shard, const std::shared_ptr<const RecordStore>& store)>;

// A thread of the stream scans the shards one after another, with others that decode. It stops when the blocks that
// were not taken hold `memory` bytes. Damage between the ordinals is a problem of the stream. Damage after the last
// record is one if the ordinals end later. A failure that may pass is the last problem of the last block; after any
// other, the stream continues. One thread takes the blocks.
class RecordStream {
 public:
  struct Options {
    OrdinalInterval ordinals{};    // of the data set
    std::optional<Split> split{};  // only the chunks that begin in it; its shard is `split_shard`
    std::size_t split_shard = 0;
    std::shared_ptr<const RecordMatcher> matcher{};  // null: all records match
    TextsOfShard texts_of{};                         // for `matcher`; none: the bytes are searched
    bool is_inverted = false;
    SelectOfShard selects{};                      // none: all records
    FieldsOfShard fields_of{};                    // none: all fields
    std::uint64_t largest_searched = UINT64_MAX;  // bytes of a record
    unsigned threads = 1;
    std::uint64_t memory = 64u << 20;
  };

  // `set` must outlive the stream. Starts no thread before next().
  RecordStream(DataSet& set, Options options) : set_(set), options_(std::move(options)) {}
  // Cancels reading, and joins the threads.
  ~RecordStream();
  RecordStream(const RecordStream&) = delete;
  RecordStream& operator=(const RecordStream&) = delete;

  enum class Next : std::uint8_t { kBlock, kEnd, kTimeout };
  // Waits for the next block.
  Next next(RecordBlock& block, std::chrono::milliseconds timeout);

 private:
  void run();
  Result<void> read_all();
  Result<RecordInShard> start_of_records();
  Result<std::uint64_t> read_end(std::size_t shard, const RecordStore& store);
  // Returns the number of records before the place where reading ended.
  Result<std::uint64_t> read(std::size_t shard, std::uint64_t base, Selection selection);
  bool push(RecordBlock block);
  bool push_problem(std::size_t shard, Error error);

  DataSet& set_;
  const Options options_;
  std::atomic<bool> cancelled_{false};
  std::thread thread_;

  std::mutex mutex_;  // guards the following
  std::condition_variable changed_;
  std::deque<RecordBlock> blocks_;
  std::uint64_t bytes_ = 0;       // of blocks_
  std::optional<Error> failure_;  // of the thread, after the blocks
  bool is_over_ = false;
};

}  // namespace recordfs
