#include "tests/faults/fault.h"

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>

namespace recordfs::faults {
namespace {

constexpr std::int64_t kLongAgo = 1'000'000'000;
constexpr std::size_t kShortBytes = 7;  // returned by a short read, or
constexpr std::size_t kShortPart = 16;  // of the bytes requested, one in so many

void set_time(const std::filesystem::path& path) {
  const struct timespec times[2] = {{kLongAgo, 0}, {kLongAgo, 0}};
  static_cast<void>(::utimensat(AT_FDCWD, path.c_str(), times, 0));
}

std::string other_than(std::string bytes) {
  for (char& byte : bytes) byte = static_cast<char>(~byte);
  return bytes;
}

void write(const std::filesystem::path& path, std::string_view bytes, std::ios::openmode mode = std::ios::trunc) {
  std::ofstream(path, std::ios::binary | std::ios::out | mode) << bytes;
}

ssize_t fail(int error) {
  errno = error;
  return -1;
}

}  // namespace

std::string_view to_string(Kind kind) {
  switch (kind) {
    case Kind::kEio: return "EIO";
    case Kind::kEioFromThen: return "EIO from then on";
    case Kind::kBadSector: return "bad sector";
    case Kind::kInterrupted: return "EINTR";
    case Kind::kAllInterrupted: return "EINTR from then on";
    case Kind::kShort: return "short read";
    case Kind::kAllShort: return "short reads from then on";
    case Kind::kTruncated: return "truncation";
    case Kind::kRewritten: return "rewriting";
    case Kind::kReplaced: return "replacement";
    case Kind::kGrown: return "growth";
  }
  return "";
}

FaultyFile::FaultyFile(std::filesystem::path path, std::string bytes)
    : path_(std::move(path)), bytes_(std::move(bytes)), happened_(std::make_shared<std::atomic<bool>>(false)) {
  restore();
}

// Writes into the same inode, so that the file still matches the index that was saved for it.
void FaultyFile::restore() {
  if (std::exchange(is_whole_, true)) return;
  write(path_, bytes_);
  set_time(path_);
}

void FaultyFile::change(Kind kind, std::uint64_t read) {
  is_whole_ = !is_change(kind);
  switch (kind) {
    case Kind::kTruncated: {
      const std::uint64_t sizes[] = {bytes_.size() / 2, bytes_.size() - 1, 0, bytes_.size() / 4};
      std::filesystem::resize_file(path_, sizes[read % std::size(sizes)]);
      return;
    }
    case Kind::kRewritten: write(path_, other_than(bytes_), std::ios::in); return;
    case Kind::kReplaced: {
      const auto beside = path_.parent_path() / "beside";
      write(beside, other_than(bytes_));
      std::filesystem::rename(beside, path_);
      return;
    }
    case Kind::kGrown: write(path_, bytes_.substr(0, 1 + read * 7 % bytes_.size()), std::ios::app); return;
    default: return;
  }
}

std::optional<ssize_t> FaultyFile::meet(Kind kind, std::uint64_t read, Read& now) {
  const bool is_first = now.number == read;
  if (now.number < read || (!is_first && !*happened_)) return std::nullopt;
  if (is_first) {
    bad_ = now.at;
    change(kind, read);
    *happened_ = true;
  }
  switch (kind) {
    case Kind::kEio: return is_first ? std::optional(fail(EIO)) : std::nullopt;
    case Kind::kEioFromThen: return fail(EIO);
    case Kind::kBadSector: {
      const bool hits = now.at <= bad_ && bad_ - now.at < static_cast<off_t>(now.size);
      return hits ? std::optional(fail(EIO)) : std::nullopt;
    }
    case Kind::kInterrupted: return is_first ? std::optional(fail(EINTR)) : std::nullopt;
    case Kind::kAllInterrupted: return fail(EINTR);
    case Kind::kShort:
      if (is_first) now.size = std::min<std::size_t>(now.size, 1);
      return std::nullopt;
    case Kind::kAllShort:
      now.size = std::min(now.size, std::max(kShortBytes, now.size / kShortPart));
      return std::nullopt;
    default: return std::nullopt;
  }
}

void FaultyFile::inject(Kind kind, std::uint64_t read) {
  *happened_ = false;
  hook_.reset();
  hook_ = std::make_unique<PreadHook>([this, kind, read](Read& now) { return meet(kind, read, now); });
}

}  // namespace recordfs::faults
