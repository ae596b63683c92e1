#include "fusefs/ready_notification.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdlib>
#include <cstring>

namespace recordfs {
namespace {

// Returns everything that can be read until all writers have closed the other end.
std::string all_of(int descriptor) {
  std::string text;
  std::array<char, 100> bytes{};
  for (ssize_t got = 0; (got = ::read(descriptor, bytes.data(), bytes.size())) > 0;) {
    text.append(bytes.data(), static_cast<std::size_t>(got));
  }
  ::close(descriptor);
  return text;
}

TEST(ReadyNotification, MountedIsReportedByANewlineAndEndOfFile) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe(ends.data()), 0);
  auto ready = ReadyNotification::of(ends[1]);
  ASSERT_TRUE(ready);
  ready->notify("file on mnt", false);
  EXPECT_EQ(all_of(ends[0]), "\n") << "while the object still exists";
}

TEST(ReadyNotification, FailureIsReportedByEndOfFileOnly) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe(ends.data()), 0);
  { const auto ready = ReadyNotification::of(ends[1]); }
  EXPECT_EQ(all_of(ends[0]), "");
}

TEST(ReadyNotification, InvalidDescriptorIsRefused) {
  const int number = ::open("/dev/null", O_RDONLY);
  ::close(number);
  const auto ready = ReadyNotification::of(number);
  ASSERT_FALSE(ready);
  EXPECT_EQ(ready.error().detail, std::strerror(EBADF));
}

// A notification socket like systemd's, with an abstract name or a path.
class Listener {
 public:
  explicit Listener(const std::string& name) : socket_(::socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, name.data(), name.size());
    if (name.front() == '@') address.sun_path[0] = '\0';
    EXPECT_EQ(::bind(socket_, reinterpret_cast<const sockaddr*>(&address),
                     static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size())),
              0);
    ::setenv("NOTIFY_SOCKET", name.c_str(), 1);
  }
  ~Listener() {
    ::unsetenv("NOTIFY_SOCKET");
    ::close(socket_);
  }
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  std::string heard() const {
    std::array<char, 1000> bytes{};
    const ssize_t got = ::recv(socket_, bytes.data(), bytes.size(), 0);
    return got < 0 ? "nothing" : std::string(bytes.data(), static_cast<std::size_t>(got));
  }

 private:
  int socket_;
};

TEST(ReadyNotification, SystemdIsNotified) {
  const std::string path = ::testing::TempDir() + "notify_" + std::to_string(::getpid());
  {
    const Listener listener(path);
    auto ready = ReadyNotification::of(std::nullopt);
    EXPECT_EQ(listener.heard(), "nothing");
    ready->notify("file on m\nnt", false);
    EXPECT_EQ(listener.heard(), "READY=1\nSTATUS=file on m\\x0ant\n");
    EXPECT_EQ(listener.heard(), "nothing");
  }
  ::unlink(path.c_str());
}

TEST(ReadyNotification, AbstractSocketAndMainProcessAreNotified) {
  const Listener listener("@recordfs_test_" + std::to_string(::getpid()));
  ReadyNotification::of(std::nullopt)->notify("file on mnt", true);
  EXPECT_EQ(listener.heard(), "READY=1\nSTATUS=file on mnt\nMAINPID=" + std::to_string(::getpid()) + "\n");
}

TEST(ReadyNotification, UnusableSocketIsIgnored) {
  for (const std::string& name :
       {std::string("relative"), std::string("/no/such/socket"), "/" + std::string(300, 'x')}) {
    ::setenv("NOTIFY_SOCKET", name.c_str(), 1);
    ReadyNotification::of(std::nullopt)->notify("file on mnt", true);
  }
  ::unsetenv("NOTIFY_SOCKET");
}

}  // namespace
}  // namespace recordfs
