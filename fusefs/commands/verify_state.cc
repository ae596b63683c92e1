#include "fusefs/commands/verify_state.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "core/hash/highway.h"
#include "fusefs/commands/verification.h"

namespace recordfs {
namespace {

// Two header lines: the type of the file, then the version of the checks and a hash of the rest. For each file follow
// its numbers, a tab, its name, and a zero byte.
constexpr std::string_view kFirstLine = "recordfs verify state 1\n";
constexpr std::string_view kTorn = "ignoring a corrupt state: reading all files";
constexpr std::string_view kOtherChecks = "ignoring the state of another version: reading all files";

std::string absolute(const std::string& path) {
  std::error_code failure;
  const auto from_root = std::filesystem::absolute(path, failure);
  return failure ? path : from_root.lexically_normal().string();
}

FileStamp state_of(const struct stat& st) {
  return {.device = st.st_dev,
          .inode = st.st_ino,
          .size = static_cast<std::uint64_t>(st.st_size),
          .mtime_seconds = st.st_mtim.tv_sec,
          .mtime_nanoseconds = st.st_mtim.tv_nsec};
}

std::string head(std::string_view rows) {
  return fmt::format("{}{} {:016x}\n", kFirstLine, kVersionOfChecks, highway_hash(as_bytes(rows)));
}

// Removes a decimal number and the character after it.
template <class Number>
bool take(std::string_view& text, Number& number, char after) {
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
  if (parsed.ec != std::errc{} || parsed.ptr == text.data() + text.size() || *parsed.ptr != after) return false;
  text.remove_prefix(static_cast<std::size_t>(parsed.ptr - text.data()) + 1);
  return true;
}

bool take(std::string_view& text, std::string& name, Passed& passed) {
  unsigned is_container = 0;
  const bool has_numbers = take(text, passed.file.device, ' ') && take(text, passed.file.inode, ' ') &&
                           take(text, passed.file.size, ' ') && take(text, passed.file.mtime_seconds, ' ') &&
                           take(text, passed.file.mtime_nanoseconds, ' ') && take(text, passed.when, ' ') &&
                           take(text, is_container, '\t');
  const std::size_t end = text.find('\0');
  if (!has_numbers || end == std::string_view::npos) return false;
  passed.is_container = is_container != 0;
  name = text.substr(0, end);
  text.remove_prefix(end + 1);
  return true;
}

// Returns all rows, or none and why in `remark`.
std::map<std::string, Passed> decode(std::string_view text, std::string& remark) {
  std::map<std::string, Passed> all;
  text.remove_prefix(kFirstLine.size());
  unsigned version = 0;
  remark = kTorn;
  if (!take(text, version, ' ')) return all;
  if (version != kVersionOfChecks) {
    remark = kOtherChecks;
    return all;
  }
  const std::size_t line_end = text.find('\n');
  if (line_end == std::string_view::npos) return all;
  const std::string_view hash = text.substr(0, line_end);
  text.remove_prefix(line_end + 1);
  if (hash != fmt::format("{:016x}", highway_hash(as_bytes(text)))) return all;
  while (!text.empty()) {
    std::string name;
    Passed passed;
    if (!take(text, name, passed)) return {};
    all.insert_or_assign(std::move(name), passed);
  }
  remark.clear();
  return all;
}

Error system_error(std::string_view action) {
  return {.code = Code::kIo, .detail = fmt::format("{}: {}", action, std::strerror(errno)), .os_error = errno};
}

Result<void> write_all(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t put = ::write(file, bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return system_error("cannot write");
    bytes.remove_prefix(static_cast<std::size_t>(put));
  }
  if (::fsync(file) != 0 && errno != EINVAL) return system_error("cannot write");
  return {};
}

}  // namespace

std::optional<FileStamp> state_of(const std::string& path) {
  struct stat st {};
  if (::stat(path.c_str(), &st) != 0) return std::nullopt;
  return state_of(st);
}

Result<std::unique_ptr<VerifyState>> VerifyState::read(const std::string& path, std::string& remark) {
  auto state = std::unique_ptr<VerifyState>(new VerifyState(absolute(path)));
  struct stat st {};
  if (::stat(path.c_str(), &st) != 0) {
    if (errno == ENOENT) return state;
    return system_error("cannot open");
  }
  const Error foreign{.code = Code::kNoContainer, .detail = "not a state file of recordfs verify"};
  if (!S_ISREG(st.st_mode)) return foreign;
  std::ifstream file(path, std::ios::binary);
  if (!file) return system_error("cannot open");
  std::string first(kFirstLine.size(), '\0');
  file.read(first.data(), static_cast<std::streamsize>(first.size()));
  first.resize(static_cast<std::size_t>(file.gcount()));
  if (!kFirstLine.starts_with(first)) return foreign;
  std::ostringstream rest;
  if (file) rest << file.rdbuf();
  if (first.empty()) return state;
  if (first.size() < kFirstLine.size()) {
    remark = kTorn;
  } else {
    state->passed_ = decode(first + rest.str(), remark);
  }
  return state;
}

std::optional<Passed> VerifyState::find(const std::string& path, const FileStamp& now) const {
  const std::string name = absolute(path);
  const std::lock_guard lock(mutex_);
  const auto found = passed_.find(name);
  if (found == passed_.end() || found->second.file != now) return std::nullopt;
  return found->second;
}

void VerifyState::set(const std::string& path, const Passed& passed) {
  std::string name = absolute(path);
  const std::lock_guard lock(mutex_);
  passed_.insert_or_assign(std::move(name), passed);
}

void VerifyState::remove(const std::string& path) {
  const std::string name = absolute(path);
  const std::lock_guard lock(mutex_);
  passed_.erase(name);
}

std::string VerifyState::encode() const {
  std::string rows;
  const std::lock_guard lock(mutex_);
  for (const auto& [name, passed] : passed_) {
    const FileStamp& file = passed.file;
    rows += fmt::format("{} {} {} {} {} {} {}\t{}", file.device, file.inode, file.size, file.mtime_seconds,
                        file.mtime_nanoseconds, passed.when, passed.is_container ? 1 : 0, name);
    rows += '\0';
  }
  return head(rows) + rows;
}

Result<void> VerifyState::save() {
  {
    const std::lock_guard lock(mutex_);
    std::erase_if(passed_, [](const auto& one) {
      struct stat st {};
      return ::lstat(one.first.c_str(), &st) != 0 && (errno == ENOENT || errno == ENOTDIR);
    });
  }
  std::string unfinished = path_ + ".XXXXXX";
  const int file = ::mkostemp(unfinished.data(), O_CLOEXEC);
  if (file < 0) return system_error("cannot save");
  auto written = write_all(file, encode());
  ::close(file);
  if (written && ::rename(unfinished.c_str(), path_.c_str()) != 0) written = system_error("cannot save");
  if (!written) ::unlink(unfinished.c_str());
  return written;
}

}  // namespace recordfs
