// The storage of URLs slow:PATH, linked into a second recordfs program and Python module, build/slow/. Shows local
// files as those of a slow network: a source has an id, and neither a path, an owner nor a descriptor; every read takes
// time; and only a thread that may wait for the storage's filesystem reads, lists or examines anything.
//
// The file `gate` beside a file holds a decimal number. A read that goes beyond that byte waits until the number is
// larger or the file is gone. As long as there is a file `stopped`, every call waits. A cancelled request waits no
// longer.
//
// RECORDFS_SLOW is the time of a read in milliseconds (default 30), and may go on with " jump": then only those reads
// take that long that begin farther than kStream from where the last one ended. RECORDFS_SLOW_LOG names a file to which
// each read appends its offset, its size, and 1 for a jump.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <mutex>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "core/base/descriptor.h"
#include "core/base/file_state.h"
#include "core/base/storage.h"

namespace recordfs {
namespace {

constexpr std::string_view kScheme = "slow";
constexpr std::uint64_t kFilesystem = 0x510;  // the device of no real one
constexpr std::uint64_t kStream = 1u << 20;
constexpr std::chrono::milliseconds kPoll{5};
constexpr std::size_t kLogBytes = 1u << 20;

std::string path_of(const Location& location) { return location.text().substr(kScheme.size() + 1); }

std::string folder_of(const std::string& path) { return path.substr(0, path.rfind('/')); }

Error cannot_open(int number) {
  Error error = system_error(number);
  error.detail.insert(0, "cannot open: ");
  return error;
}

// Waits as long as `is_held` returns true.
template <class Condition>
Result<void> wait_while(const RequestContext& context, const Condition& is_held) {
  while (is_held()) {
    TRY(context.permit_wait_for(kFilesystem));
    std::this_thread::sleep_for(kPoll);
  }
  return {};
}

// Succeeds once the storage answers.
Result<void> answer(const RequestContext& context, const std::string& folder) {
  TRY(context.permit_wait_for(kFilesystem));
  return wait_while(context, [&] { return ::access((folder + "/stopped").c_str(), F_OK) == 0; });
}

std::uint64_t gate(const std::string& folder) {
  std::uint64_t open_until = 0;
  if (std::ifstream file(folder + "/gate"); file >> open_until) return open_until;
  return UINT64_MAX;
}

// What all reads of the process have in common. Thread-safe.
class Network {
 public:
  Network() {
    const char* const speed = std::getenv("RECORDFS_SLOW");
    std::istringstream words(speed != nullptr ? speed : "30");
    std::int64_t milliseconds = 0;
    std::string jump;
    words >> milliseconds >> jump;
    latency_ = std::chrono::milliseconds(milliseconds);
    only_jumps_wait_ = jump == "jump";
    // Mapped, since the program closes what it did not open itself, and a confined thread cannot open files for
    // writing.
    const char* const log = std::getenv("RECORDFS_SLOW_LOG");
    const Descriptor file(log == nullptr ? -1 : ::open(log, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    if (!file || ::ftruncate(file.number(), kLogBytes) != 0) return;
    void* const mapped = ::mmap(nullptr, kLogBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.number(), 0);
    if (mapped != MAP_FAILED) log_ = {static_cast<char*>(mapped), kLogBytes};
  }

  // Takes the time of a read.
  void wait(std::uint64_t at, std::size_t size) {
    const bool jumps = note(at, size);
    if (jumps || !only_jumps_wait_) std::this_thread::sleep_for(latency_);
  }

 private:
  bool note(std::uint64_t at, std::size_t size) {
    const std::lock_guard lock(mutex_);
    const bool goes_on = stream_at_ != UINT64_MAX && at + kStream >= stream_at_ && at <= stream_at_ + kStream;
    stream_at_ = goes_on ? std::max(stream_at_, at + size) : at + size;
    const std::string line = fmt::format("{} {} {}\n", at, size, goes_on ? 0 : 1);
    if (line.size() <= log_.size()) {
      line.copy(log_.data(), line.size());
      log_ = log_.subspan(line.size());
    }
    return !goes_on;
  }

  std::chrono::milliseconds latency_{0};
  bool only_jumps_wait_ = false;
  std::mutex mutex_;                      // guards the following
  std::uint64_t stream_at_ = UINT64_MAX;  // where the last read ended; one file at a time is read in the tests
  std::span<char> log_;                   // the rest of it
};

Network& network() {
  static Network only;
  return only;
}

SourceId slow_id(const FileState& state) {
  SourceId id = state.id();
  id.source.insert(0, "slow-");
  return id;
}

class SlowSource final : public Source {
 public:
  static Result<std::shared_ptr<const Source>> of(Descriptor file, std::string path) {
    struct stat st {};
    if (::fstat(file.number(), &st) != 0) return system_error(errno);
    if (!S_ISREG(st.st_mode))
      return Error{
          .code = Code::kIo, .detail = "not a regular file", .os_error = S_ISDIR(st.st_mode) ? EISDIR : EINVAL};
    return std::shared_ptr<const Source>(new SlowSource(std::move(file), std::move(path), FileState::of(st)));
  }

  std::string_view name() const override { return std::string_view(path_).substr(path_.rfind('/') + 1); }
  std::uint64_t size() const override { return state_.size; }
  std::uint64_t filesystem() const override { return kFilesystem; }
  std::optional<SourceId> id() const override { return id_; }
  std::optional<timespec> modified() const override { return state_.modified; }
  bool has_grown() const override { return has_grown_.load(std::memory_order_relaxed); }

  Result<std::size_t> read_at(const RequestContext& context, Position at, MutableBytes out) const override {
    const std::string folder = folder_of(path_);
    const std::uint64_t end = std::min<std::uint64_t>(at + out.size(), size());
    if (at >= end) return std::size_t{0};
    TRY(answer(context, folder));
    TRY(wait_while(context, [&] { return end > gate(folder); }));
    network().wait(at, static_cast<std::size_t>(end - at));
    std::size_t done = 0;
    while (at + done < end) {
      const ssize_t got = ::pread(file_.number(), out.data() + done, static_cast<std::size_t>(end - at) - done,
                                  static_cast<off_t>(at + done));
      if (got < 0) return system_error(errno);
      if (got == 0) return shorter();
      done += static_cast<std::size_t>(got);
    }
    TRY(check_unchanged(context));
    return done;
  }

  Result<void> check_unchanged(const RequestContext&) const override {
    struct stat st {};
    if (::fstat(file_.number(), &st) != 0) return system_error(errno);
    const FileState now = FileState::of(st);
    if (now.size > size()) has_grown_.store(true, std::memory_order_relaxed);
    if (now.size < size()) return shorter();
    const bool is_same = now.size > size() || slow_id(now) == id_;
    return is_same ? Result<void>() : changed();
  }

  Result<std::shared_ptr<const Source>> grown(const RequestContext& context) const override {
    TRY(answer(context, folder_of(path_)));
    TRY(check_unchanged(context));
    if (!has_grown()) return std::shared_ptr<const Source>();
    return of(Descriptor(::fcntl(file_.number(), F_DUPFD_CLOEXEC, 0)), path_);
  }

 private:
  SlowSource(Descriptor file, std::string path, const FileState& state)
      : file_(std::move(file)), path_(std::move(path)), state_(state), id_(slow_id(state)) {}

  static Error changed() { return {.code = Code::kChanged, .detail = "the file was rewritten after it was opened"}; }

  static Error shorter() { return {.code = Code::kChanged, .detail = "the file is shorter than when it was opened"}; }

  const Descriptor file_;
  const std::string path_;
  const FileState state_;
  const SourceId id_;
  mutable std::atomic<bool> has_grown_{false};
};

class SlowStorage final : public Storage {
 public:
  Result<std::shared_ptr<const Source>> open(const RequestContext& context, const Location& location,
                                             Use) const override {
    std::string path = path_of(location);
    TRY(answer(context, folder_of(path)));
    Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (!file) return cannot_open(errno);
    return SlowSource::of(std::move(file), std::move(path));
  }

  Result<SourceStatus> status(const RequestContext& context, const Location& location) const override {
    const std::string path = path_of(location);
    TRY(answer(context, folder_of(path)));
    ASSIGN_OR_RETURN(auto status, local_storage().status(context, path));
    status.id.source.insert(0, "slow-");
    status.owner.reset();
    status.device = kFilesystem;
    return status;
  }

  Result<void> list(const RequestContext& context, const Location& directory, const Wanted& wanted,
                    const TakeEntry& take) const override {
    const std::string path = path_of(directory);
    TRY(answer(context, path));
    return local_storage().list(context, path, wanted, take);
  }

  std::uint64_t filesystem(const Location&, std::uint64_t) const override { return kFilesystem; }

  // Also includes the gate.
  std::string local_path(const Location& location) const override {
    const std::string path = path_of(location);
    return is_directory(path) ? path : folder_of(path);
  }
};

// Before main(), and when Python loads the module.
const bool is_added = [] {
  network();
  add_storage(std::string(kScheme), std::make_unique<SlowStorage>());
  return true;
}();

}  // namespace
}  // namespace recordfs
