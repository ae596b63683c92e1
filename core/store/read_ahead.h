// ReadAhead: notices who reads the chunks of a container one after the other, and has those to come decoded on other
// threads, several at a time.
#pragma once

#include <array>
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

// Several readers may be on their way at once. The number of chunks that are decoded ahead of one doubles with each
// chunk that it comes to, up to the bounds.
class ReadAhead {
 public:
  struct Work {
    // The chunk behind one that is worth decoding ahead, or nullopt where there is none. Any thread.
    std::function<std::optional<ChunkInfo>(const ChunkInfo&)> next;
    // Puts a chunk where its reader will look for it. Any thread.
    std::function<void(const ChunkInfo&)> decode;
    // What the two may do.
    RequestContext::Work may = RequestContext::Work::kNonBlocking;
  };
  struct Bounds {
    std::size_t chunks = 1;   // ahead of one reader; more of them where they are small
    std::uint64_t bytes = 0;  // decoded ones, ahead of one reader; one chunk may pass it
  };

  // Tasks run on `executor`, which has to outlive this.
  ReadAhead(Executor& executor, Work work, Bounds bounds);
  // Waits for the tasks that are under way.
  ~ReadAhead();
  ReadAhead(const ReadAhead&) = delete;
  ReadAhead& operator=(const ReadAhead&) = delete;

  // A chunk was read, or a part of it. Any thread.
  void was_read(const ChunkInfo& chunk);

 private:
  struct Ahead {
    Position begin;
    std::uint64_t bytes;
  };
  // A reader on its way.
  struct Run {
    Position last = 0;               // begin of the chunk that was read last
    Position end = 0;                // of the chunks that were read
    std::size_t wanted = 0;          // chunks ahead of the reader
    std::size_t at_once = 0;         // of them, in one task
    std::optional<ChunkInfo> tip{};  // the last chunk that was taken up, or read; none: there is nothing behind it
    std::deque<Ahead> ahead{};       // taken up, and not read so far
    std::uint64_t ahead_bytes = 0;
    bool is_looking = false;  // a task looks for the chunk behind the tip
    std::uint64_t number = 0;
    std::uint64_t used_at = 0;
  };
  // Chunks one behind the other.
  struct NextChunks {
    std::vector<ChunkInfo> chunks;
    bool is_last = false;  // nothing is worth decoding behind it
  };
  static constexpr std::size_t kRuns = 4;

  Run& run_of(const ChunkInfo& chunk);
  void advance(Run& run, const ChunkInfo& chunk);
  void look_further(Run& run);
  void go_ahead(std::size_t slot, std::uint64_t number, const ChunkInfo& tip, std::size_t count);
  NextChunks behind(const ChunkInfo& tip, std::size_t count) const;
  bool take_up(std::size_t slot, std::uint64_t number, const ChunkInfo& tip, const NextChunks& next_chunks);
  void end_task();

  Executor& executor_;
  const Work work_;
  const Bounds bounds_;
  std::mutex mutex_;  // guards what follows
  std::array<Run, kRuns> runs_{};
  std::uint64_t time_ = 0;
  unsigned tasks_ = 0;
  std::condition_variable no_tasks_;
};

}  // namespace recordfs
