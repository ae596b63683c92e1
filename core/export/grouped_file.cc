#include "core/export/grouped_file.h"

#include <utility>

#include "core/base/thrown.h"

namespace recordfs {

GroupedFile::~GroupedFile() {
  std::unique_lock lock(mutex_);
  for (const auto& task : tasks_) was_encoded_.wait(lock, [&] { return task->append.has_value(); });
}

void GroupedFile::encode(Task& task) {
  Result<GroupEncoder::Append> append = Error{.code = Code::kOutOfMemory, .detail = "no memory for a group of records"};
  std::vector<RowFailure> failures;
  static_cast<void>(has_memory_for([&] { append = encoder_->encode(task.group, failures); }));
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
    records.bytes += as_text(rows.between(i, i + 1));
    records.ends.push_back(records.bytes.size());
    records.ordinals.push_back(rows.ordinals[i]);
    if (encoder_->is_full(records.size(), records.bytes.size())) TRY(end_group());
  }
  return {};
}

Result<void> GroupedFile::end_group() {
  const auto task = std::make_shared<Task>(Task{.group = std::exchange(gathered_, {})});
  Executor::Task encoding([this, task] { encode(*task); });
  being_encoded_ += task->group.records.bytes.size();
  tasks_.push_back(task);
  // The destructor waits for all tasks, so each of them must run: nothing may throw from here on.
  const bool will_run = executor_.threads() > 0 && executor_.start() &&
                        executor_.post(Executor::Priority::kWaitedFor, std::move(encoding));
  if (!will_run) encode(*task);
  while (tasks_.size() > 2 * std::size_t{executor_.threads()}) TRY(append_first());
  return {};
}

Result<void> GroupedFile::append_first() {
  const auto task = tasks_.front();
  {
    std::unique_lock lock(mutex_);
    was_encoded_.wait(lock, [&] { return task->append.has_value(); });
  }
  tasks_.pop_front();
  being_encoded_ -= task->group.records.bytes.size();
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
