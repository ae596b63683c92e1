// Reads the chunks of one container: from the caches, or decoded now.
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "core/base/request_context.h"
#include "core/formats/container.h"
#include "core/store/chunk_index.h"
#include "core/store/damage_log.h"
#include "core/store/executor.h"
#include "core/store/stored_file.h"

namespace recordfs {

// Detects sequential readers of a container, and decodes the next chunks on other threads, several at a time. Follows
// up to kRuns readers at once. The number of chunks decoded ahead of a reader doubles with each chunk that it reaches,
// up to the bounds.
class ReadAhead {
 public:
  struct Work {
    // Returns the next chunk that is worth decoding ahead; nullopt if there is none. Called on the executor's threads.
    std::function<std::optional<ChunkInfo>(const RequestContext& context, const ChunkInfo&)> next;
    // Puts a chunk into the cache. Called on the executor's threads.
    std::function<void(const RequestContext& context, const ChunkInfo&)> decode;
    // The permission of both functions.
    RequestContext::Permission may = RequestContext::Permission::kNonBlocking;
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

// Works on the calling thread, as far as the RequestContext permits. May block until another thread has decoded the
// same chunk, or until DecodeBudget has room. Callers share ownership of chunks, layouts and slices, which stay valid
// when the cache drops them. Failures are logged, except where stated. Thread-safe.
class ChunkReader {
 public:
  using Pointer = std::shared_ptr<const Chunk>;

  // All must outlive this.
  ChunkReader(const StoredFile& file, const ChunkIndex& index, DamageLog& log);

  // Returns whether a chunk is too large to be decoded ahead of its reader. It is read in place if its format can.
  bool is_large(const ChunkInfo& chunk) const;

  // Returns the number of records in a chunk. Makes its layout only if the header does not tell.
  Result<std::uint64_t> records_in(const RequestContext& context, const ChunkInfo& chunk) const;
  // Returns the positions of a chunk's records. Fails like Container::layout(), and with kChanged if the chunk no
  // longer matches `info`. Decodes the chunk instead if that costs no more, and the cache has room.
  Result<std::shared_ptr<const Layout>> layout(const RequestContext& context, const ChunkInfo& info) const;

  // Returns the chunk. Concurrent calls share one decoding. Fails like Container::decode(), and with kChanged if the
  // chunk no longer matches `info`.
  Result<Pointer> get(const RequestContext& context, const ChunkInfo& info) const;
  // The same without reading ahead.
  Result<Pointer> get_alone(const RequestContext& context, const ChunkInfo& info) const;
  // The same without logging failures or reading ahead.
  Result<Pointer> get_quietly(const RequestContext& context, const ChunkInfo& info) const;
  // Returns the layout of a chunk that decode_ahead() is called for next. Caches the chunk until then if the layout
  // needs it. Fails like layout(). Does not log.
  Result<std::shared_ptr<const Layout>> layout_before_decoding(const RequestContext& context,
                                                               const ChunkInfo& info) const;
  // Decodes a chunk without caching it, for callers that read each chunk once. Fails like get(). Takes a chunk that is
  // cached for its layout out of the cache.
  Result<Pointer> decode_uncached(const RequestContext& context, const ChunkInfo& info) const;
  // The same without logging, for callers that decode ahead and report failures later. `fields`: as
  // Container::decode_fields(), for callers that never pass on the bytes of records; null: all fields.
  Result<Pointer> decode_ahead(const RequestContext& context, const ChunkInfo& info,
                               const FieldProjection* fields = nullptr) const;
  // Reports that a chunk was read, so that the next ones are decoded ahead.
  void was_read(const ChunkInfo& info) const {
    if (!read_ahead_->is_latest(info) && !is_large(info)) read_ahead_->was_read(info);
  }

  // Returns exactly `length` bytes of a chunk's payload. Fails like Chunk::read(). Does not log.
  Result<Slice> read(const RequestContext& context, const Chunk& chunk, std::uint64_t offset,
                     std::uint64_t length) const;
  // Fails if a record of a chunk is unreadable.
  Result<void> check_readable(const RequestContext& context, const Layout& layout, std::uint64_t index) const;
  // Returns the size of a chunk's payload: exact if it is readable, otherwise the declared size or 1. Fails only for
  // reasons that may pass.
  Result<std::uint64_t> payload_size(const RequestContext& context, const ChunkInfo& info) const;
  // Returns up to `length` bytes of a chunk's payload from `offset`, fewer only at its end. Fails if a record in the
  // range is unreadable.
  Result<Slice> read_payload(const RequestContext& context, const ChunkInfo& info, std::uint64_t offset,
                             std::uint64_t length) const;

  // Returns up to `length` bytes of the file within [begin, end), from `begin + offset` on.
  Result<Slice> read_raw(const RequestContext& context, Position begin, Position end, std::uint64_t offset,
                         std::uint64_t length) const;
  // The same for the bytes of a chunk. If the file was touched since it was opened, verifies the chunk, and fails with
  // kChanged if its checksums do not match.
  Result<Slice> read_raw(const RequestContext& context, const ChunkInfo& chunk, std::uint64_t offset,
                         std::uint64_t length) const;

 private:
  // `fields`: as of decode_ahead().
  Result<Pointer> decode(const RequestContext& context, const ChunkInfo& chunk,
                         const FieldProjection* fields = nullptr) const;
  Result<Pointer> take_or_decode(const RequestContext& context, const ChunkInfo& info,
                                 const FieldProjection* fields) const;
  Result<Pointer> decode_in_turn(const RequestContext& context, const ChunkInfo& chunk,
                                 const FieldProjection* fields) const;
  Result<std::shared_ptr<const Layout>> cached_layout(const RequestContext& context, const ChunkInfo& info) const;
  bool is_kept_for_reader(const ChunkInfo& chunk) const;
  std::unique_ptr<ReadAhead> new_read_ahead() const;

  const StoredFile& file_;
  const ChunkIndex& index_;
  DamageLog& log_;
  const std::unique_ptr<ReadAhead> read_ahead_;
};

// Returns a size that is not 0, for unreadable records: the kernel does not send reads for empty files.
inline std::uint64_t at_least_one(std::uint64_t size) { return size > 0 ? size : 1; }

}  // namespace recordfs
