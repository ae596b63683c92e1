#include "fusefs/confinement/confinement.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/landlock.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <thread>

#include "core/base/descriptor.h"

namespace recordfs {
namespace {

// Simulates a daemon under an attacker's control: a process that is confined and then runs arbitrary code.
class Confinement : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = ::testing::TempDir() + "confinement-XXXXXX";
    folder_ = ::mkdtemp(name.data());
    for (const char* made : {"source", "saved", "elsewhere"}) std::filesystem::create_directory(folder_ + "/" + made);
    for (const char* made : {"source/file", "elsewhere/file", "single"}) std::ofstream(folder_ + "/" + made) << "bytes";
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  // The errno of an open that must fail. A kernel without Landlock does not restrict files.
  static int refused() {
    const long version = ::syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION);
    return version < 1 ? 0 : EACCES;
  }

  std::string path(const std::string& name) const { return folder_ + "/" + name; }

  // Returns the errno that `tried` leaves in a confined process, or 0 if it succeeds.
  int inside(const std::function<bool()>& tried) const {
    const pid_t child = ::fork();
    if (child == 0) {
      const auto kept = confine(allowed());
      if (!kept.empty()) ::_exit(kNotConfined);
      errno = 0;
      ::_exit(tried() ? 0 : errno);
    }
    int status = 0;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status));
    return WEXITSTATUS(status);
  }
  int opening(const std::string& name, int flags) const {
    return inside([&] { return ::open(path(name).c_str(), flags | O_CLOEXEC, S_IRUSR) >= 0; });
  }

  static constexpr int kNotConfined = 255;

 private:
  AllowedPaths allowed() const {
    AllowedPaths within;
    for (const char* name : {"source", "single"}) within.readable.push_back(found_at(path(name)));
    within.saved.push_back(found_at(path("saved")));
    return within;
  }

  std::string folder_;
};

TEST_F(Confinement, ReadsSources) {
  EXPECT_EQ(opening("single", O_RDONLY), 0);
  EXPECT_EQ(opening("source/file", O_RDONLY), 0);
  EXPECT_EQ(opening("source", O_RDONLY | O_DIRECTORY), 0);
}

TEST_F(Confinement, WritesToNoSource) {
  EXPECT_EQ(opening("single", O_WRONLY), refused());
  EXPECT_EQ(opening("single", O_RDONLY | O_TRUNC), EPERM) << "no version of Landlock is needed for this";
  EXPECT_EQ(opening("source/new", O_WRONLY | O_CREAT), refused());
  EXPECT_EQ(inside([&] { return ::unlink(path("source/file").c_str()) == 0; }), refused());
}

TEST_F(Confinement, OpensNoOtherFiles) {
  EXPECT_EQ(opening("elsewhere/file", O_RDONLY), refused());
  EXPECT_EQ(opening("source/../elsewhere/file", O_RDONLY), refused());
  EXPECT_EQ(inside([] { return ::open("/etc/passwd", O_RDONLY | O_CLOEXEC) >= 0; }), refused());
  EXPECT_EQ(inside([] { return ::open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC) >= 0; }), refused());
}

TEST_F(Confinement, SymbolicLinkOutOfASourceIsNotFollowed) {
  std::filesystem::create_symlink(path("elsewhere/file"), path("source/link"));
  EXPECT_EQ(opening("source/link", O_RDONLY), refused());
}

TEST_F(Confinement, SavesAndRenamesAndRemovesInItsFolder) {
  EXPECT_EQ(
      inside([&] {
        const Descriptor made(::open(path("saved/new").c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR));
        return made && ::write(made.number(), "x", 1) == 1 &&
               ::rename(path("saved/new").c_str(), path("saved/old").c_str()) == 0 &&
               ::open(path("saved/old").c_str(), O_RDONLY | O_CLOEXEC) >= 0 && ::unlink(path("saved/old").c_str()) == 0;
      }),
      0);
}

TEST_F(Confinement, StartsNoProgram) {
  EXPECT_EQ(inside([] { return ::execl("/bin/true", "true", nullptr) == 0; }), EPERM);
  EXPECT_EQ(inside([] { return ::fork() >= 0; }), EPERM);
#ifdef SYS_vfork  // arm64 has none
  EXPECT_EQ(inside([] { return ::syscall(SYS_vfork) >= 0; }), EPERM);
#endif
}

TEST_F(Confinement, MakesNoConnection) {
  for (const int family : {AF_UNIX, AF_INET, AF_INET6, AF_NETLINK}) {
    EXPECT_EQ(inside([&] { return ::socket(family, SOCK_DGRAM | SOCK_CLOEXEC, 0) >= 0; }), EPERM) << family;
  }
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  EXPECT_EQ(inside([&] { return ::listen(ends[0], 1) == 0; }), EPERM);
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST_F(Confinement, TouchesNoOtherProcess) {
  EXPECT_EQ(inside([] { return ::kill(::getppid(), 0) == 0; }), EPERM);
  EXPECT_EQ(inside([] { return ::syscall(SYS_tgkill, ::getppid(), ::getppid(), 0) == 0; }), EPERM);
  EXPECT_EQ(inside([] { return ::syscall(SYS_tgkill, ::getpid(), ::gettid(), 0) == 0; }), 0);
  EXPECT_EQ(inside([] { return ::ptrace(PTRACE_ATTACH, ::getppid(), nullptr, nullptr) == 0; }), EPERM);
}

TEST_F(Confinement, KernelSendsNoSignalsForIt) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  EXPECT_EQ(inside([&] { return ::fcntl(ends[0], F_SETOWN, ::getppid()) == 0; }), EPERM);
  EXPECT_EQ(inside([&] { return ::fcntl(ends[0], F_SETSIG, SIGKILL) == 0; }), EPERM);
  EXPECT_EQ(inside([&] { return ::fcntl(ends[0], F_GETFD) >= 0; }), 0);
  for (const int end : ends) ::close(end);
}

TEST_F(Confinement, MakesNothingExecutable) {
  constexpr std::size_t kPage = 4096;
  EXPECT_EQ(inside([] {
              return ::mmap(nullptr, kPage, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED;
            }),
            EPERM);
}

TEST_F(Confinement, HasNoPrivilegesAndCannotGainAny) {
  EXPECT_EQ(inside([] { return ::syscall(SYS_setuid, ::getuid() + 1) == 0; }), EPERM);
  EXPECT_EQ(inside([] { return ::chroot("/") == 0; }), EPERM);
}

TEST_F(Confinement, ThreadsRunAndAreConfinedToo) {
  EXPECT_EQ(inside([] {
              int failed = 0;
              std::thread([&] { failed = ::open("/etc/passwd", O_RDONLY | O_CLOEXEC) < 0 ? errno : 0; }).join();
              errno = failed;
              return failed == 0;
            }),
            refused());
}

}  // namespace
}  // namespace recordfs
