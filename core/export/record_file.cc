#include "core/export/record_file.h"

#include <utility>

#include "core/base/thrown.h"

namespace recordfs {
namespace {

// What a record adds to a chunk besides its bytes, so that empty records fill one, too.
constexpr std::uint64_t kSizeOfEnd = 8;

}  // namespace

RecordFile::~RecordFile() {
  std::unique_lock lock(mutex_);
  for (const auto& chunk : chunks_) was_encoded_.wait(lock, [&] { return chunk->encoded.has_value(); });
}

void RecordFile::encode(Chunk& chunk) {
  Result<EncodedRecords> encoded = Error{.code = Code::kOutOfMemory, .detail = "no memory for a chunk"};
  static_cast<void>(has_memory_for([&] {
    std::vector<Bytes> records;
    records.reserve(chunk.records.size());
    for (std::size_t i = 0; i < chunk.records.size(); ++i) records.push_back(chunk.records.between(i, i + 1));
    encoded = writer_->encode({}, records);
  }));
  const std::lock_guard lock(mutex_);
  chunk.encoded = std::move(encoded);
  was_encoded_.notify_all();
}

Result<void> RecordFile::append(const EncodedRows& rows, std::size_t begin, std::size_t end) {
  for (std::size_t i = begin; i < end; ++i) {
    gathered_.bytes += as_text(rows.between(i, i + 1));
    gathered_.ends.push_back(gathered_.bytes.size());
    if (gathered_.bytes.size() + kSizeOfEnd * gathered_.size() >= writer_->chunk_size()) TRY(end_chunk());
  }
  return {};
}

Result<void> RecordFile::end_chunk() {
  const auto chunk = std::make_shared<Chunk>(Chunk{.records = std::exchange(gathered_, {})});
  being_encoded_ += chunk->records.bytes.size();
  const bool is_posted = executor_.threads() > 0 && executor_.start();
  // The destructor waits for chunks, so each of them is encoded.
  chunks_.push_back(chunk);
  const bool will_run = is_posted && executor_.post(Executor::Priority::kWaitedFor, [this, chunk] { encode(*chunk); });
  if (!will_run) encode(*chunk);
  while (chunks_.size() > 2 * std::size_t{executor_.threads()}) TRY(append_first());
  return {};
}

Result<void> RecordFile::append_first() {
  const auto chunk = chunks_.front();
  {
    std::unique_lock lock(mutex_);
    was_encoded_.wait(lock, [&] { return chunk->encoded.has_value(); });
  }
  chunks_.pop_front();
  being_encoded_ -= chunk->records.bytes.size();
  ASSIGN_OR_RETURN(const auto encoded, std::move(*chunk->encoded));
  return writer_->append({}, encoded);
}

Result<void> RecordFile::finish() {
  if (gathered_.size() > 0) TRY(end_chunk());
  while (!chunks_.empty()) TRY(append_first());
  return writer_->finish({});
}

}  // namespace recordfs
