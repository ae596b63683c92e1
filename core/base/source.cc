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

constexpr std::size_t kPiece = 4u << 20;            // a long read checks for cancellation between pieces
constexpr std::uint64_t kMostUnchecked = 2u << 20;  // bytes of read_next()
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

namespace {

Result<Descriptor> open_descriptor(const std::string& path) {
  Descriptor descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  if (!descriptor) return file_error(0, "cannot open", errno);
  return descriptor;
}

}  // namespace

Result<std::shared_ptr<const FileSource>> FileSource::open(const std::string& path) {
  ASSIGN_OR_RETURN(auto descriptor, open_descriptor(path));
  return of(std::move(descriptor), path.substr(path.rfind('/') + 1));
}

Result<std::shared_ptr<const FileSource>> FileSource::open_followed(const std::string& path) {
  ASSIGN_OR_RETURN(auto descriptor, open_descriptor(path));
  return of(std::move(descriptor), path.substr(path.rfind('/') + 1), true);
}

Result<std::shared_ptr<const FileSource>> FileSource::of(Descriptor descriptor, std::string name, bool is_followed) {
  struct stat st {};
  const auto clock = std::chrono::system_clock::now();
  if (::fstat(descriptor.number(), &st) != 0) return file_error(0, "cannot get file status", errno);
  auto size = static_cast<std::uint64_t>(st.st_size);
  const bool sized =
      S_ISREG(st.st_mode) || (S_ISBLK(st.st_mode) && ::ioctl(descriptor.number(), BLKGETSIZE64, &size) == 0);
  if (!sized) return file_error(0, "not a regular file", S_ISDIR(st.st_mode) ? EISDIR : EINVAL);
  auto source =
      std::shared_ptr<FileSource>(new FileSource(std::move(name), std::move(descriptor), size, st, is_followed));
  TRY(source->file_.begin(clock));
  return std::shared_ptr<const FileSource>(std::move(source));
}

Result<std::shared_ptr<const Source>> FileSource::grown(const RequestContext&) const {
  TRY(file_.check_unchanged());
  ASSIGN_OR_RETURN(const auto now, file_.present_size());
  if (now <= size()) return std::shared_ptr<const Source>{};
  Descriptor descriptor(::fcntl(file_.descriptor(), F_DUPFD_CLOEXEC, 0));
  if (!descriptor) return file_error(0, "cannot open", errno);
  ASSIGN_OR_RETURN(auto opened, of(std::move(descriptor), name_, file_.is_followed()));
  return std::shared_ptr<const Source>(std::move(opened));
}

FileSource::FileSource(std::string name, Descriptor descriptor, std::uint64_t size, const struct stat& now,
                       bool is_followed)
    : name_(std::move(name)),
      file_(std::move(descriptor), size, now, is_followed),
      filesystem_(filesystem_that_may_hang(file_.descriptor(), file_.state().device)) {}

// Writing to a device does not change its time stamp.
std::optional<SourceId> FileSource::id() const {
  return file_.state().is_regular() ? std::optional(file_.state().id()) : std::nullopt;
}

std::optional<SourceOwner> FileSource::owner() const {
  return SourceOwner{file_.state().uid, file_.state().gid, file_.state().mode};
}

Result<std::size_t> FileSource::read_at(const RequestContext& context, Position at, MutableBytes out) const {
  TRY(context.permit_wait_for(filesystem_));
  ASSIGN_OR_RETURN(auto got, file_.read(at, out.first(bytes_until_end(size(), at, out.size()))));
  // After the read, so that a change during the read is noticed.
  TRY(file_.check_unchanged());
  return got;
}

Result<std::size_t> FileSource::read_next(const RequestContext& context, Position at, MutableBytes out) const {
  TRY(context.permit_wait_for(filesystem_));
  ASSIGN_OR_RETURN(auto got, file_.read(at, out.first(bytes_until_end(size(), at, out.size()))));
  if (at + got < size() && unchecked_.fetch_add(got, std::memory_order_relaxed) + got < kMostUnchecked) return got;
  unchecked_.store(0, std::memory_order_relaxed);
  TRY(file_.check_unchanged());
  return got;
}

Result<Position> FileSource::next_data(const RequestContext& context, Position at) const {
  if (at >= size()) return size();
  TRY(context.permit_wait_for(filesystem_));
  const off_t found = ::lseek(file_.descriptor(), static_cast<off_t>(at), SEEK_DATA);
  const bool ends_with_hole = found < 0 && errno == ENXIO;
  // As in read_at(). A truncated file has no data there either.
  TRY(file_.check_unchanged());
  if (found < 0 && !ends_with_hole) return at;
  const Position next = ends_with_hole ? size() : std::min(static_cast<Position>(found), size());
  // Ignores a filesystem that reports a hole where data was read.
  return next <= at || next > file_.last_known_data() ? at : next;
}

// Doubles the kernel's read-ahead.
void FileSource::expect_sequential_reads() const {
  static_cast<void>(::posix_fadvise(file_.descriptor(), 0, 0, POSIX_FADV_SEQUENTIAL));
}

Result<std::size_t> MemorySource::read_at(const RequestContext&, Position at, MutableBytes out) const {
  const std::size_t length = bytes_until_end(bytes_.size(), at, out.size());
  if (length > 0) std::memcpy(out.data(), bytes_.data() + at, length);
  return length;
}

}  // namespace recordfs
