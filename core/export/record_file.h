// Writes records to a container of another format.
#pragma once

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "core/export/encoder.h"
#include "core/formats/record_writer.h"
#include "core/store/executor.h"

namespace recordfs {

// Encodes chunks on the threads of an executor, several at a time, and appends them in order. The same records give the
// same bytes with any number of threads. Not thread-safe.
class RecordFile final : public FileEncoder {
 public:
  // `executor` must outlive the object.
  RecordFile(std::unique_ptr<RecordWriter> writer, Executor& executor)
      : writer_(std::move(writer)), executor_(executor) {}
  // Waits for the threads that encode.
  ~RecordFile() override;

  Result<void> append(const EncodedRows& rows, std::size_t begin, std::size_t end) override;
  Result<void> finish() override;
  std::uint64_t pending() const override { return gathered_.bytes.size() + being_encoded_; }

 private:
  // Records that become one chunk.
  struct Chunk {
    EncodedRows records{};
    std::optional<Result<EncodedRecords>> encoded{};  // guarded by mutex_
  };

  void encode(Chunk& chunk);
  // Passes the gathered records on, and appends the chunks that have to make room.
  Result<void> end_chunk();
  // Waits for the first of the chunks, and appends it.
  Result<void> append_first();

  const std::unique_ptr<RecordWriter> writer_;
  Executor& executor_;
  EncodedRows gathered_;
  std::uint64_t being_encoded_ = 0;  // bytes of records in chunks_
  std::deque<std::shared_ptr<Chunk>> chunks_;
  std::mutex mutex_;
  std::condition_variable was_encoded_;
};

}  // namespace recordfs
