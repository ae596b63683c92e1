// Source: the bytes of one container, read by position.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/buffer.h"
#include "core/base/bytes.h"
#include "core/base/descriptor.h"
#include "core/base/result.h"

struct stat;

namespace recordfs {

// Which file it is, and in which state.
struct FileIdentity {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::int64_t mtime_seconds = 0;
  std::int64_t mtime_nanoseconds = 0;
};

// Const, thread-safe, no position. What is read is a snapshot: the size never changes.
class Source {
 public:
  virtual ~Source() = default;

  // The file's name without directories, where it has one. A hint: names lie.
  virtual std::string_view name() const { return {}; }

  // Size in bytes when the source was opened.
  virtual std::uint64_t size() const = 0;

  // Fills `out` with the bytes from `at` on and returns how many there were: all of `out`, or fewer
  // where the snapshot ends. Fails with kIo, or with kChanged when the file under the snapshot is
  // shorter or another one now.
  virtual Result<std::size_t> read_at(Position at, MutableBytes out) const = 0;

  // The device of the filesystem that a read can wait for indefinitely, such as a network filesystem. 0: none.
  virtual std::uint64_t filesystem() const { return 0; }

  // The same bytes as read_at() gives of [at, at + size), without a copy where the source holds them in memory. Fails
  // as read_at() does, and with kOutOfMemory. The caller has checked `size` against Limits.
  virtual Result<Slice> view_at(Position at, std::uint64_t size) const;

  // The first place from `at` on where the source may have other bytes than zeros; size() where none follows. `at`
  // itself where that can't be told, as of all bytes that nobody left out on purpose. Fails as read_at() does.
  virtual Result<Position> next_data(Position at) const { return std::min(at, size()); }

  // Says that the source is about to be read from front to end. A hint: it changes nothing but the time that reads
  // take.
  virtual void expect_sequential_reads() const {}

  // Grows by one whenever the file was seen to have been touched since the last look: whoever keeps
  // "this was verified" for bytes that it reads again has to verify anew.
  virtual std::uint64_t generation() const { return 0; }

  // The file's when the source was opened; nullopt where a change to the bytes would not show in it.
  virtual std::optional<FileIdentity> identity() const { return std::nullopt; }

  // Whether the file under the snapshot was seen to have grown since it was opened.
  virtual bool has_grown() const { return false; }
};

// Exactly [at, at + size). Fails with kUnfinished at the end of the source when it ends earlier
// (nothing is allocated then), and as read_at does. The caller has checked `size` against Limits.
Result<Buffer> read_exactly(const Source& source, Position at, std::uint64_t size);

// At most `size` bytes from `at`: fewer only where the source ends.
Result<Buffer> read_up_to(const Source& source, Position at, std::uint64_t size);

// Where a search goes on that has found nothing in `seen`, which are the bytes before `at`: where they are zeros to the
// last one, behind the hole that may have begun with them, and otherwise at `at`. So a source is asked for holes only
// by who has read zeros out of it. Fails as Source::read_at does.
Result<Position> behind_hole(const Source& source, Position at, Bytes seen);

// A regular file or block device, read with pread so that a file cut off under us is an error and
// never a signal.
class FileSource final : public Source {
 public:
  // Opens `path` for reading. Fails with kIo (os_error set) when it can't be opened or is neither a
  // regular file nor a block device.
  static Result<std::shared_ptr<const FileSource>> open(const std::string& path);
  // The same for a file that is open for reading already. `name`: without directories.
  static Result<std::shared_ptr<const FileSource>> of(Descriptor descriptor, std::string name);
  // As open(), for a file that others go on appending to: its growing alone is no reason to verify anew (generation()).
  static Result<std::shared_ptr<const FileSource>> open_followed(const std::string& path);
  // The same file as it is now, where something was appended to it since this source was opened; null where nothing
  // was. What became of the file's name does not matter. Fails with kChanged when it was cut off or rewritten, with
  // kIo and kOutOfMemory.
  Result<std::shared_ptr<const FileSource>> grown() const;
  ~FileSource() override = default;
  FileSource(const FileSource&) = delete;
  FileSource& operator=(const FileSource&) = delete;

  std::string_view name() const override { return name_; }
  std::uint64_t size() const override { return size_; }
  Result<std::size_t> read_at(Position at, MutableBytes out) const override;
  std::uint64_t filesystem() const override { return filesystem_; }
  Result<Position> next_data(Position at) const override;
  void expect_sequential_reads() const override;
  std::uint64_t generation() const override { return generation_.load(std::memory_order_acquire); }

  std::optional<FileIdentity> identity() const override;
  bool has_grown() const override { return grown_.load(std::memory_order_relaxed); }

  // What fstat said when the source was opened.
  struct Status {
    std::uint64_t device = 0;
    std::uint64_t inode = 0;
    std::uint32_t mode = 0;
    std::uint32_t uid = 0;
    std::uint32_t gid = 0;
    std::int64_t mtime_seconds = 0;
    std::int64_t mtime_nanoseconds = 0;
  };
  const Status& status() const { return status_; }

  // How many bytes the process has read from all files so far.
  static std::uint64_t bytes_read() { return bytes_read_.load(std::memory_order_relaxed); }

 private:
  // The change time too: a program can put the modification time back, this one it can't.
  struct Stamp {
    std::uint64_t size = 0;
    std::int64_t mtime_seconds = 0;
    std::int64_t mtime_nanoseconds = 0;
    std::int64_t ctime_seconds = 0;
    std::int64_t ctime_nanoseconds = 0;
    bool operator==(const Stamp&) const = default;
  };
  struct Ends {
    Buffer first, last;
  };

  FileSource(std::string name, Descriptor descriptor, std::uint64_t size, Status status);

  Result<std::size_t> read_descriptor(Position at, MutableBytes out) const;
  Result<Ends> read_ends() const;
  void expect_reads_of_the_end() const;
  Result<bool> ends_are_same() const;
  Position last_known_data() const;
  Result<Stamp> stamp() const;
  static Stamp stamp_of(const struct stat& st, std::uint64_t device_size);
  // DESIGN §1 rule 8: when the stamp has moved, the ends of the snapshot are compared with what was there.
  Result<void> check_unchanged() const;

  static inline std::atomic<std::uint64_t> bytes_read_{0};

  const std::string name_;
  const Descriptor descriptor_;
  const std::uint64_t size_;
  const Status status_;
  const std::uint64_t filesystem_;
  Ends ends_;  // written once, before the source is shared, as is the next
  bool is_followed_ = false;
  mutable std::mutex mutex_;
  mutable Stamp seen_;                        // guarded by mutex_; what the file looked like last
  mutable bool is_settled_ = false;           // the same; a change behind it would have another stamp
  mutable std::atomic<bool> changed_{false};  // sticks
  mutable std::atomic<std::uint64_t> generation_{0};
  mutable std::atomic<bool> grown_{false};
};

// Bytes in memory, for tests, fuzzing and metadata that was decoded.
class MemorySource final : public Source {
 public:
  explicit MemorySource(Buffer bytes, std::string name = {}) : bytes_(std::move(bytes)), name_(std::move(name)) {}
  std::string_view name() const override { return name_; }
  std::uint64_t size() const override { return bytes_.size(); }
  Result<std::size_t> read_at(Position at, MutableBytes out) const override;

 private:
  const Buffer bytes_;
  const std::string name_;
};

}  // namespace recordfs
