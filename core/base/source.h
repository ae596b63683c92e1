// The bytes of one container, read by position.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/buffer.h"
#include "core/base/bytes.h"
#include "core/base/descriptor.h"
#include "core/base/file_snapshot.h"
#include "core/base/request_context.h"
#include "core/base/result.h"
#include "core/base/source_id.h"

struct stat;

namespace recordfs {

// Returns `device` if the filesystem of the open file may hang: a network filesystem, FUSE, or one not known to be
// local. Returns 0 for a local one. `device` is the file's st_dev.
std::uint64_t filesystem_that_may_hang(int descriptor, std::uint64_t device);

// A snapshot: the size never changes. Const and thread-safe; has no position.
class Source {
 public:
  virtual ~Source() = default;

  // Returns the file's name without directories; empty if it has none. Only a hint.
  virtual std::string_view name() const { return {}; }

  // Returns the size in bytes when the source was opened.
  virtual std::uint64_t size() const = 0;

  // Fills `out` with the bytes from `at` on. Returns their number: all of `out`, or fewer at the end of the snapshot.
  // Fails with kIo, kOutOfMemory, and with kChanged if the file was truncated or rewritten. If filesystem() is not 0,
  // may block indefinitely, and also fails like RequestContext::permit_wait_for().
  virtual Result<std::size_t> read_at(const RequestContext& context, Position at, MutableBytes out) const = 0;

  // Like read_at(), for one reader that goes through the whole source. May report that the file was rewritten only with
  // a later read: after at most 2 MiB, or with the read that reaches the end of the source.
  virtual Result<std::size_t> read_next(const RequestContext& context, Position at, MutableBytes out) const {
    return read_at(context, at, out);
  }

  // Returns the device of a filesystem on which reads may block indefinitely, such as a network filesystem; otherwise
  // 0.
  virtual std::uint64_t filesystem() const { return 0; }

  // Returns the bytes [at, at + size), or fewer at the end, without a copy if they are in memory. Fails like
  // read_up_to(). The caller has checked `size` against Limits.
  virtual Result<Slice> view_at(const RequestContext& context, Position at, std::uint64_t size) const;

  // Returns the first position from `at` on that is not in a hole; size() if none follows. Returns `at` if the
  // filesystem does not report holes. Fails like read_at().
  virtual Result<Position> next_data(const RequestContext&, Position at) const { return std::min(at, size()); }

  // Hints that the source will be read from front to end.
  virtual void expect_sequential_reads() const {}

  // Returns a number that increases when the file was touched since the last read. Callers that verified bytes and read
  // them again must then verify them again.
  virtual std::uint64_t generation() const { return 0; }

  // Returns the id that the source had when it was opened; nullopt if changes to the bytes would not show in it.
  virtual std::optional<SourceId> id() const { return std::nullopt; }
  // Returns when the bytes were modified last, before the source was opened; nullopt if that is not known.
  virtual std::optional<timespec> modified() const { return std::nullopt; }
  // Returns the owner of the source when it was opened; nullopt if the storage does not say.
  virtual std::optional<SourceOwner> owner() const { return std::nullopt; }

  // Returns the same source with its present size, even if it was renamed or removed; null if it has not grown. Fails
  // with kChanged if it was truncated or rewritten, and like read_at().
  virtual Result<std::shared_ptr<const Source>> grown(const RequestContext&) const {
    return std::shared_ptr<const Source>();
  }

  // Succeeds if read_at() would now return the same bytes as it did when generation() was last the same. Reads no bytes
  // unless the file was touched. Fails like read_at().
  virtual Result<void> check_unchanged(const RequestContext&) const { return {}; }

  // Returns whether the file was seen to be larger than the snapshot.
  virtual bool has_grown() const { return false; }
  // Returns whether the file was seen to have no name any more: it was removed, or another one took its place.
  virtual bool is_removed() const { return false; }

  // Returns why some of the bytes [begin, end) cannot be read, as far as earlier reads have found that (kUnreadable).
  virtual std::optional<Error> unreadable_in(Position /*begin*/, Position /*end*/) const { return std::nullopt; }

  // Returns how many of the bytes [begin, end) are in memory, so that a read of them does not read the file. Cheap.
  virtual std::uint64_t kept_bytes(Position /*begin*/, Position /*end*/) const { return 0; }

  // Returns whether the bytes come from a server, so that each read may be a request.
  virtual bool is_remote() const { return false; }
  // Returns how many bytes the calling thread has requested from servers; 0 of a local file.
  virtual std::uint64_t requested_bytes() const { return 0; }
  // Opens the file whose name is this one's with `suffix` appended. Returns null if the server has none, and for a
  // local file. Fails like Storage::open().
  virtual Result<std::shared_ptr<const Source>> beside(const RequestContext&, std::string_view /*suffix*/) const {
    return std::shared_ptr<const Source>();
  }

  // Hints that the bytes [begin, end) will be read soon, and nothing near them. Does not block.
  virtual void will_need(Position /*begin*/, Position /*end*/) const {}
};

// Returns exactly [at, at + size). Fails with kUnfinished at the end of the source if it ends earlier; allocates
// nothing then. Otherwise fails like read_up_to(). The caller has checked `size` against Limits.
Result<Buffer> read_exactly(const RequestContext& context, const Source& source, Position at, std::uint64_t size);

// The same without a copy if the bytes are in memory.
Result<Slice> view_exactly(const RequestContext& context, const Source& source, Position at, std::uint64_t size);

// Returns `size` bytes from `at` on, or fewer at the end of the source. Fails like Source::read_at(), with
// kOutOfMemory, and for many bytes like RequestContext::spend().
Result<Buffer> read_up_to(const RequestContext& context, const Source& source, Position at, std::uint64_t size);

// Returns where to continue a search that found nothing in `seen`, the bytes before `at`. If all of `seen` is zeros,
// that is after the hole that may begin with it; otherwise `at`. So it asks the source for holes only after zeros, and
// after kUnreadableFill for the end of bytes that cannot be read. Fails like Source::read_at().
Result<Position> data_after_hole(const RequestContext& context, const Source& source, Position at, Bytes seen);

// A regular file or block device. Uses pread(), so a truncated file is an error and never a signal.
class FileSource final : public Source {
 public:
  // Opens `path` and reads both ends of the file; may block whatever the RequestContext. Fails with kIo if that fails,
  // or if it is neither a regular file nor a block device; also with kChanged and kOutOfMemory.
  static Result<std::shared_ptr<const FileSource>> open(const std::string& path);
  // Like open(), for an open file. `name`: without directories. `is_followed`: as for open_followed().
  static Result<std::shared_ptr<const FileSource>> of(Descriptor descriptor, std::string name,
                                                      bool is_followed = false);
  // Like open(), for a file that others append to: appending alone does not increase generation().
  static Result<std::shared_ptr<const FileSource>> open_followed(const std::string& path);
  ~FileSource() override = default;
  FileSource(const FileSource&) = delete;
  FileSource& operator=(const FileSource&) = delete;

  std::string_view name() const override { return name_; }
  std::uint64_t size() const override { return file_.size(); }
  Result<std::size_t> read_at(const RequestContext& context, Position at, MutableBytes out) const override;
  Result<std::size_t> read_next(const RequestContext& context, Position at, MutableBytes out) const override;
  std::uint64_t filesystem() const override { return filesystem_; }
  Result<Position> next_data(const RequestContext& context, Position at) const override;
  void expect_sequential_reads() const override;
  std::uint64_t generation() const override { return file_.generation(); }

  std::optional<SourceId> id() const override;
  std::optional<timespec> modified() const override { return file_.state().modified; }
  std::optional<SourceOwner> owner() const override;
  // Blocks whatever the RequestContext.
  Result<std::shared_ptr<const Source>> grown(const RequestContext& context) const override;
  Result<void> check_unchanged(const RequestContext& context) const override {
    TRY(context.permit_wait_for(filesystem_));
    return file_.check_unchanged();
  }
  bool has_grown() const override { return file_.has_grown(); }
  bool is_removed() const override { return file_.is_removed(); }

  // Returns the number of bytes that the process has read from all files.
  static std::uint64_t bytes_read() { return FileSnapshot::bytes_read(); }

 private:
  FileSource(std::string name, Descriptor descriptor, std::uint64_t size, const struct stat& now, bool is_followed);

  const std::string name_;
  FileSnapshot file_;
  const std::uint64_t filesystem_;
  mutable std::atomic<std::uint64_t> unchecked_{0};  // bytes of read_next() since the last comparison
};

// Forwards everything but view_at(), which read_at() then serves, to another source.
class ForwardingSource : public Source {
 public:
  std::string_view name() const override { return below_->name(); }
  std::uint64_t size() const override { return below_->size(); }
  Result<std::size_t> read_at(const RequestContext& context, Position at, MutableBytes out) const override {
    return below_->read_at(context, at, out);
  }
  Result<std::size_t> read_next(const RequestContext& context, Position at, MutableBytes out) const override {
    return below_->read_next(context, at, out);
  }
  std::uint64_t filesystem() const override { return below_->filesystem(); }
  Result<Position> next_data(const RequestContext& context, Position at) const override {
    return below_->next_data(context, at);
  }
  void expect_sequential_reads() const override { below_->expect_sequential_reads(); }
  void will_need(Position begin, Position end) const override { below_->will_need(begin, end); }
  bool is_remote() const override { return below_->is_remote(); }
  std::uint64_t requested_bytes() const override { return below_->requested_bytes(); }
  Result<std::shared_ptr<const Source>> beside(const RequestContext& context, std::string_view suffix) const override {
    return below_->beside(context, suffix);
  }
  std::uint64_t generation() const override { return below_->generation(); }
  std::optional<SourceId> id() const override { return below_->id(); }
  std::optional<timespec> modified() const override { return below_->modified(); }
  std::optional<SourceOwner> owner() const override { return below_->owner(); }
  Result<std::shared_ptr<const Source>> grown(const RequestContext& context) const override {
    return below_->grown(context);
  }
  Result<void> check_unchanged(const RequestContext& context) const override {
    return below_->check_unchanged(context);
  }
  bool has_grown() const override { return below_->has_grown(); }
  bool is_removed() const override { return below_->is_removed(); }
  std::optional<Error> unreadable_in(Position begin, Position end) const override {
    return below_->unreadable_in(begin, end);
  }
  std::uint64_t kept_bytes(Position begin, Position end) const override { return below_->kept_bytes(begin, end); }

 protected:
  explicit ForwardingSource(std::shared_ptr<const Source> below) : below_(std::move(below)) {}
  const Source& below() const { return *below_; }

 private:
  const std::shared_ptr<const Source> below_;
};

// Bytes in memory, for tests, fuzzing and decoded metadata.
class MemorySource final : public Source {
 public:
  explicit MemorySource(Buffer bytes, std::string name = {}) : bytes_(std::move(bytes)), name_(std::move(name)) {}
  std::string_view name() const override { return name_; }
  std::uint64_t size() const override { return bytes_.size(); }
  Result<std::size_t> read_at(const RequestContext& context, Position at, MutableBytes out) const override;

 private:
  const Buffer bytes_;
  const std::string name_;
};

}  // namespace recordfs
