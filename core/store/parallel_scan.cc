#include "core/store/parallel_scan.h"

#include <algorithm>
#include <atomic>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/base/limits.h"
#include "core/base/prefetch_buffer.h"
#include "core/base/read_window.h"
#include "core/base/thrown.h"
#include "core/store/executor.h"

namespace recordfs {
namespace {

// Batches small chunks, because a task costs some microseconds. The first ones are alone, so that their records appear
// without delay.
constexpr std::uint64_t kBatchBytes = 256u << 10;
constexpr std::size_t kBatchSteps = 64;
constexpr std::uint64_t kStepsMemory = 4u << 20;  // expected, of the steps of one task; one step may exceed it
constexpr std::size_t kTasksAThread = 3;

// The scan is fast while no damage is found: after some steps, it reads batches. A batch may end early, where a chunk
// is damaged. Tasks after it then scanned from wrong positions. Their results are dropped, and the scan continues with
// steps from there, for twice as many bytes as the last time.
constexpr std::uint64_t kFirstSteps = 64u << 10;  // bytes
constexpr std::uint64_t kLeastSteps = 1u << 20;
constexpr std::uint64_t kMostSteps = 64u << 20;

// A batch gets at least so many bytes of the file, if it can; a chunk that needs more than the other number is a step.
constexpr std::uint64_t kLeastWindow = 96u << 10;
constexpr std::uint64_t kLargestWindow = 2u << 20;
constexpr std::uint64_t kBatchMemory = 1u << 20;  // expected, of a batch that was not planned yet

// Returns the least size of a window for chunks of this size.
std::uint64_t window_for(std::uint64_t chunk) {
  constexpr std::uint64_t kNextHeader = 4096;
  return std::clamp(chunk + chunk / 16 + kNextHeader, kLeastWindow, kLargestWindow);
}

Slice first_of(Slice slice, std::uint64_t size) {
  slice.bytes = slice.bytes.first(static_cast<std::size_t>(std::min<std::uint64_t>(slice.bytes.size(), size)));
  return slice;
}

PrefixSums sums_after(const PrefixSums& before, const ChunkRun& run) {
  PrefixSums after = before;
  after.chunks += run.chunks;
  after.records += run.records;
  after.bytes = std::min(after.bytes + run.bytes, kLargestSum);
  after.position = run.next.position;
  return after;
}

// Steps, or a batch.
struct Task {
  std::vector<ScannedStep> steps;
  ChunkRun planned{};  // empty: not a batch
  Slice window{};      // file bytes of the batch
  PrefixSums before{};
  unsigned generation = 0;  // of Steps
  bool has_begun = true;    // false: Steps::plan_up_to() has to give it a batch

  std::vector<OrderedResult> finishes{};
  std::shared_ptr<ScannedBatch> batch{};
  PrefetchBuffer::Hold stored{};  // file bytes of its chunks, until they were worked on
  std::uint64_t bytes = 0;        // expected memory

  void run_steps(const RequestContext& context, const ProcessStep& work) {
    for (const ScannedStep& step : steps) finishes.push_back(work(context, step));
    stored.release();
  }
  void run_batch(const BulkReader& reader, const ProcessBatch& work) {
    if (!batch)
      batch = std::make_shared<ScannedBatch>(ScannedBatch{reader.read({}, planned, std::move(window)), before});
    if (batch->content.run.chunks > 0) finishes.push_back(work(batch));
  }
  bool finish() {
    const auto all = std::move(finishes);
    return std::ranges::all_of(all, [](const OrderedResult& one) { return !one || one(); });
  }
};

// Estimates the memory of a decoded chunk, its layout and what is made of its records.
std::uint64_t expected_bytes(const ScannedStep& step, std::uint64_t bytes_per_record) {
  if (!step.indexed) return 0;
  const ChunkInfo& chunk = step.indexed->chunk;
  constexpr std::uint64_t kUsualRatio = 4;
  const std::uint64_t of_records = chunk.records.value_or(0) * (sizeof(std::uint64_t) + bytes_per_record);
  return std::max(chunk.stored_size, chunk.payload_size().value_or(chunk.stored_size * kUsualRatio)) + of_records;
}

Error decodes_to_too_much(Position at, std::uint64_t most, std::uint64_t size) {
  return {Code::kLimit, at,
          fmt::format("what precedes this byte decodes to more than {} bytes, the limit for a file of {} bytes "
                      "(see --max-chunk)",
                      most, size)};
}

// The scan, in tasks.
class Steps {
 public:
  // `bulk`: null if all chunks are to be steps.
  Steps(const RecordStore& store, const ScanOptions& options, PrefetchBuffer* pass, const BulkReader* bulk)
      : scanner_(
            store.index().scanner(ScanDetail::kCounts, options.from,
                                  [&chunks = store.chunks()](const RequestContext& context, const ChunkInfo& chunk) {
                                    return chunks.layout_before_decoding(context, chunk);
                                  })),
        pass_(pass),
        bulk_(pass == nullptr ? nullptr : bulk),
        size_(store.source().size()),
        threads_(options.threads),
        bytes_per_record_(options.bytes_per_record),
        end_record_(options.end_record),
        end_position_(options.end_position),
        decodes_(options.decodes),
        most_records_(store.limits().records_per_chunk),
        most_decoded_(largest_decoded_file(size_, store.limits())) {
    if (!scanner_.at_end()) steps_until_ = scanner_.next().position + kFirstSteps;
    // A selection may need the numbers of records.
    const bool selects = options.from || end_record_ != UINT64_MAX;
    if (bulk_ != nullptr && !bulk_->plans_records() && selects) bulk_ = nullptr;
  }

  const PrefixSums& totals() const { return scanner_.totals(); }
  // Returns the number of the last restart. Any thread.
  unsigned generation() const { return generation_.load(std::memory_order_relaxed); }

  // Begins the next task: with steps, or to get a batch when it runs. Returns whether there is one. Fails as
  // Scanner::step does, and ends; `task` has the steps before the failure.
  bool begin(const RequestContext& context, const std::shared_ptr<Task>& task, Result<void>& scanned) {
    const std::lock_guard lock(mutex_);
    if (at_end()) return false;
    if (decoded_ > most_decoded_) {
      is_over_ = true;
      scanned = decodes_to_too_much(scanner_.next().position, most_decoded_, size_);
      return false;
    }
    task->generation = generation();
    if (may_be_batch()) {
      task->has_begun = false;
      task->bytes = kBatchMemory;
      unplanned_.push_back(task);
      return true;
    }
    // Wait until unfinished batches have reported their record counts.
    if (uncounted_ > 0) return false;
    void_unplanned();
    must_step_ = false;
    scanned = take_steps(context, *task);
    return !task->steps.empty();
  }

  // Plans the batches of this task and of those before it, in the order of the tasks. A thread first reads a piece of
  // the file, and then usually works on it, while it is in its processor's cache. Any thread.
  void plan_up_to(const Task& task) {
    std::unique_lock lock(mutex_, std::defer_lock);
    // Loads pieces instead of waiting for another thread.
    bool may_load = threads_ > 1 && wants_piece(task);
    if (may_load) pass_->load_ahead(threads_);
    while (may_load && !lock.try_lock()) may_load = pass_->load_ahead(std::uint64_t{2} * threads_);
    if (!lock) lock.lock();
    while (!task.has_begun) {
      const auto first = unplanned_.front();
      unplanned_.pop_front();
      first->has_begun = true;
      if (may_be_batch() && !at_end()) must_step_ = !plan(*first);
    }
  }

  // Tells a batch its sums. Called in order, before the batch is finished.
  void count(Task& task) {
    if (task.planned.chunks == 0 || bulk_->plans_records()) return;
    const std::lock_guard lock(mutex_);
    add_decoded(task.batch->content.run);
    task.before = task.batch->before = finished_;
    finished_ = sums_after(finished_, task.batch->content.run);
    if (--uncounted_ == 0) scanner_.move_to(scanner_.next(), finished_);
  }

  // Returns the sums before a task that could not run.
  PrefixSums before(const Task& task) {
    const std::lock_guard lock(mutex_);
    return uncounted_ > 0 ? finished_ : task.before;
  }

  // Continues with steps after the intact chunks of a batch.
  void continue_after(const ChunkRun& intact, const PrefixSums& before) {
    const std::lock_guard lock(mutex_);
    generation_.fetch_add(1, std::memory_order_relaxed);
    void_unplanned();
    is_over_ = false;
    uncounted_ = 0;
    scanner_.move_to(intact.next, sums_after(before, intact));
    steps_until_ = scanner_.next().position + bytes_of_steps_;
    bytes_of_steps_ = std::min(2 * bytes_of_steps_, kMostSteps);
  }

  bool is_done() {
    const std::lock_guard lock(mutex_);
    return at_end();
  }

 private:
  bool at_end() const { return is_over_ || scanner_.at_end(); }

  void add_decoded(const ChunkRun& run) { decoded_ += run.bytes + run.records * kBytesOfARecord; }
  void add_decoded(const ChunkInfo& chunk) {
    const bool is_decoded = decodes_ || chunk.layout_cost == LayoutCost::kDecode;
    const std::uint64_t bytes = is_decoded ? std::min(chunk.payload_size().value_or(0), kLargestSum) : 0;
    const std::uint64_t records = std::min(chunk.records.value_or(0), most_records_);
    decoded_ = std::min(decoded_ + bytes + records * kBytesOfARecord, kLargestSum);
  }

  // Returns whether the next chunk may begin a batch.
  bool may_be_batch() const {
    if (bulk_ == nullptr || must_step_) return false;
    const Position next = scanner_.next().position;
    return next >= steps_until_ && next < std::min(size_, end_position_);
  }

  // Returns whether to read a piece before the task is planned. A large chunk may need several, and would be copied.
  bool wants_piece(const Task& task) {
    const std::lock_guard lock(mutex_);
    return !task.has_begun && usual_window_ == kLeastWindow;
  }

  // The tasks that have no batch yet remain empty.
  void void_unplanned() {
    for (const auto& task : unplanned_) task->has_begun = true;
    unplanned_.clear();
  }

  // Returns false if the next chunk has to be a step.
  bool plan(Task& task) {
    const ChunkKey next = scanner_.next();
    pass_->advance(next.position);
    ChunkRun run{.from = next, .next = next};  // without memory for a batch, steps need less
    has_memory_for([&] { run = take_run(next, std::min(size_, end_position_) - next.position, task); });
    const bool is_too_much = run.records > end_record_ - std::min(end_record_, totals().records);
    if (is_too_much) steps_until_ = size_;
    if (is_too_much || run.chunks == 0) {
      task.batch.reset();
      task.window = {};
      return false;
    }
    task.planned = run;
    if (bulk_->plans_records()) {
      add_decoded(run);
      task.before = totals();
    } else if (uncounted_++ == 0) {
      finished_ = totals();
    }
    scanner_.move_to(run.next, sums_after(totals(), run));
    return true;
  }

  // Returns the run at `at`, in a window of at most `most` bytes that has at least one chunk, if that is not too large.
  ChunkRun take_run(ChunkKey at, std::uint64_t most, Task& task) {
    for (std::uint64_t wanted = usual_window_;;) {
      const std::uint64_t least = std::min(wanted, most);
      task.batch.reset();
      task.window = {};  // the next window may reuse the memory
      task.window = first_of(pass_->window(at.position, least), most);
      const std::uint64_t size = task.window.bytes.size();
      const ChunkRun run = threads_ > 1 ? bulk_->plan(at, task.window.bytes) : read(at, task);
      wanted = run.needs;
      const bool is_final = run.chunks > 0 || size < least || wanted <= size || wanted > std::min(most, kLargestWindow);
      if (run.chunks > 0) usual_window_ = window_for((run.next.position - at.position) / run.chunks);
      if (is_final) return run;
    }
  }

  // Reads the batch at once, which is faster if one thread does both.
  ChunkRun read(ChunkKey at, Task& task) {
    task.batch = std::make_shared<ScannedBatch>(ScannedBatch{bulk_->read_at({}, at, std::move(task.window)), totals()});
    return task.batch->content.run;
  }

  Result<void> take_steps(const RequestContext& context, Task& task) {
    std::uint64_t stored = 0;
    while (!at_end() && task.steps.size() < batch_ && stored < kBatchBytes && task.bytes < kStepsMemory) {
      is_over_ = scanner_.next().position >= end_position_ || totals().records >= end_record_;
      if (is_over_) break;
      if (pass_ != nullptr) pass_->advance(scanner_.next().position);
      if (auto stepped = scanner_.step(context); !stepped) {
        is_over_ = true;
        return stepped;
      }
      auto indexed = scanner_.chunk();
      is_over_ = indexed && indexed->before.records >= end_record_;
      if (is_over_) break;
      if (indexed && indexed->chunk.begin >= end_position_) {
        // The damage before this chunk may still begin before the end.
        is_over_ = true;
        indexed.reset();
      }
      if (!indexed && scanner_.damage().empty()) continue;
      task.steps.push_back({indexed, scanner_.damage()});
      task.bytes += expected_bytes(task.steps.back(), bytes_per_record_);
      if (!indexed) continue;
      add_decoded(indexed->chunk);
      stored += indexed->chunk.stored_size;
      if (pass_ != nullptr) task.stored.extend(*pass_, indexed->chunk.begin, indexed->chunk.end);
    }
    batch_ = std::min(batch_ * 2, kBatchSteps);
    return {};
  }

  std::mutex mutex_;  // guards the following, unless only one thread uses it
  Scanner scanner_;
  PrefetchBuffer* const pass_;
  const BulkReader* bulk_;
  std::deque<std::shared_ptr<Task>> unplanned_;  // the last tasks, which have no batch yet
  bool must_step_ = false;                       // the next chunk cannot begin a batch
  std::uint64_t usual_window_ = kLeastWindow;    // bytes for a chunk like the last ones
  const Position size_;
  const unsigned threads_;  // 1 or less: batches are read when they are planned
  const std::uint64_t bytes_per_record_;
  const std::uint64_t end_record_;
  const Position end_position_;
  const bool decodes_;
  const std::uint64_t most_records_;  // that a readable chunk has
  const std::uint64_t most_decoded_;
  std::uint64_t decoded_ = 0;  // bytes of all tasks so far, as most_decoded_ counts them
  std::size_t batch_ = 1;
  bool is_over_ = false;
  Position steps_until_ = 0;  // no batch begins before
  std::uint64_t bytes_of_steps_ = kLeastSteps;
  std::uint64_t uncounted_ = 0;          // unfinished batches whose records were not counted
  PrefixSums finished_{};                // after the last finished batch, if there are such
  std::atomic<unsigned> generation_{0};  // tasks of an earlier one have no results
};

}  // namespace

Result<ScanEnd> scan(const RecordStore& store, const ScanOptions& options, const ProcessStep& work,
                     const ProcessBatch& work_on_batch) {
  // In another order than the file's, a shared pass would read large pieces repeatedly.
  std::optional<PrefetchBuffer> pass;
  // One chunk needs no reads ahead.
  const bool is_one_chunk = options.from && options.from->after().records >= options.end_record;
  if (store.traits().is_in_file_order && !is_one_chunk) pass.emplace(store.source(), options.end_position);
  // Of a remote file, requests then need not begin with few bytes.
  const bool reads_to_end = options.end_record == UINT64_MAX && options.end_position == UINT64_MAX;
  if (pass && reads_to_end) {
    store.source().will_need(options.from ? options.from->chunk.begin : 0, store.source().size());
  }
  PrefetchBuffer* const shared = pass ? &*pass : nullptr;
  const RequestContext outer = options.cancelled == nullptr ? RequestContext() : RequestContext(*options.cancelled);
  ReadWindow window(outer, store.source(), shared);
  const RequestContext context = outer.with(window);
  Steps steps(store, options, shared, work_on_batch ? store.bulk() : nullptr);
  const auto caller = std::this_thread::get_id();
  Result<void> scanned;
  bool is_wanted = true;
  const auto run = [&](Task& task) {
    if (task.generation != steps.generation()) return;
    steps.plan_up_to(task);
    if (task.planned.chunks > 0) return task.run_batch(*store.bulk(), work_on_batch);
    if (std::this_thread::get_id() == caller) return task.run_steps(context, work);
    ReadWindow task_window(outer, store.source(), shared);
    task.run_steps(shared == nullptr ? outer : outer.with(task_window), work);
  };
  const auto finish = [&](Task& task, bool has_run) {
    if (task.generation != steps.generation()) return true;
    if (task.planned.chunks > 0 && !has_run) {  // no memory: steps need less
      steps.continue_after({.from = task.planned.from, .next = task.planned.from}, steps.before(task));
      scanned = {};
      return true;
    }
    if (has_run) steps.count(task);
    is_wanted = task.finish() && has_run;
    if (!has_run) scanned = out_of_memory("out of memory");
    if (is_wanted && task.planned.chunks > 0 && task.batch->content.run.chunks < task.planned.chunks) {
      steps.continue_after(task.batch->content.run, task.before);
      scanned = {};
    }
    return is_wanted;
  };
  const auto next = [&]() -> std::optional<Executor::OrderedTask> {
    const auto task = std::make_shared<Task>();
    if (!steps.begin(context, task, scanned)) return std::nullopt;
    return Executor::OrderedTask{.run = [&run, task] { run(*task); },
                                 .finish = [&finish, task](bool has_run) { return finish(*task, has_run); },
                                 .bytes = task->bytes};
  };
  const unsigned threads = std::max(options.threads, 1u);
  Executor executor(threads - 1);
  // One thread alone finishes each task at once, while its bytes are in the processor's cache.
  const Executor::OrderBounds bounds{.tasks = threads == 1 ? 1 : kTasksAThread * threads, .bytes = options.memory};
  // After the last task, batches may have ended early, or their records are counted now.
  do {
    executor.run_in_order(bounds, next);
  } while (is_wanted && scanned && !steps.is_done());
  if (!scanned) return std::move(scanned).error();
  return ScanEnd{steps.totals(), !is_wanted};
}

}  // namespace recordfs
