// Serves the small reads of a scanning thread from large reads.
//
// Containers are const and have no position. So the window belongs to the scanning thread, needs no lock, and is never
// shared with another thread.
#pragma once

#include <memory>
#include <optional>

#include "core/base/prefetch_buffer.h"
#include "core/base/scan_cache.h"
#include "core/base/source.h"
#include "core/base/unreadable_ranges.h"

namespace recordfs {

// Forwards to another source, except for reads in a context with a ReadWindow on this one, and for bytes that such a
// window has kept. Kept bytes are checked like read ones: a change of the file fails the read, or drops them.
//
// If it looks for unreadable bytes, a failed read is repeated in parts to find them. Then a read of them fails with
// kUnreadable without another attempt, or fills them if the context says so. Windows, passes and kept bytes have no
// filled bytes.
class WindowedSource final : public ForwardingSource {
 public:
  enum class OnUnreadable : std::uint8_t {
    kFail,  // with kIo, and read again the next time
    kFind,
  };

  // `kept` must outlive this; null: keeps nothing.
  explicit WindowedSource(std::shared_ptr<const Source> below, ScanCache* kept = nullptr,
                          OnUnreadable on_unreadable = OnUnreadable::kFail)
      : ForwardingSource(std::move(below)),
        kept_(kept),
        id_(kept == nullptr ? 0 : kept->add_source()),
        on_unreadable_(on_unreadable) {}
  ~WindowedSource() override {
    if (kept_ != nullptr) kept_->forget(id_);
  }
  WindowedSource(const WindowedSource&) = delete;
  WindowedSource& operator=(const WindowedSource&) = delete;

  Result<std::size_t> read_at(const RequestContext& context, Position at, MutableBytes out) const override;
  Result<Slice> view_at(const RequestContext& context, Position at, std::uint64_t size) const override;
  Result<Position> next_data(const RequestContext& context, Position at) const override;
  std::optional<Error> unreadable_in(Position begin, Position end) const override {
    return unreadable_.error_in(begin, end);
  }
  std::uint64_t kept_bytes(Position begin, Position end) const override {
    return kept_ == nullptr ? 0 : kept_->count(id_, begin, end);
  }

 private:
  friend class ReadWindow;

  // Like read_at(), but without a window: copies what is kept, and reads the rest.
  Result<std::size_t> read(const RequestContext& context, Position at, MutableBytes out) const;
  // The same without regard to unreadable bytes.
  Result<std::size_t> read_kept(const RequestContext& context, Position at, MutableBytes out) const;
  // Looks for the unreadable bytes of a failed read. Fails with `why` if it fails for another reason.
  Result<void> find_failed(const RequestContext& context, Position at, std::uint64_t size, const Error& why) const;
  // Like view_at(), but without a window.
  Result<Slice> view(const RequestContext& context, Position at, std::uint64_t size) const;
  // Returns the kept piece with the bytes [at, at + size), or fewer at the end of the source; nullopt if there is none.
  // Fails like check_unchanged().
  Result<std::optional<ScanCache::Piece>> kept(const RequestContext& context, Position at, std::uint64_t size) const;
  // Copies kept bytes from `at` on. Returns their number.
  Result<std::size_t> copy_kept(const RequestContext& context, Position at, MutableBytes out) const;
  // Returns whether kept bytes are still those of the file. If not, drops them.
  Result<bool> is_current(const RequestContext& context, std::uint64_t generation) const;

  ScanCache* const kept_;
  const std::uint64_t id_;  // in kept_
  const OnUnreadable on_unreadable_;
  mutable UnreadableRanges unreadable_;  // empty if on_unreadable_ is kFail
};

// Serves the reads of `source` in a context that has this window, if that is a WindowedSource. It reads ahead only
// after consecutive short steps. Reads that are large or far apart are forwarded unchanged. A view that is not large
// becomes the window, so that reads of the same bytes cost nothing.
//
// The bytes are as old as the read that filled the window. If that read fails, only the requested bytes are read
// instead. Belongs to one thread.
class ReadWindow {
 public:
  // What becomes of the bytes that the window has read ahead.
  enum class After : std::uint8_t {
    kDropped,
    kKept,  // for later reads, if the source keeps bytes and there is room
  };

  // `source`, and the window that `outer` has for another source, must outlive this. If `pass` is not null, all reads
  // come from its pieces; it is a pass over `source`, and must outlive the window.
  ReadWindow(const RequestContext& outer, const Source& source, PrefetchBuffer* pass = nullptr,
             After after = After::kDropped)
      : source_(&source), pass_(pass), outer_(outer.window()), after_(after) {}
  ReadWindow(const ReadWindow&) = delete;
  ReadWindow& operator=(const ReadWindow&) = delete;

  // Drops the window's bytes.
  void forget();

  static constexpr std::uint64_t kNear = 32u << 10;    // the largest gap of a short step, forward or backward
  static constexpr int kShortSteps = 2;                // consecutive ones that open a window
  static constexpr std::uint64_t kFirst = 32u << 10;   // size of the first window; each later one doubles ...
  static constexpr std::uint64_t kLargest = 1u << 20;  // ... up to this
  static constexpr std::uint64_t kWhole = 256u << 10;  // reads of this size do not fill the window

 private:
  friend class WindowedSource;

  static ReadWindow* of(const RequestContext& context, const WindowedSource& source);
  Result<std::size_t> read(const RequestContext& context, const WindowedSource& source, Position at, MutableBytes out);
  // Returns `size` bytes, or fewer at the end of the source.
  Result<Slice> view(const RequestContext& context, const WindowedSource& source, Position at, std::uint64_t size);
  // Returns `size` bytes from `at` on, or fewer at the end of the source; nullopt if the caller must read them itself.
  std::optional<Bytes> held(const RequestContext& context, const WindowedSource& source, Position at,
                            std::uint64_t size);
  // Moves the window to a read of a sequential reader, and fills it as far as that reader may get.
  bool move(const RequestContext& context, const WindowedSource& source, Position at, std::uint64_t size);
  // Moves the window to `at` and reads up to `most` bytes. Returns false if it has less than `least`; then it is empty.
  bool fill(const RequestContext& context, const WindowedSource& source, Position at, std::uint64_t least,
            std::uint64_t most);
  // Returns at most `size` bytes from `at` on, of one piece of the pass; none if the caller must read them itself.
  Bytes part(const RequestContext& context, const Source& below, Position at, std::uint64_t size);
  Result<std::size_t> read_parts(const RequestContext& context, const WindowedSource& source, Position at,
                                 MutableBytes out);

  const Source* const source_;
  PrefetchBuffer* const pass_;  // null: this window reads for itself
  ReadWindow* const outer_;
  const After after_;
  std::shared_ptr<const PrefetchBuffer::Piece> piece_;
  std::shared_ptr<Buffer> window_;  // shared with views of it
  Position begin_ = 0;              // of the window in the source
  std::uint64_t filled_ = 0;
  std::uint64_t last_size_ = 0;     // of the last window; 0 after a long step
  Position last_end_ = UINT64_MAX;  // of the last request
  int short_steps_ = 0;             // consecutive ones
};

}  // namespace recordfs
