#include "core/base/file_snapshot.h"

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include "core/base/counted.h"
#include "core/base/unreadable_ranges.h"

namespace recordfs {
namespace {

constexpr std::size_t kEndBytes = 4096;
constexpr std::uint64_t kEndBytesRead = 128u << 10;  // read in advance when a file is opened
constexpr int kMostInterruptions = 100;              // EINTR in one read before it fails
// The kernel sets a file's time stamp before it writes the bytes, and several writes may get the same stamp.
constexpr std::chrono::milliseconds kUsualStamp{30};
constexpr std::chrono::milliseconds kWholeSecondStamp{2000};  // of filesystems without fractions of a second

// Returns whether any later change would give the file another stamp. True for a stamp far in the future, too: a wrong
// clock does not reach it.
bool is_long_before(std::chrono::system_clock::time_point clock, const timespec& changed) {
  const auto stamp = std::chrono::seconds(changed.tv_sec) + std::chrono::nanoseconds(changed.tv_nsec);
  const std::chrono::nanoseconds age = clock.time_since_epoch() - stamp;
  return age > (changed.tv_nsec == 0 ? kWholeSecondStamp : kUsualStamp) || age < -kWholeSecondStamp;
}

Error rewritten() { return {Code::kChanged, 0, "the file was rewritten after it was opened"}; }

Error shorter(Position at, std::uint64_t size) {
  return {Code::kChanged, at,
          fmt::format("the file is shorter than when it was opened (it had {})", counted(size, "byte"))};
}

}  // namespace

Error file_error(Position at, std::string_view action, int error) {
  return {Code::kIo, at, fmt::format("{}: {}", action, std::generic_category().message(error)), error};
}

FileSnapshot::FileSnapshot(Descriptor descriptor, std::uint64_t size, const struct stat& now, bool is_followed)
    : descriptor_(std::move(descriptor)),
      size_(size),
      state_(FileState::of(now)),
      is_followed_(is_followed),
      seen_(stamp_of(now)) {}

Result<void> FileSnapshot::begin(std::chrono::system_clock::time_point clock) {
  // Formats look for a trailer at several places near the end. One request to a network filesystem serves all of them.
  const std::uint64_t length = std::min(size_, kEndBytesRead);
  static_cast<void>(::posix_fadvise(descriptor_.number(), static_cast<off_t>(size_ - length),
                                    static_cast<off_t>(length), POSIX_FADV_WILLNEED));
  ASSIGN_OR_RETURN(ends_, read_ends());
  is_settled_ = is_long_before(clock, state_.changed);
  return {};
}

Result<std::size_t> FileSnapshot::read(Position at, MutableBytes out) const {
  std::size_t done = 0;
  int interruptions = 0;
  while (done < out.size()) {
    const ssize_t got =
        ::pread(descriptor_.number(), out.data() + done, out.size() - done, static_cast<off_t>(at + done));
    if (got < 0 && errno == EINTR && interruptions++ < kMostInterruptions) continue;
    if (got < 0) return file_error(at + done, "cannot read", errno);
    if (got == 0) {
      changed_.store(true, std::memory_order_relaxed);
      return shorter(at + done, size_);
    }
    done += static_cast<std::size_t>(got);
    bytes_read_.fetch_add(static_cast<std::uint64_t>(got), std::memory_order_relaxed);
  }
  return done;
}

// Returns the position of the last byte known not to be zero; size_ if there is none. No hole ends after it.
Position FileSnapshot::last_known_data() const {
  const Bytes last = ends_.last.view();
  const auto data = std::find_if(last.rbegin(), last.rend(), [](std::byte byte) { return byte != std::byte{0}; });
  return data == last.rend() ? size_ : size_ - static_cast<Position>(data - last.rbegin()) - 1;
}

// An end that cannot be read is empty, so that the rest of the file is accessible.
Result<void> FileSnapshot::read_end(Position at, Buffer& out) const {
  auto got = read(at, out.span());
  if (got) return {};
  if (!is_of_bytes(got.error())) return std::move(got).error();
  out.truncate(0);
  return {};
}

Result<FileSnapshot::Ends> FileSnapshot::read_ends() const {
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

Result<bool> FileSnapshot::ends_are_same() const {
  ASSIGN_OR_RETURN(const auto now, read_ends());
  // An end that could not be read, then or now, tells nothing.
  const auto is_same = [](const Buffer& one, const Buffer& other) {
    return one.empty() || other.empty() || std::ranges::equal(one.view(), other.view());
  };
  return is_same(now.first, ends_.first) && is_same(now.last, ends_.last);
}

FileSnapshot::Stamp FileSnapshot::stamp_of(const struct stat& st) const {
  Stamp stamp{FileState::of(st), static_cast<std::uint64_t>(st.st_nlink)};
  if (!stamp.state.is_regular()) stamp.state.size = size_;
  return stamp;
}

Result<FileSnapshot::Stamp> FileSnapshot::stamp() const {
  struct stat st {};
  if (::fstat(descriptor_.number(), &st) != 0) return file_error(0, "cannot get file status", errno);
  return stamp_of(st);
}

Result<std::uint64_t> FileSnapshot::present_size() const {
  ASSIGN_OR_RETURN(const auto now, stamp());
  return now.state.size;
}

Result<void> FileSnapshot::check_unchanged() const {
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

}  // namespace recordfs
