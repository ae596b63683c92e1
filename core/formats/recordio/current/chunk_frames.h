// The frame of the current format: 32 KiB of the file, with a header and a fragment of a chunk. FORMAT.md, "Frame".
// Aligned and misaligned runs, and the search for the next run after damage. FORMAT.md, "Damage".
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/bounded_lru.h"
#include "core/base/bytes.h"
#include "core/base/source.h"
#include "core/base/windowed_reader.h"

namespace recordfs::recordio {

inline constexpr std::uint64_t kFrameSize = 32768;
inline constexpr std::uint32_t kFrameHeaderSize = 28;
inline constexpr std::uint32_t kLargestFragment = 32740;

// The kind of a chunk, given by its magic.
enum class Kind : std::uint8_t { kHeader, kBody, kTrailer };

// Returns "header", "body" or "trailer". Static storage.
std::string_view to_string(Kind kind);

// A frame header with plausible values: size <= kLargestFragment, index < total. Only the checksum shows whether it
// is genuine.
struct FrameHeader {
  Kind kind = Kind::kBody;
  std::uint32_t checksum = 0;  // of all bytes after it, up to the end of the fragment
  std::uint32_t size = 0;      // of the fragment
  std::uint32_t total = 0;     // frames of the chunk
  std::uint32_t index = 0;     // of this one

  // Returns the size from the frame's begin to the fragment's end, which must be in the file for the frame to be
  // readable.
  std::uint64_t used() const { return kFrameHeaderSize + size; }
  // Returns whether this is frame `number` of the chunk that begins with `first`.
  bool continues(const FrameHeader& first, std::uint64_t number) const {
    return kind == first.kind && total == first.total && index == number;
  }
};

// Parses the header at the start of `head`. Returns nullopt if there is none or too few bytes. Any thread.
std::optional<FrameHeader> parse_frame_header(Bytes head);

// Returns whether the frame's checksum matches. REQUIRES: frame.size() >= header.used(), and `header` is the frame's.
// Any thread.
bool checksum_matches(const FrameHeader& header, Bytes frame);

// Returns whether `head` can be a frame header cut off by the end of the file. Any thread.
bool is_cut_header(Bytes head);

// Appends the frames of a chunk with this content. Throws std::bad_alloc. Any thread.
void append_frames(std::string& out, Kind kind, Bytes content);

// Returns the offset of the next frame magic in `bytes` at or after `from`; bytes.size() if there is none. Any
// thread.
std::size_t find_magic(Bytes bytes, std::size_t from);

// The part of the file around a position, for one call: a container has no cache. One thread.
class Window {
 public:
  // REQUIRES: `source` outlives the object.
  explicit Window(const Source& source) : reader_(source, kMost, 2 * kMost) {}

  std::uint64_t size() const { return reader_.source().size(); }
  std::uint64_t generation() const { return reader_.source().generation(); }
  // Returns at most `length` bytes from `at`, fewer only at the end of the file. They are valid until the next call.
  // Fails as WindowedReader does. REQUIRES: length <= kMost.
  Result<Bytes> view(const RequestContext& context, Position at, std::uint64_t length);
  static constexpr std::uint64_t kMost = kFrameSize + kFrameHeaderSize;
  // Returns the header at `at`, or nullopt if there is none. Reads only the header unless the window has it.
  Result<std::optional<FrameHeader>> header(const RequestContext& context, Position at);
  // Also verifies the checksum. Returns nullopt too if it is wrong or the file ends inside the fragment.
  Result<std::optional<FrameHeader>> sound_header(const RequestContext& context, Position at);
  // Returns where data can follow the frame at the multiple `slot`: its end, or the end of the hole that it is part
  // of.
  Result<Position> data_after_hole(const RequestContext& context, Position slot);
  // Returns how many bytes were checked against a checksum.
  std::uint64_t checked() const { return checked_; }

 private:
  WindowedReader reader_;
  std::uint64_t checked_ = 0;
};

// The frames of one chunk that are present consecutively in the file. Only the first frame's checksum was verified;
// of the others only the header was read.
struct Run {
  Position begin = 0;
  FrameHeader first;
  std::uint64_t frames = 1;             // at most first.total
  std::uint64_t stored = 0;             // bytes of all fragments; a headless frame counts as full
  std::uint32_t last_size = 0;          // of the last fragment
  std::vector<std::uint64_t> headless;  // indexes of frames with a broken header between intact ones
  Position end = 0;                     // includes the padding

  bool is_whole() const { return frames == first.total; }
  Position last_used_end() const { return begin + (frames - 1) * kFrameSize + kFrameHeaderSize + last_size; }
};

// Returns the run that consists of the one frame `first`.
Run run_of(Position begin, const FrameHeader& first);
void extend(Run& run, const FrameHeader& next);

// Caches the lengths of runs that possibly broken headers point to. Many headers may point to a few long runs, and
// finding a run's length takes a scan of the whole run. Any thread; uses less than 1 MiB.
struct RunLengths {
  struct Length {
    FrameHeader first;
    std::uint64_t frames = 0;  // 0: no run begins there
  };

  BoundedLru<std::pair<std::uint64_t, Position>, Length> cache{4096};  // by the source's generation, and begin
};

// Finds aligned runs, at multiples of the frame size, where writers place frames. FORMAT.md, "Chunk". Used by one
// thread, for one call of the container.
class AlignedFrames {
 public:
  // REQUIRES: both outlive the object.
  AlignedFrames(Window& window, RunLengths& lengths) : window_(window), lengths_(lengths) {}

  // Returns the run that begins at the multiple `slot`; its `end` is not set. Fails as Source does.
  Result<std::optional<Run>> run_at(const RequestContext& context, Position slot);
  // Returns the run that contains the frame at the multiple `slot`, even if that frame's header is broken.
  Result<std::optional<Run>> run_over(const RequestContext& context, Position slot);
  // Returns whether run_over() would find a run.
  Result<bool> is_in_run(const RequestContext& context, Position slot);

 private:
  // What is at the place of frame `index` of a run: that frame, no valid frame, or a frame of another chunk.
  enum class Part : std::uint8_t { kNext, kHeadless, kOther };
  Result<Part> take_next(const RequestContext& context, Run& run, Position slot, std::uint64_t index);
  // Returns where the run of the frame at `slot` begins, according to its header, if the run goes on for `after`
  // more frames.
  Result<std::optional<Position>> begin_with(const RequestContext& context, Position slot, const FrameHeader& header,
                                             std::uint64_t after);
  Result<std::optional<Position>> begin_over(const RequestContext& context, Position slot);
  Result<RunLengths::Length> length_at(const RequestContext& context, Position begin);

  Window& window_;
  RunLengths& lengths_;
  std::optional<Run> last_;  // the result of the last call; most calls repeat it
};

// A frame that is not at a multiple of the frame size, because bytes were inserted or deleted. FORMAT.md, "Damage", has
// the rules. Each answer depends only on the bytes around a position, never on where the scan came from.
struct MisalignedFrame {
  Position begin = 0;
  FrameHeader header;

  Position used_end() const { return begin + header.used(); }
};

// Finds misaligned frames. One thread. Caches the results of a few slots, so that one call examines each position once.
class MisalignedFrames {
 public:
  // REQUIRES: both outlive the object.
  MisalignedFrames(Window& window, AlignedFrames& aligned) : window_(window), aligned_(aligned) {}

  // Returns the end of the aligned frame at the multiple `slot`, if that frame is valid or part of a run. Returns
  // `slot` otherwise. Fails as Source does.
  Result<Position> held_until(const RequestContext& context, Position slot);

  // Returns the misaligned frame that begins at `at`.
  Result<std::optional<MisalignedFrame>> at(const RequestContext& context, Position at);
  // Return the first and the last misaligned frame that begin in [from, to).
  Result<std::optional<MisalignedFrame>> first_in(const RequestContext& context, Position from, Position to);
  Result<std::optional<MisalignedFrame>> last_in(const RequestContext& context, Position from, Position to);

 private:
  using List = std::shared_ptr<const std::vector<MisalignedFrame>>;

  // Returns whether the frame header at `slot` parses or `slot` is inside a run.
  Result<bool> is_aligned(const RequestContext& context, Position slot);
  // candidates() returns the valid frames in this slot that do not overlap an aligned frame, in order. frames()
  // returns those of them that are not inside another candidate's fragment.
  Result<List> candidates(const RequestContext& context, Position slot);
  Result<List> frames(const RequestContext& context, Position slot);
  Result<std::vector<MisalignedFrame>> find_candidates(const RequestContext& context, Position slot);

  Window& window_;
  AlignedFrames& aligned_;
  std::map<Position, List> candidates_;
  std::map<Position, List> frames_;
};

// Finds runs. Used by one thread, for one call of the container.
class ChunkFrames {
 public:
  // REQUIRES: both outlive the object.
  ChunkFrames(const Source& source, RunLengths& lengths)
      : window_(source), aligned_(window_, lengths), misaligned_(window_, aligned_) {}

  Window& window() { return window_; }

  // Returns the run that begins at `at`. Fails as Source does.
  Result<std::optional<Run>> at(const RequestContext& context, Position at);
  // Returns the run that covers byte `at`.
  Result<std::optional<Run>> covering(const RequestContext& context, Position at);

  struct FoundRun {
    std::optional<Run> run;
    Position reached = 0;  // no run begins before this position
  };
  // Finds the first run at or after `from`, reading about `budget` bytes.
  Result<FoundRun> search(const RequestContext& context, Position from, std::uint64_t budget);

 private:
  Result<std::optional<Run>> aligned_run(const RequestContext& context, Position slot);
  Result<std::optional<Run>> misaligned_run(const RequestContext& context, Position at);
  Result<Position> aligned_end(const RequestContext& context, const Run& run);
  Result<std::optional<Run>> with_end(const RequestContext& context, Result<std::optional<Run>> found);
  // Finds the first misaligned run that begins in [from, to).
  Result<std::optional<Run>> first_misaligned(const RequestContext& context, Position from, Position to);

  Window window_;
  AlignedFrames aligned_;
  MisalignedFrames misaligned_;
};

}  // namespace recordfs::recordio
