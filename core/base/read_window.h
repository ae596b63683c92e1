// ReadWindow: lets the small reads of one thread that walks through a source be served from large ones.
//
// A container keeps no position, and whoever walks it keeps the place. So the bytes around that place belong to the
// walk and not to the container: they live on the walking thread, no lock guards them, nobody else is ever given them,
// and they are gone when the walk is over.
#pragma once

#include <memory>
#include <optional>

#include "core/base/sequential_pass.h"
#include "core/base/source.h"

namespace recordfs {

// Passes everything on to another source, but for the reads of a thread that has a ReadWindow for this one.
class WindowedSource final : public Source {
 public:
  explicit WindowedSource(std::shared_ptr<const Source> below) : below_(std::move(below)) {}

  std::string_view name() const override { return below_->name(); }
  std::uint64_t size() const override { return below_->size(); }
  Result<std::size_t> read_at(Position at, MutableBytes out) const override;
  Result<Slice> view_at(Position at, std::uint64_t size) const override;
  std::uint64_t filesystem() const override { return below_->filesystem(); }
  Result<Position> next_data(Position at) const override { return below_->next_data(at); }
  void expect_sequential_reads() const override { below_->expect_sequential_reads(); }
  std::uint64_t generation() const override { return below_->generation(); }
  std::optional<FileIdentity> identity() const override { return below_->identity(); }
  bool has_grown() const override { return below_->has_grown(); }

 private:
  friend class ReadWindow;
  const std::shared_ptr<const Source> below_;
};

// As long as it lives, what its thread reads of the source comes out of a window, if the source is a WindowedSource and
// the reads go forward in short steps. Where they are far apart, or large, each reads its own bytes and no others.
//
// What comes out of the window is as old as the window. A read that fails for more than it asked for is made again for
// what it asked for alone. One thread, in which it is also destroyed; the one made last is the first to go.
class ReadWindow {
 public:
  // `source` has to outlive the object. With `pass`, which is a pass over `source` and must outlive the object, all
  // reads come out of its pieces.
  explicit ReadWindow(const Source& source, SequentialPass* pass = nullptr);
  ~ReadWindow();
  ReadWindow(const ReadWindow&) = delete;
  ReadWindow& operator=(const ReadWindow&) = delete;

  // Lets go of the bytes that it has.
  void forget();

  static constexpr std::uint64_t kNear = 32u << 10;    // bytes passed over in a short step, at the most
  static constexpr int kShortSteps = 2;                // one after the other make a window
  static constexpr std::uint64_t kFirst = 32u << 10;   // the first window, each next one is twice as large ...
  static constexpr std::uint64_t kLargest = 1u << 20;  // ... up to this
  static constexpr std::uint64_t kWhole = 256u << 10;  // a read of so many bytes goes past the window

 private:
  friend class WindowedSource;

  static ReadWindow* of(const WindowedSource& source);
  Result<std::size_t> read(const Source& below, Position at, MutableBytes out);
  Result<Slice> view(const WindowedSource& source, Position at, std::uint64_t size);
  // The bytes from `at` on, `size` of them or fewer where the source ends; nullopt where they are to be read alone.
  std::optional<Bytes> held(const Source& below, Position at, std::uint64_t size);
  bool move(const Source& below, Position at, std::uint64_t size);
  // The bytes from `at` on in one piece of the pass, at most `size`; none where they are to be read directly.
  Bytes part(const Source& below, Position at, std::uint64_t size);
  Result<std::size_t> read_parts(const Source& below, Position at, MutableBytes out);

  const Source* const source_;
  SequentialPass* const pass_;  // null: the window is the thread's own
  ReadWindow* const outer_;
  std::shared_ptr<const Buffer> piece_;  // of the pass
  std::shared_ptr<Buffer> window_;       // shared with the views of it
  Position begin_ = 0;                   // of the window in the source
  std::uint64_t filled_ = 0;
  std::uint64_t last_size_ = 0;     // of the last window in a row of them
  Position last_end_ = UINT64_MAX;  // of what was asked for last
  int short_steps_ = 0;             // in a row
};

}  // namespace recordfs
