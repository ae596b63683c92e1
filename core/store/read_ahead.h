// Detects sequential readers of a container, and decodes the next chunks on other threads, several at a time.
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <vector>

#include "core/base/request_context.h"
#include "core/formats/container.h"
#include "core/store/executor.h"

namespace recordfs {

// Follows up to kRuns readers at once. The number of chunks decoded ahead of a reader doubles with each chunk that it
// reaches, up to the bounds.
class ReadAhead {
 public:
  struct Work {
    // Returns the next chunk that is worth decoding ahead; nullopt if there is none. Called on the executor's threads.
    std::function<std::optional<ChunkInfo>(const RequestContext& context, const ChunkInfo&)> next;
    // Puts a chunk into the cache. Called on the executor's threads.
    std::function<void(const RequestContext& context, const ChunkInfo&)> decode;
    // The permission of both functions.
    RequestContext::Work may = RequestContext::Work::kNonBlocking;
  };
  struct Bounds {
    std::size_t chunks = 1;   // ahead of one reader; more if they are small
    std::uint64_t bytes = 0;  // decoded, ahead of one reader; one chunk may exceed it
  };

  // Tasks run on `executor`, which must outlive this.
  ReadAhead(Executor& executor, Work work, Bounds bounds);
  // Blocks until the running tasks have ended.
  ~ReadAhead();
  ReadAhead(const ReadAhead&) = delete;
  ReadAhead& operator=(const ReadAhead&) = delete;

  // Reports that a chunk, or a part of it, was read. Does not block. Any thread.
  void was_read(const ChunkInfo& chunk);
  // Returns whether this chunk was reported last. Reporting it again has no effect. Takes no lock. Any thread.
  bool is_latest(const ChunkInfo& chunk) const { return latest_.load(std::memory_order_relaxed) == chunk.begin; }

 private:
  struct Ahead {
    Position begin;
    std::uint64_t bytes;
  };
  // A sequential reader.
  struct Run {
    Position last = 0;               // begin of the last chunk that was read
    Position end = 0;                // end of the chunks that were read
    std::size_t wanted = 0;          // chunks ahead of the reader
    std::size_t at_once = 0;         // of these, in one task
    std::optional<ChunkInfo> tip{};  // the last chunk that was scheduled or read; nullopt: none follows
    std::deque<Ahead> ahead{};       // scheduled, and not read yet
    std::uint64_t ahead_bytes = 0;
    bool is_looking = false;  // a task searches for the chunk after the tip
    std::uint64_t number = 0;
    std::uint64_t used_at = 0;
  };
  struct NextChunks {
    std::vector<ChunkInfo> chunks;
    bool is_last = false;  // none after these is worth decoding
  };
  static constexpr std::size_t kRuns = 4;

  Run& run_of(const ChunkInfo& chunk);
  void advance(Run& run, const ChunkInfo& chunk);
  void look_further(Run& run);
  void go_ahead(std::size_t slot, std::uint64_t number, const ChunkInfo& tip, std::size_t count);
  NextChunks following(const RequestContext& context, const ChunkInfo& tip, std::size_t count) const;
  bool take_up(std::size_t slot, std::uint64_t number, const ChunkInfo& tip, const NextChunks& next_chunks);
  void end_task();

  Executor& executor_;
  const Work work_;
  const Bounds bounds_;
  std::atomic<Position> latest_{UINT64_MAX};  // begin of the chunk that was reported last
  std::mutex mutex_;                          // guards the following
  std::array<Run, kRuns> runs_{};
  std::uint64_t time_ = 0;
  unsigned tasks_ = 0;
  std::condition_variable no_tasks_;
};

}  // namespace recordfs
