#include "fusefs/glue/mount_helper.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <utility>

#include "fusefs/glue/unmounting.h"

namespace recordfs {
namespace {

constexpr const char* kName = "recordfs-guard";

// The daemon's requests, one byte each.
constexpr char kPrepare = 'p';
constexpr char kMount = 'm';
constexpr char kUnmountIfUnused = 'u';
constexpr char kOpenLog = 'l';
constexpr char kGone = 'g';  // no answer
constexpr char kEnd = 'e';   // no answer

// The first byte of an answer. A text follows, and with kDone of kMount and kOpenLog a descriptor.
constexpr char kDone = 'y';
constexpr char kNotDone = 'n';

constexpr std::size_t kLongestAnswer = 8192;  // a path, or a reason

Error no_mount(std::string reason) { return {.code = Code::kIo, .detail = std::move(reason)}; }

// Room for one descriptor in a message, aligned as the kernel requires.
struct alignas(cmsghdr) Attachment {
  std::array<char, CMSG_SPACE(sizeof(int))> bytes{};
};

// `attached`: a descriptor, or -1. Returns whether the answer was sent.
bool answer(int line, char outcome, std::string_view text = {}, int attached = -1) {
  std::string packet(1, outcome);
  packet += text.substr(0, kLongestAnswer - 1);
  const auto size = static_cast<ssize_t>(packet.size());
  // A confined helper may call only send().
  if (attached < 0) return ::send(line, packet.data(), packet.size(), MSG_NOSIGNAL) == size;
  iovec part{packet.data(), packet.size()};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  Attachment attachment;
  message.msg_control = attachment.bytes.data();
  message.msg_controllen = attachment.bytes.size();
  cmsghdr* const header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof(int));
  std::memcpy(CMSG_DATA(header), &attached, sizeof(int));
  return ::sendmsg(line, &message, MSG_NOSIGNAL) == size;
}

struct Answer {
  char outcome = kNotDone;
  std::string text;
  Descriptor attached;
};

void send(const Descriptor& line, char request) {
  if (line) static_cast<void>(::send(line.number(), &request, 1, MSG_NOSIGNAL));
}

// Returns kNotDone without a text if the helper has ended.
Answer receive(const Descriptor& line) {
  std::string packet(kLongestAnswer, '\0');
  iovec part{packet.data(), packet.size()};
  msghdr message{};
  Attachment attachment;
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = attachment.bytes.data();
  message.msg_controllen = attachment.bytes.size();
  ssize_t got = -1;
  do {
    got = ::recvmsg(line.number(), &message, MSG_CMSG_CLOEXEC);
  } while (got < 0 && errno == EINTR);
  if (got < 1) return {};
  Answer answer{.outcome = packet.front(), .text = packet.substr(1, static_cast<std::size_t>(got) - 1), .attached = {}};
  const cmsghdr* const header = CMSG_FIRSTHDR(&message);
  if (header != nullptr && header->cmsg_type == SCM_RIGHTS && header->cmsg_len == CMSG_LEN(sizeof(int))) {
    int number = -1;
    std::memcpy(&number, CMSG_DATA(header), sizeof(int));
    answer.attached = Descriptor(number);
  }
  return answer;
}

// As receive().
Answer ask(const Descriptor& line, char request) {
  send(line, request);
  return receive(line);
}

Error reason_of(const Answer& answer) {
  return no_mount(answer.text.empty() ? "the process that mounts has ended" : answer.text);
}

// Returns the id of the mount at `path`, unique while it exists, or 0 if unknown. Sends the daemon no request.
std::uint64_t mount_at(const std::string& path) {
  struct statx st {};
  const int flags = AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | AT_STATX_DONT_SYNC;
  if (::statx(AT_FDCWD, path.c_str(), flags, STATX_MNT_ID, &st) != 0) return 0;
  return (st.stx_mask & STATX_MNT_ID) != 0 ? st.stx_mnt_id : 0;
}

// The child's side.
class Server {
 public:
  Server(const MountHelper::Config& config, int line) : config_(config), line_(line) {}

  void run() {
    for (char request = 0; ::read(line_, &request, 1) == 1 && request != kEnd;) {
      if (!handle(request)) break;
    }
    const bool is_done = !is_mounted() || recordfs::unmount(point_.path, Unmounting::kAtOnce);
    // Without another process to start, this one can still become fusermount3.
    if (!is_done) ::execlp("fusermount3", "fusermount3", "-u", "-qz", "--", point_.path.c_str(), nullptr);
    if (point_.remove_directory) ::rmdir(point_.path.c_str());
  }

 private:
  bool is_mounted() const { return mount_ != 0 && mount_at(point_.path) == mount_; }

  // Returns false if the daemon has ended.
  bool handle(char request) {
    switch (request) {
      case kPrepare: return prepare();
      case kMount: return mount();
      case kUnmountIfUnused: {
        const bool is_done = is_mounted() && recordfs::unmount(point_.path, Unmounting::kIfUnused);
        return answer(is_done ? kDone : kNotDone);
      }
      case kOpenLog: return open_log();
      case kGone: mount_ = 0; return true;
      default: return true;
    }
  }

  bool prepare() {
    if (!point_.path.empty()) return answer(kNotDone);
    auto point = config_.prepare();
    if (!point) return answer(kNotDone, point.error().detail);
    point_ = std::move(*point);
    return answer(kDone, point_.path);
  }

  bool mount() {
    if (point_.path.empty() || has_tried_) return answer(kNotDone);
    has_tried_ = true;
    const auto device = config_.mount(point_.path);
    if (!device) return answer(kNotDone, device.error().detail);
    mount_ = mount_at(point_.path);
    // A current directory keeps its filesystem busy.
    if (::chdir("/") != 0) return false;
    // Not earlier: an automounter's trigger can be passed only in its process group. mount_at() passes it, too.
    ::setsid();
    const bool is_sent = recordfs::answer(line_, kDone, {}, device->number());
    if (config_.confine) config_.confine();
    return is_sent;
  }

  bool open_log() const {
    const Descriptor opened = config_.open_log ? config_.open_log() : Descriptor();
    return recordfs::answer(line_, opened ? kDone : kNotDone, {}, opened ? opened.number() : -1);
  }

  bool answer(char outcome, std::string_view text = {}) const { return recordfs::answer(line_, outcome, text); }

  const MountHelper::Config& config_;
  const int line_;
  MountHelper::Point point_;
  std::uint64_t mount_ = 0;  // its id; 0: none
  bool has_tried_ = false;
};

}  // namespace

MountHelper::MountHelper(const Config& config)
    : process_(kName, {}, [&config](int line) { Server(config, line).run(); }) {}

void MountHelper::start_preparing() { send(process_.line(), kPrepare); }

Result<std::string> MountHelper::prepared() {
  Answer answer = receive(process_.line());
  if (answer.outcome != kDone) return reason_of(answer);
  return std::move(answer.text);
}

void MountHelper::start_mounting() { send(process_.line(), kMount); }

Result<Descriptor> MountHelper::mounted() {
  Answer answer = receive(process_.line());
  if (answer.outcome != kDone || !answer.attached) return reason_of(answer);
  return std::move(answer.attached);
}

void MountHelper::is_gone() { send(process_.line(), kGone); }

void MountHelper::unmount() const { send(process_.line(), kEnd); }

Descriptor MountHelper::open_log() { return ask(process_.line(), kOpenLog).attached; }

bool MountHelper::unmount_if_unused() { return ask(process_.line(), kUnmountIfUnused).outcome == kDone; }

}  // namespace recordfs
