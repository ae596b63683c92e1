#include "fusefs/commands/scan.h"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include "core/base/read_window.h"
#include "core/base/sequential_pass.h"

namespace recordfs {
namespace {

// Batches small chunks, because a task costs some microseconds. The first ones are alone, so that their records appear
// without delay.
constexpr std::uint64_t kBatchBytes = 256u << 10;
constexpr std::size_t kBatchSteps = 64;
constexpr std::size_t kTasksAThread = 3;

struct Task {
  std::vector<ScannedStep> steps;
  std::vector<Finish> finishes;
  std::optional<Error> failure{};  // no memory for the steps that have no entry in `finishes`
  SequentialPass::Hold stored{};   // file bytes of its chunks, until they were worked on
  std::uint64_t bytes = 0;         // expected memory
  bool is_done = false;
};

// Estimates the memory of a decoded chunk.
std::uint64_t expected_bytes(const ScannedStep& step) {
  if (!step.indexed) return 0;
  const ChunkInfo& chunk = step.indexed->chunk;
  constexpr std::uint64_t kUsualRatio = 4;
  return std::max(chunk.stored_size, chunk.payload_size().value_or(chunk.stored_size * kUsualRatio));
}

// The worker threads, and the queue of tasks.
class Workers {
 public:
  // `pass`: null if each read goes to the source.
  Workers(const Work& work, const Source& source, SequentialPass* pass, unsigned threads)
      : work_(work), source_(source), pass_(pass), wanted_(threads) {}
  ~Workers() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    wake_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  void post(const std::shared_ptr<Task>& task) {
    const std::lock_guard lock(mutex_);
    waiting_.push_back(task);
    if (threads_.size() < wanted_ && waiting_.size() > idle_) start_one();
    wake_.notify_one();
  }

  bool is_done(const Task& task) {
    const std::lock_guard lock(mutex_);
    return task.is_done;
  }

  // Waits for the task, or works on it if no thread has taken it.
  void wait_for(Task& task) {
    std::unique_lock lock(mutex_);
    if (!waiting_.empty() && waiting_.front().get() == &task) {
      waiting_.pop_front();
      lock.unlock();
      run(task);
      task.is_done = true;
      return;
    }
    done_.wait(lock, [&] { return task.is_done; });
  }

 private:
  void start_one() {
    try {
      threads_.emplace_back([this] { serve(); });
    } catch (const std::system_error&) {
      // No thread: wait_for() does the work.
    }
  }

  void run(Task& task) const {
    try {
      for (const ScannedStep& step : task.steps) task.finishes.push_back(work_(step));
    } catch (const std::bad_alloc&) {
      task.failure = shortage("out of memory");
    }
    task.stored.release();
  }

  void serve() {
    std::optional<ReadWindow> window;
    if (pass_ != nullptr) window.emplace(source_, pass_);
    std::unique_lock lock(mutex_);
    for (;;) {
      ++idle_;
      wake_.wait(lock, [this] { return stopping_ || !waiting_.empty(); });
      --idle_;
      if (stopping_) return;
      const std::shared_ptr<Task> task = std::move(waiting_.front());
      waiting_.pop_front();
      lock.unlock();
      run(*task);
      if (window) window->forget();
      lock.lock();
      task->is_done = true;
      done_.notify_all();
    }
  }

  const Work& work_;
  const Source& source_;
  SequentialPass* const pass_;
  const std::size_t wanted_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::condition_variable done_;
  std::deque<std::shared_ptr<Task>> waiting_;
  std::size_t idle_ = 0;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

// The scan, in tasks.
class Steps {
 public:
  Steps(const RecordStore& store, const ScanOptions& options, SequentialPass* pass)
      : scanner_(store.index().scanner(ScanDetail::kCounts, options.from)),
        pass_(pass),
        end_record_(options.end_record),
        end_position_(options.end_position) {}

  bool at_end() const { return is_over_ || scanner_.at_end(); }
  const PrefixSums& totals() const { return scanner_.totals(); }

  // Fails as Scanner::step does, and ends. `task` has the steps before the failure.
  Result<void> fill(Task& task) {
    std::uint64_t stored = 0;
    while (!at_end() && task.steps.size() < batch_ && stored < kBatchBytes) {
      is_over_ = scanner_.next().position >= end_position_;
      if (is_over_) break;
      if (pass_ != nullptr) pass_->advance(scanner_.next().position);
      if (auto stepped = scanner_.step(); !stepped) {
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
      task.bytes += expected_bytes(task.steps.back());
      if (!indexed) continue;
      stored += indexed->chunk.stored_size;
      if (pass_ != nullptr) task.stored.extend(*pass_, indexed->chunk.begin, indexed->chunk.end);
    }
    batch_ = std::min(batch_ * 2, kBatchSteps);
    return {};
  }

 private:
  Scanner scanner_;
  SequentialPass* const pass_;
  const std::uint64_t end_record_;
  const Position end_position_;
  std::size_t batch_ = 1;
  bool is_over_ = false;
};

bool finish(Task& task) {
  return std::ranges::all_of(task.finishes, [](const Finish& one) { return !one || one(); });
}

}  // namespace

Result<PrefixSums> scan(const RecordStore& store, const ScanOptions& options, const Work& work) {
  // In another order than the file's, a shared pass would read large pieces repeatedly.
  std::optional<SequentialPass> pass;
  if (store.traits().is_in_file_order) pass.emplace(store.source(), options.end_position);
  SequentialPass* const shared = pass ? &*pass : nullptr;
  const ReadWindow window(store.source(), shared);
  Steps steps(store, options, shared);
  std::deque<std::shared_ptr<Task>> tasks;
  Workers workers(work, store.source(), shared, options.threads);
  std::uint64_t held = 0;
  Result<void> scanned;
  bool is_wanted = true;
  while (is_wanted && (!steps.at_end() || !tasks.empty())) {
    const bool has_room = tasks.size() < kTasksAThread * std::max(options.threads, 1u) && held < options.memory;
    const bool finishes_one = !tasks.empty() && (!has_room || workers.is_done(*tasks.front()));
    if (!steps.at_end() && !finishes_one) {
      auto task = std::make_shared<Task>();
      scanned = steps.fill(*task);
      if (task->steps.empty()) continue;
      held += task->bytes;
      tasks.push_back(task);
      workers.post(task);
      continue;
    }
    const std::shared_ptr<Task> first = std::move(tasks.front());
    tasks.pop_front();
    workers.wait_for(*first);
    held -= first->bytes;
    is_wanted = finish(*first) && !first->failure;
    if (first->failure) scanned = *first->failure;
  }
  if (!scanned) return std::move(scanned).error();
  return steps.totals();
}

}  // namespace recordfs
