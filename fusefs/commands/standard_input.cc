#include "fusefs/commands/standard_input.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <system_error>
#include <vector>

#include <fmt/format.h>

#include "core/base/bytes.h"
#include "fusefs/commands/command_context.h"

namespace recordfs {
namespace {

constexpr std::size_t kInputPiece = 1u << 20;
constexpr const char* kOwnInput = "/proc/self/fd/0";

Error input_error(std::string detail) { return {.code = Code::kIo, .detail = std::move(detail)}; }

// Returns whether standard input is a file from its start, which needs no copy.
bool is_whole_file() {
  struct stat st {};
  return ::fstat(STDIN_FILENO, &st) == 0 && S_ISREG(st.st_mode) && ::lseek(STDIN_FILENO, 0, SEEK_CUR) == 0 &&
         ::access(kOwnInput, R_OK) == 0;
}

std::string temporary_directory() {
  std::error_code failed;
  const auto named = std::filesystem::temp_directory_path(failed);
  return failed ? "/tmp" : named.string();
}

Error cannot_save(const std::string& directory, int error) {
  return input_error(
      fmt::format("cannot save standard input in {}: {} (try: TMPDIR=DIRECTORY)", directory, std::strerror(error)));
}

Result<Descriptor> unnamed_file(const std::string& directory) {
  std::string name = directory + "/recordfs-XXXXXX";
  Descriptor file(::mkostemp(name.data(), O_CLOEXEC));
  if (!file) return cannot_save(directory, errno);
  ::unlink(name.c_str());
  return file;
}

// A time stamp in the future keeps the index of a file that is about to go from being saved.
void mark_as_passing(const Descriptor& file) {
  constexpr std::time_t kDay = 86'400;  // seconds
  const std::array<timespec, 2> times{
      {{.tv_sec = 0, .tv_nsec = UTIME_OMIT}, {.tv_sec = ::time(nullptr) + kDay, .tv_nsec = 0}}};
  ::futimens(file.number(), times.data());
}

}  // namespace

Result<std::string> StandardInput::path() {
  const std::lock_guard lock(mutex_);
  if (!result_) result_ = saved();
  return *result_;
}

Result<std::string> StandardInput::saved() {
  if (is_whole_file()) return std::string(kOwnInput);
  const std::string directory = temporary_directory();
  ASSIGN_OR_RETURN(file_, unnamed_file(directory));
  std::vector<std::byte> piece(kInputPiece);
  std::uint64_t size = 0;
  for (;;) {
    const ssize_t got = ::read(STDIN_FILENO, piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return input_error(fmt::format("cannot read standard input: {}", std::strerror(errno)));
    if (got == 0) break;
    const auto bytes = Bytes(piece).first(static_cast<std::size_t>(got));
    if (bytes.size() > most_bytes_ - size) {
      return input_error(fmt::format("standard input has more than {} bytes (see --max-input)", most_bytes_));
    }
    if (const int error = write_all(file_.number(), bytes); error != 0) return cannot_save(directory, error);
    size += bytes.size();
  }
  mark_as_passing(file_);
  return fmt::format("/proc/self/fd/{}", file_.number());
}

}  // namespace recordfs
