#include "core/dataset/pipe_input.h"

#include <fcntl.h>
#include <sys/mman.h>
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
#include "core/base/write_all.h"

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

Error cannot_save(const std::string& name, const std::string& directory, int error) {
  return input_error(
      fmt::format("cannot save {} in {}: {} (try: TMPDIR=DIRECTORY)", name, directory, std::strerror(error)));
}

// Fails with the system's error.
Result<Descriptor> unnamed_file(const std::string& directory) {
  std::string name = directory + "/recordfs-XXXXXX";
  Descriptor file(::mkostemp(name.data(), O_CLOEXEC));
  if (!file) return system_error(errno);
  ::unlink(name.c_str());
  return file;
}

// Fails with the system's error.
Result<Descriptor> file_in_memory() {
  Descriptor file(::memfd_create("recordfs", MFD_CLOEXEC));
  if (!file) return system_error(errno);
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

bool is_pipe(const std::string& path) {
  struct stat st {};
  return path == kStandardInput || (::stat(path.c_str(), &st) == 0 && S_ISFIFO(st.st_mode));
}

std::string PipeInput::name() const { return path_ == kStandardInput ? "standard input" : "the pipe"; }

void PipeInput::make_room() {
  if (path_ == kStandardInput && is_whole_file()) return;
  place_ = temporary_directory();
  file_ = unnamed_file(place_);
}

Result<std::string> PipeInput::path() {
  const std::lock_guard lock(mutex_);
  if (!result_) result_ = saved();
  return *result_;
}

Result<std::string> PipeInput::saved() {
  const bool is_input = path_ == kStandardInput;
  if (is_input && is_whole_file()) return std::string(kOwnInput);
  if (file_ && !*file_) file_ = file_in_memory();
  if (!file_) return cannot_save(name(), place_, file_.error().os_error);
  Descriptor pipe;
  if (!is_input) pipe = Descriptor(::open(path_.c_str(), O_RDONLY | O_CLOEXEC));
  if (!is_input && !pipe) return system_error(errno);
  TRY(save(is_input ? STDIN_FILENO : pipe.number()));
  mark_as_passing(*file_);
  return fmt::format("/proc/self/fd/{}", file_->number());
}

Result<void> PipeInput::save(int pipe) {
  std::vector<std::byte> piece(kInputPiece);
  std::uint64_t size = 0;
  for (;;) {
    const ssize_t got = ::read(pipe, piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return input_error(fmt::format("cannot read {}: {}", name(), std::strerror(errno)));
    if (got == 0) return {};
    const auto bytes = Bytes(piece).first(static_cast<std::size_t>(got));
    if (bytes.size() > most_bytes_ - size) {
      return input_error(fmt::format("{} has more than {} bytes (see --max-input)", name(), most_bytes_));
    }
    if (const int error = write_all(file_->number(), bytes); error != 0) return cannot_save(name(), place_, error);
    size += bytes.size();
  }
}

}  // namespace recordfs
