#include "core/base/source.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <iterator>
#include <system_error>

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <fmt/format.h>

#include "core/base/counted.h"
#include "core/base/request_context.h"
#include "core/base/unreadable_ranges.h"

namespace recordfs {
namespace {

// See statfs(2). Excludes overlayfs, whose layers may be on any filesystem.
constexpr std::uint64_t kLocal[] = {
    0xEF53,      // ext2, ext3, ext4
    0x58465342,  // XFS
    0x9123683E,  // Btrfs
    0xF2F52010,  // F2FS
    0x2FC12FC1,  // ZFS
    0xCA451A4E,  // bcachefs
    0x01021994,  // tmpfs
    0x858458F6,  // ramfs
    0x73717368,  // SquashFS
    0xE0F5E1E2,  // EROFS
    0x4D44,      // FAT
    0x2011BAB0,  // exFAT
    0x7366746E,  // NTFS
    0x9660,      // ISO 9660
    0x15013346,  // UDF
};

constexpr std::size_t kEndBytes = 4096;
constexpr std::uint64_t kEndBytesRead = 128u << 10;  // read in advance when a file is opened
constexpr std::size_t kPiece = 4u << 20;             // a long read checks for cancellation between pieces
constexpr std::uint64_t kMostUnchecked = 2u << 20;   // bytes of read_next()
constexpr int kMostInterruptions = 100;              // EINTR in one read before it fails
// The kernel sets a file's time stamp before it writes the bytes, and several writes may get the same stamp.
constexpr std::chrono::milliseconds kFineStamp{30};
constexpr std::chrono::milliseconds kCoarseStamp{2000};  // of filesystems without fractions of a second

// Returns whether any later change would give the file another stamp. True for a stamp far in the future, too: a wrong
// clock does not reach it.
bool is_long_before(std::chrono::system_clock::time_point clock, const timespec& changed) {
  const auto stamp = std::chrono::seconds(changed.tv_sec) + std::chrono::nanoseconds(changed.tv_nsec);
  const std::chrono::nanoseconds age = clock.time_since_epoch() - stamp;
  return age > (changed.tv_nsec == 0 ? kCoarseStamp : kFineStamp) || age < -kCoarseStamp;
}

Error rewritten() { return {Code::kChanged, 0, "the file was rewritten after it was opened"}; }

Error shorter(Position at, std::uint64_t size) {
  return {Code::kChanged, at,
          fmt::format("the file is shorter than when it was opened (it had {})", counted(size, "byte"))};
}

Error io_error(Position at, std::string_view action, int error) {
  return {Code::kIo, at, fmt::format("{}: {}", action, std::generic_category().message(error)), error};
}

std::size_t bytes_until_end(std::uint64_t size, Position at, std::size_t wanted) {
  if (at >= size) return 0;
  return static_cast<std::size_t>(std::min<std::uint64_t>(wanted, size - at));
}

// Reads in pieces. Returns the number of bytes, fewer at the end of the source.
Result<std::size_t> read_in_pieces(const RequestContext& context, const Source& source, Position at, MutableBytes out) {
  std::size_t done = 0;
  while (done < out.size()) {
    const std::size_t piece = std::min(kPiece, out.size() - done);
    TRY(context.spend(piece));
    ASSIGN_OR_RETURN(const auto got, source.read_at(context, at + done, out.subspan(done, piece)));
    done += got;
    if (got < piece) break;
  }
  return done;
}

}  // namespace

std::uint64_t filesystem_that_may_hang(int descriptor, std::uint64_t device) {
  struct statfs st {};
  if (::fstatfs(descriptor, &st) != 0) return device;
  return std::ranges::find(kLocal, static_cast<std::uint64_t>(st.f_type)) == std::end(kLocal) ? device : 0;
}

Result<Slice> Source::view_at(const RequestContext& context, Position at, std::uint64_t size) const {
  ASSIGN_OR_RETURN(auto bytes, read_up_to(context, *this, at, size));
  return owned(std::move(bytes));
}

Result<Buffer> read_up_to(const RequestContext& context, const Source& source, Position at, std::uint64_t size) {
  const std::uint64_t there = at < source.size() ? source.size() - at : 0;
  ASSIGN_OR_RETURN(auto buffer, Buffer::allocate(context, static_cast<std::size_t>(std::min(size, there))));
  ASSIGN_OR_RETURN(const auto got, read_in_pieces(context, source, at, buffer.span()));
  buffer.truncate(got);
  return buffer;
}

namespace {

// Fails if the source ends before `at + size`.
Result<void> check_end(const Source& source, Position at, std::uint64_t size) {
  const std::uint64_t there = at < source.size() ? source.size() - at : 0;
  if (size <= there) return {};
  return Error{
      Code::kUnfinished, source.size(),
      fmt::format("unexpected end of file: {} missing from the data at byte {}", counted(size - there, "byte"), at)};
}

Error shorter_than_reported(Position end) {
  return {Code::kUnfinished, end, "the file is shorter than its reported size"};
}

}  // namespace

Result<Buffer> read_exactly(const RequestContext& context, const Source& source, Position at, std::uint64_t size) {
  TRY(check_end(source, at, size));
  auto bytes = read_up_to(context, source, at, size);
  if (bytes && bytes->size() < size) return shorter_than_reported(at + bytes->size());
  return bytes;
}

Result<Slice> view_exactly(const RequestContext& context, const Source& source, Position at, std::uint64_t size) {
  TRY(check_end(source, at, size));
  auto slice = source.view_at(context, at, size);
  if (slice && slice->bytes.size() < size) return shorter_than_reported(at + slice->bytes.size());
  return slice;
}

Result<Position> data_after_hole(const RequestContext& context, const Source& source, Position at, Bytes seen) {
  const auto is_fill = [](std::byte byte) { return byte == kUnreadableFill; };
  const bool is_filled = context.fills_unreadable() && std::ranges::all_of(seen, is_fill);
  if (!are_zeros(seen) && !is_filled) return at;
  return source.next_data(context, at);
}

Result<std::shared_ptr<const FileSource>> FileSource::open(const std::string& path) {
  Descriptor descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  if (!descriptor) return io_error(0, "cannot open", errno);
  return of(std::move(descriptor), path.substr(path.rfind('/') + 1));
}

Result<std::shared_ptr<const FileSource>> FileSource::of(Descriptor descriptor, std::string name) {
  struct stat st {};
  const auto clock = std::chrono::system_clock::now();
  if (::fstat(descriptor.number(), &st) != 0) return io_error(0, "cannot get file status", errno);
  auto size = static_cast<std::uint64_t>(st.st_size);
  const bool sized =
      S_ISREG(st.st_mode) || (S_ISBLK(st.st_mode) && ::ioctl(descriptor.number(), BLKGETSIZE64, &size) == 0);
  if (!sized) return io_error(0, "not a regular file", S_ISDIR(st.st_mode) ? EISDIR : EINVAL);
  const FileState state = FileState::of(st);
  auto source = std::shared_ptr<FileSource>(new FileSource(std::move(name), std::move(descriptor), size, state));
  source->seen_ = stamp_of(st, size);
  source->expect_reads_of_the_end();
  ASSIGN_OR_RETURN(auto ends, source->read_ends());
  source->ends_ = std::move(ends);
  source->is_settled_ = is_long_before(clock, st.st_ctim);
  return std::shared_ptr<const FileSource>(std::move(source));
}

Result<std::shared_ptr<const FileSource>> FileSource::open_followed(const std::string& path) {
  auto opened = open(path);
  if (opened) std::const_pointer_cast<FileSource>(*opened)->is_followed_ = true;
  return opened;
}

Result<std::shared_ptr<const Source>> FileSource::grown(const RequestContext&) const {
  TRY(check_unchanged());
  ASSIGN_OR_RETURN(const auto now, stamp());
  if (now.state.size <= size_) return std::shared_ptr<const Source>{};
  Descriptor descriptor(::fcntl(descriptor_.number(), F_DUPFD_CLOEXEC, 0));
  if (!descriptor) return io_error(0, "cannot open", errno);
  ASSIGN_OR_RETURN(auto opened, of(std::move(descriptor), name_));
  std::const_pointer_cast<FileSource>(opened)->is_followed_ = is_followed_;
  return std::shared_ptr<const Source>(std::move(opened));
}

FileSource::FileSource(std::string name, Descriptor descriptor, std::uint64_t size, const FileState& state)
    : name_(std::move(name)),
      descriptor_(std::move(descriptor)),
      size_(size),
      state_(state),
      filesystem_(filesystem_that_may_hang(descriptor_.number(), state.device)) {}

// Writing to a device does not change its time stamp.
std::optional<SourceId> FileSource::id() const {
  return state_.is_regular() ? std::optional(state_.id()) : std::nullopt;
}

Result<std::size_t> FileSource::read_descriptor(Position at, MutableBytes out) const {
  std::size_t done = 0;
  int interruptions = 0;
  while (done < out.size()) {
    const ssize_t got =
        ::pread(descriptor_.number(), out.data() + done, out.size() - done, static_cast<off_t>(at + done));
    if (got < 0 && errno == EINTR && interruptions++ < kMostInterruptions) continue;
    if (got < 0) return io_error(at + done, "cannot read", errno);
    if (got == 0) {
      changed_.store(true, std::memory_order_relaxed);
      return shorter(at + done, size_);
    }
    done += static_cast<std::size_t>(got);
    bytes_read_.fetch_add(static_cast<std::uint64_t>(got), std::memory_order_relaxed);
  }
  return done;
}

Result<std::size_t> FileSource::read_at(const RequestContext& context, Position at, MutableBytes out) const {
  TRY(context.permit_wait_for(filesystem_));
  ASSIGN_OR_RETURN(auto got, read_descriptor(at, out.first(bytes_until_end(size_, at, out.size()))));
  // After the read, so that a change during the read is noticed.
  TRY(check_unchanged());
  return got;
}

Result<std::size_t> FileSource::read_next(const RequestContext& context, Position at, MutableBytes out) const {
  TRY(context.permit_wait_for(filesystem_));
  ASSIGN_OR_RETURN(auto got, read_descriptor(at, out.first(bytes_until_end(size_, at, out.size()))));
  if (at + got < size_ && unchecked_.fetch_add(got, std::memory_order_relaxed) + got < kMostUnchecked) return got;
  unchecked_.store(0, std::memory_order_relaxed);
  TRY(check_unchanged());
  return got;
}

Result<Position> FileSource::next_data(const RequestContext& context, Position at) const {
  if (at >= size_) return size_;
  TRY(context.permit_wait_for(filesystem_));
  const off_t found = ::lseek(descriptor_.number(), static_cast<off_t>(at), SEEK_DATA);
  const bool ends_with_hole = found < 0 && errno == ENXIO;
  // As in read_at(). A truncated file has no data there either.
  TRY(check_unchanged());
  if (found < 0 && !ends_with_hole) return at;
  const Position next = ends_with_hole ? size_ : std::min(static_cast<Position>(found), size_);
  // Ignores a filesystem that reports a hole where data was read.
  return next <= at || next > last_known_data() ? at : next;
}

// Formats look for a trailer at several places near the end. One request to a network filesystem serves all of them.
void FileSource::expect_reads_of_the_end() const {
  const std::uint64_t length = std::min(size_, kEndBytesRead);
  static_cast<void>(::posix_fadvise(descriptor_.number(), static_cast<off_t>(size_ - length),
                                    static_cast<off_t>(length), POSIX_FADV_WILLNEED));
}

// Doubles the kernel's read-ahead.
void FileSource::expect_sequential_reads() const {
  static_cast<void>(::posix_fadvise(descriptor_.number(), 0, 0, POSIX_FADV_SEQUENTIAL));
}

// Returns the position of the last byte known not to be zero; size_ if there is none. No hole ends after it.
Position FileSource::last_known_data() const {
  const Bytes last = ends_.last.view();
  const auto data = std::find_if(last.rbegin(), last.rend(), [](std::byte byte) { return byte != std::byte{0}; });
  return data == last.rend() ? size_ : size_ - static_cast<Position>(data - last.rbegin()) - 1;
}

// An end that cannot be read is empty, so that the rest of the file is accessible.
Result<void> FileSource::read_end(Position at, Buffer& out) const {
  auto got = read_descriptor(at, out.span());
  if (got) return {};
  if (!is_of_bytes(got.error())) return std::move(got).error();
  out.truncate(0);
  return {};
}

Result<FileSource::Ends> FileSource::read_ends() const {
  const auto length = static_cast<std::size_t>(std::min<std::uint64_t>(size_, kEndBytes));
  auto first = Buffer::allocate({}, length);
  auto last = Buffer::allocate({}, length);
  if (!first) return std::move(first).error();
  if (!last) return std::move(last).error();
  // Reads the last bytes first, because the next read is usually near the beginning.
  TRY(read_end(size_ - length, *last));
  TRY(read_end(0, *first));
  return Ends{std::move(*first), std::move(*last)};
}

Result<bool> FileSource::ends_are_same() const {
  ASSIGN_OR_RETURN(const auto now, read_ends());
  // An end that could not be read, then or now, tells nothing.
  const auto is_same = [](const Buffer& one, const Buffer& other) {
    return one.empty() || other.empty() || std::ranges::equal(one.view(), other.view());
  };
  return is_same(now.first, ends_.first) && is_same(now.last, ends_.last);
}

Result<FileSource::Stamp> FileSource::stamp() const {
  struct stat st {};
  if (::fstat(descriptor_.number(), &st) != 0) return io_error(0, "cannot get file status", errno);
  return stamp_of(st, size_);
}

FileSource::Stamp FileSource::stamp_of(const struct stat& st, std::uint64_t device_size) {
  Stamp stamp{FileState::of(st), static_cast<std::uint64_t>(st.st_nlink)};
  if (!stamp.state.is_regular()) stamp.state.size = device_size;
  return stamp;
}

Result<void> FileSource::check_unchanged() const {
  auto now = stamp();
  if (!now) return std::move(now).error();
  const std::lock_guard lock(mutex_);
  if (changed_.load(std::memory_order_relaxed)) return rewritten();
  if (is_settled_ && *now == seen_) return {};
  // Repeated, because another thread may have seen a newer state while this one waited for the lock. Reads the clock
  // first.
  const auto clock = std::chrono::system_clock::now();
  now = stamp();
  if (!now) return std::move(now).error();
  if (is_settled_ && *now == seen_) return {};
  if (now->state.size < size_) {
    changed_.store(true, std::memory_order_relaxed);
    return shorter(now->state.size, size_);
  }
  ASSIGN_OR_RETURN(const auto same, ends_are_same());
  if (!same) {
    changed_.store(true, std::memory_order_relaxed);
    return rewritten();
  }
  is_settled_ = is_long_before(clock, now->state.changed);
  if (*now == seen_) return {};
  const bool was_appended = now->state.size > seen_.state.size;
  seen_ = *now;
  if (now->state.size > size_) grown_.store(true, std::memory_order_relaxed);
  if (now->links == 0) removed_.store(true, std::memory_order_relaxed);
  if (!is_followed_ || !was_appended) generation_.fetch_add(1, std::memory_order_acq_rel);
  return {};
}

Result<std::size_t> MemorySource::read_at(const RequestContext&, Position at, MutableBytes out) const {
  const std::size_t length = bytes_until_end(bytes_.size(), at, out.size());
  if (length > 0) std::memcpy(out.data(), bytes_.data() + at, length);
  return length;
}

}  // namespace recordfs
