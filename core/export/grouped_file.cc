#include "core/export/grouped_file.h"

#include <algorithm>
#include <utility>

#include "core/base/thrown.h"

namespace recordfs {
namespace {

constexpr std::size_t kMostReserved = 32u << 20;   // bytes
constexpr std::uint64_t kMostWaiting = 32u << 20;  // bytes of groups for each thread; one group may exceed it

}  // namespace

GroupedFile::~GroupedFile() {
  std::unique_lock lock(mutex_);
  for (const auto& task : tasks_) was_encoded_.wait(lock, [&] { return task->append.has_value(); });
}

void GroupedFile::encode(Task& task) {
  Result<GroupEncoder::Append> append = Error{.code = Code::kOutOfMemory, .detail = "no memory for a group of records"};
  std::vector<RowFailure> failures;
  static_cast<void>(has_memory_for([&] { append = encoder_->encode(task.group, failures); }));
  task.group = {};
  const std::lock_guard lock(mutex_);
  task.append = std::move(append);
  task.failures = std::move(failures);
  was_encoded_.notify_all();
}

Result<void> GroupedFile::append(const RowBytes& rows, std::size_t begin, std::size_t end) {
  for (std::size_t i = begin; i < end; ++i) {
    RowBytes& records = gathered_.records;
    const bool is_same = !gathered_.segments.empty() && gathered_.segments.back().origin == rows.origin;
    if (!is_same) gathered_.segments.push_back({.first = records.size(), .origin = rows.origin});
    if (records.size() == 0) records.bytes.reserve(usual_size_);
    records.bytes += as_text(rows.row(i));
    records.ends.push_back(records.bytes.size());
    records.ordinals.push_back(rows.ordinals[i]);
    if (encoder_->is_full(records.size(), records.bytes.size())) TRY(end_group());
  }
  return {};
}

Result<void> GroupedFile::end_group() {
  const std::size_t bytes = gathered_.records.bytes.size();
  usual_size_ = std::min(bytes, kMostReserved);
  const auto task = std::make_shared<Task>();
  task->group = std::exchange(gathered_, {});
  task->bytes = bytes;
  // The file may be gone when the executor gets to a task that append_first() has encoded.
  Executor::Task encoding([this, task] {
    if (!task->has_begun.exchange(true)) encode(*task);
  });
  being_encoded_ += bytes;
  tasks_.push_back(task);
  // The destructor waits for all tasks, so each of them must run: nothing may throw from here on.
  const bool will_run = executor_.threads() > 0 && executor_.start() &&
                        executor_.post(Executor::Priority::kWaitedFor, std::move(encoding));
  if (!will_run && !task->has_begun.exchange(true)) encode(*task);
  const std::uint64_t most = kMostWaiting * (std::uint64_t{executor_.threads()} + 1);
  while (tasks_.size() > 2 * std::size_t{executor_.threads()} || being_encoded_ > most) TRY(append_first());
  return {};
}

Result<void> GroupedFile::append_first() {
  const auto task = tasks_.front();
  for (std::unique_lock lock(mutex_); !task->append;) {
    const auto waiting = std::ranges::find_if(tasks_, [](const auto& one) { return !one->has_begun.exchange(true); });
    if (waiting == tasks_.end()) {
      was_encoded_.wait(lock, [&] { return task->append.has_value(); });
    } else {
      lock.unlock();
      encode(**waiting);
      lock.lock();
    }
  }
  tasks_.pop_front();
  being_encoded_ -= task->bytes;
  if (has_failed_ && !skips_failures_) return {};
  has_failed_ = has_failed_ || !task->failures.empty();
  for (RowFailure& failure : task->failures) failures_.push_back(std::move(failure));
  ASSIGN_OR_RETURN(const auto append, std::move(*task->append));
  return append();
}

Result<void> GroupedFile::settle() {
  while (!tasks_.empty()) TRY(append_first());
  return {};
}

Result<void> GroupedFile::finish() {
  if (gathered_.records.size() > 0) TRY(end_group());
  TRY(settle());
  return encoder_->finish();
}

}  // namespace recordfs
