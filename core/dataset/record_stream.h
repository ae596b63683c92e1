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
#include <span>
#include <thread>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/result.h"
#include "core/dataset/data_set.h"
#include "core/dataset/splits.h"
#include "core/search/record_matcher.h"
#include "core/search/record_search.h"
#include "core/store/parallel_scan.h"
#include "core/store/selection.h"

namespace recordfs {

// Something that cannot be read: a record, a region of the file, a shard.
struct StreamProblem {
  std::size_t before = 0;  // records of the block that precede it
  Error error{};
  Position end = 0;                              // of the region that begins at error.position; 0: unknown
  std::optional<std::uint64_t> first_ordinal{};  // in the shard, of the first record after it; nullopt: unknown
  std::optional<std::uint64_t> records_lost{};   // nullopt: unknown
};

// Returns the error of what a region had.
Error error_of(const DamagedRegion& region);
// Returns the problem that records of a chunk cannot be read: `records` from `index` on, if their number is known.
StreamProblem problem_of(Error error, const IndexedChunk& indexed, std::uint64_t index,
                         std::optional<std::uint64_t> records);

// Consecutive records of one chunk, among those of a block.
struct ChunkPart {
  Position begin = 0;       // of the chunk
  std::uint64_t index = 0;  // in the chunk, of the first record
  std::uint64_t records = 0;
};

// Consecutive records of a shard, or the matching ones among them. Movable.
struct RecordBlock {
  RecordBlock() = default;
  RecordBlock(RecordBlock&&) noexcept = default;
  RecordBlock& operator=(RecordBlock&&) noexcept = default;

  std::size_t shard = 0;
  std::uint64_t first_ordinal = 0;   // in the data set, of the first record; of a split: unknown
  std::span<const Bytes> records{};  // in `own_records`, or of `owner`
  std::vector<Bytes> own_records{};
  std::vector<std::uint64_t> ordinals{};  // of each record, if the stream searches
  std::vector<ChunkPart> chunks{};        // of all records, unless the stream searches
  std::vector<StreamProblem> problems{};  // in order
  std::shared_ptr<const void> owner{};    // keeps the records alive
  std::uint64_t bytes = 0;                // memory that the block holds
};

// Returns what is searched of the records of a shard instead of their bytes.
using TextsOfShard = std::function<TextsOfRecord(std::size_t shard, const std::shared_ptr<const RecordStore>& store)>;

// A thread of the stream scans the shards one after another, with others that decode. It stops when the blocks that
// were not taken hold `memory` bytes. Damage between the ordinals is a problem of the stream. Damage after the last
// record is one if the ordinals end later. A failure that may pass is the last problem of the last block; after any
// other, the stream continues. One thread takes the blocks.
class RecordStream {
 public:
  struct Options {
    Span ordinals{};               // of the data set
    std::optional<Split> split{};  // only the chunks that begin in it; its shard is `split_shard`
    std::size_t split_shard = 0;
    std::shared_ptr<const RecordMatcher> matcher{};  // null: all records match
    TextsOfShard texts_of{};                         // for `matcher`; none: the bytes are searched
    bool is_inverted = false;
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
  // A shard, and which of its records.
  struct Part {
    std::size_t shard = 0;
    std::shared_ptr<const RecordStore> store{};
    std::uint64_t base = 0;  // ordinal in the data set of the shard's first record
    Selection selection{};   // ordinals in the shard
    TextsOfRecord texts_of{};
  };
  class ChunkBlocks;

  void run();
  Result<void> read_all();
  Result<void> read_split();
  Result<RecordInShard> start_of_records(const RequestContext& context);
  Result<std::uint64_t> read_end(const RequestContext& context, const Part& part);
  // Returns the number of records before the place where reading ended.
  Result<std::uint64_t> read(Part& part);
  Finish work_on_step(const RequestContext& context, const Part& part, const ScannedStep& step);
  Finish work_on_batch(const Part& part, const std::shared_ptr<const ScannedBatch>& batch);
  bool takes(const Part& part, const DamageRow& row) const;
  // Return a problem with what is known of its region. `index`: in the chunk, of the first of `records` that are lost.
  StreamProblem problem_of(const DamageRow& row, std::size_t before = 0) const;
  StreamProblem problem_of(Error error, const IndexedChunk& indexed, std::uint64_t index,
                           std::optional<std::uint64_t> records) const;
  bool push(RecordBlock block);
  bool push_problem(std::size_t shard, Error error);
  Search search(const Part& part) const;

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
