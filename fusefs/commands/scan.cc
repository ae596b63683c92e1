#include "fusefs/commands/scan.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/base/read_window.h"
#include "core/base/sequential_pass.h"
#include "core/store/executor.h"
#include "fusefs/messages.h"

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
  SequentialPass::Hold stored{};  // file bytes of its chunks, until they were worked on
  std::uint64_t bytes = 0;        // expected memory

  void run(const RequestContext& context, const Work& work) {
    for (const ScannedStep& step : steps) finishes.push_back(work(context, step));
    stored.release();
  }
  bool finish() const {
    return std::ranges::all_of(finishes, [](const Finish& one) { return !one || one(); });
  }
};

// Estimates the memory of a decoded chunk.
std::uint64_t expected_bytes(const ScannedStep& step) {
  if (!step.indexed) return 0;
  const ChunkInfo& chunk = step.indexed->chunk;
  constexpr std::uint64_t kUsualRatio = 4;
  return std::max(chunk.stored_size, chunk.payload_size().value_or(chunk.stored_size * kUsualRatio));
}

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
  Result<void> fill(const RequestContext& context, Task& task) {
    std::uint64_t stored = 0;
    while (!at_end() && task.steps.size() < batch_ && stored < kBatchBytes) {
      is_over_ = scanner_.next().position >= end_position_;
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

}  // namespace

Result<PrefixSums> scan(const RecordStore& store, const ScanOptions& options, const Work& work) {
  // In another order than the file's, a shared pass would read large pieces repeatedly.
  std::optional<SequentialPass> pass;
  if (store.traits().is_in_file_order) pass.emplace(store.source(), options.end_position);
  SequentialPass* const shared = pass ? &*pass : nullptr;
  ReadWindow window({}, store.source(), shared);
  const RequestContext context = RequestContext().with(window);
  Steps steps(store, options, shared);
  const auto caller = std::this_thread::get_id();
  Result<void> scanned;
  const auto next = [&]() -> std::optional<Executor::OrderedTask> {
    const auto task = std::make_shared<Task>();
    if (!steps.at_end()) scanned = steps.fill(context, *task);
    if (task->steps.empty()) return std::nullopt;
    const auto run = [&, task] {
      if (std::this_thread::get_id() == caller) return task->run(context, work);
      ReadWindow task_window({}, store.source(), shared);
      task->run(shared == nullptr ? RequestContext() : RequestContext().with(task_window), work);
    };
    const auto finish = [&, task](bool has_run) {
      const bool is_wanted = task->finish();
      if (!has_run) scanned = shortage("out of memory");
      return is_wanted && has_run;
    };
    return Executor::OrderedTask{.run = run, .finish = finish, .bytes = task->bytes};
  };
  Executor executor(options.threads);
  executor.run_in_order({.tasks = kTasksAThread * std::max(options.threads, 1u), .bytes = options.memory}, next);
  if (!scanned) return std::move(scanned).error();
  return steps.totals();
}

void DamageReporter::add(const DamagedRegion& region) {
  context_.note(region);
  regions_.add(region);
}

bool DamageReporter::scan(ScanOptions options, const std::function<bool(const DamageRow&)>& takes,
                          const WorkOnChunk& work) {
  options.threads = context_.threads();
  const auto scanned =
      recordfs::scan(store_, options, [&](const RequestContext& context, const ScannedStep& step) -> Finish {
        std::vector<DamagedRegion> damage;
        for (const DamageRow& row : step.damage) {
          if (takes(row)) damage.push_back(row.region);
        }
        return [this, damage = std::move(damage), finish = step.indexed ? work(context, *step.indexed) : Finish()] {
          for (const DamagedRegion& region : damage) add(region);
          return !finish || finish();
        };
      });
  regions_.finish();
  if (!scanned) context_.print_failure(path_, scanned.error());
  return scanned.has_value();
}

bool DamageReporter::scan(const Selection& selection, const WorkOnChunk& work) {
  if (selection.is_empty()) return true;
  ScanOptions options;
  options.from = selection.from;
  options.end_record = selection.records.end;
  return scan(
      options, [&](const DamageRow& row) { return selection.lies_inside(row.first_ordinal); }, work);
}

void DamageReporter::report(const DamagedRegion& region) {
  switch (region.damage_class) {
    case DamageClass::kDamage:
    case DamageClass::kUnsupported: return store_.log().report(region);
    // Printed here, because the log leaves unfinished ends out, but they set the exit status.
    case DamageClass::kUnfinished:
      if (unfinished_.insert(region.begin).second) print_message(fmt::format("{}: {}", path_, damage_line(region)));
      return;
    case DamageClass::kStale: return;
  }
}

}  // namespace recordfs
