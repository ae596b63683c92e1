#include "fusefs/follow/file_watch.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>

#include <array>
#include <cstdint>

namespace recordfs {
namespace {

constexpr std::uint32_t kChanges = IN_MODIFY | IN_ATTRIB | IN_MOVE_SELF | IN_DELETE_SELF;
constexpr int kForgetsReads = -1;  // ignored by poll(2)

void raise(const Descriptor& event) {
  const std::uint64_t one = 1;
  static_cast<void>(::write(event.number(), &one, sizeof(one)) == sizeof(one));
}

// Reads all events, so that each wakes poll(2) once.
void drain(const Descriptor& from) {
  std::array<char, 4096> bytes{};
  while (from && ::read(from.number(), bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size())) {
  }
}

pollfd input(const Descriptor& from) {
  return {.fd = from ? from.number() : kForgetsReads, .events = POLLIN, .revents = 0};
}

}  // namespace

FileWatch::FileWatch(const std::vector<std::string>& paths)
    : changes_(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC)),
      wakes_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)),
      stops_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
  if (!changes_) return;
  for (const std::string& path : paths) ::inotify_add_watch(changes_.number(), path.c_str(), kChanges);
}

void FileWatch::wait() { static_cast<void>(wait(kForgetsReads)); }

bool FileWatch::wait(int output) {
  std::array<pollfd, 4> watched = {input(changes_), input(wakes_), input(stops_),
                                   pollfd{.fd = output, .events = 0, .revents = 0}};
  ::poll(watched.data(), watched.size(), static_cast<int>(kPoll.count()));
  drain(changes_);
  drain(wakes_);
  return (watched.back().revents & (POLLERR | POLLHUP)) == 0;
}

void FileWatch::rest(Milliseconds time) {
  pollfd stop = input(stops_);
  ::poll(&stop, 1, static_cast<int>(time.count()));
}

void FileWatch::wake() { raise(wakes_); }

void FileWatch::stop() { raise(stops_); }

bool FileWatch::is_stopped() const {
  pollfd stop = input(stops_);
  return ::poll(&stop, 1, 0) > 0;
}

}  // namespace recordfs
