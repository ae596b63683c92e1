// Writes files whose records are encoded in groups: chunks of a container, row groups of a table.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "core/export/encoder.h"
#include "core/store/executor.h"

namespace recordfs {

// Consecutive records, and where they come from.
struct RecordGroup {
  struct Segment {
    std::size_t first = 0;  // record of the group
    std::shared_ptr<const RowOrigin> origin{};
  };
  RowBytes records{};
  std::vector<Segment> segments{};
};

// Encodes groups. encode() and is_full() are thread-safe.
class GroupEncoder {
 public:
  virtual ~GroupEncoder() = default;
  GroupEncoder() = default;
  GroupEncoder(const GroupEncoder&) = delete;
  GroupEncoder& operator=(const GroupEncoder&) = delete;

  // Returns whether a group with this number of records and of their bytes is complete.
  virtual bool is_full(std::size_t records, std::uint64_t bytes) const = 0;
  // Appends an encoded group to the file, on the thread of append().
  using Append = std::function<Result<void>()>;
  // Encodes a group without the records that cannot be encoded, which it adds to `failures`. May throw std::bad_alloc.
  virtual Result<Append> encode(const RecordGroup& group, std::vector<RowFailure>& failures) = 0;
  // Writes what follows the last group.
  virtual Result<void> finish() = 0;
};

// Encodes groups on the threads of an executor and the calling one, several at a time, and appends them in order. The
// same records give the same bytes with any number of threads. Not thread-safe.
class GroupedFile final : public FileEncoder {
 public:
  // Unless `skips_failures`, no group after one with a failure is written. `executor` must outlive the object.
  GroupedFile(std::unique_ptr<GroupEncoder> encoder, Executor& executor, bool skips_failures)
      : encoder_(std::move(encoder)), executor_(executor), skips_failures_(skips_failures) {}
  // Waits for the threads that encode.
  ~GroupedFile() override;

  Result<void> append(const RowBytes& rows, std::size_t begin, std::size_t end) override;
  Result<void> finish() override;
  Result<void> settle() override;
  std::uint64_t pending() const override { return gathered_.records.bytes.size() + being_encoded_; }
  std::vector<RowFailure> take_failures() override { return std::exchange(failures_, {}); }

 private:
  struct Task {
    RecordGroup group{};  // until it is encoded
    std::uint64_t bytes = 0;
    std::atomic<bool> has_begun = false;  // true: a thread encodes it, and the file waits for that
    // Guarded by mutex_:
    std::optional<Result<GroupEncoder::Append>> append{};
    std::vector<RowFailure> failures{};
  };

  void encode(Task& task);
  // Passes the gathered records on, and appends the groups that have to make room.
  Result<void> end_group();
  // Appends the first of the groups. Encodes groups that no thread has begun while it is not ready.
  Result<void> append_first();

  const std::unique_ptr<GroupEncoder> encoder_;
  Executor& executor_;
  const bool skips_failures_;
  bool has_failed_ = false;  // a group that was appended
  RecordGroup gathered_;
  std::size_t usual_size_ = 0;       // bytes of the last group, which the next one may have
  std::uint64_t being_encoded_ = 0;  // bytes of records in tasks_
  std::deque<std::shared_ptr<Task>> tasks_;
  std::vector<RowFailure> failures_;
  std::mutex mutex_;
  std::condition_variable was_encoded_;
};

}  // namespace recordfs
