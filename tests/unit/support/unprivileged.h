// Takes privileges from a test that root runs.
#pragma once

#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <gtest/gtest.h>

namespace recordfs::testing {

// While it exists, the permissions of files apply to the calling thread, as to an ordinary user.
class Unprivileged {
 public:
  Unprivileged() {
    EXPECT_EQ(::syscall(SYS_capget, &header_, before_), 0);
    __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3]{before_[0], before_[1]};
    sets[0].effective &= ~(1u << CAP_DAC_OVERRIDE | 1u << CAP_DAC_READ_SEARCH);
    EXPECT_EQ(::syscall(SYS_capset, &header_, sets), 0);
  }
  ~Unprivileged() { EXPECT_EQ(::syscall(SYS_capset, &header_, before_), 0); }
  Unprivileged(const Unprivileged&) = delete;
  Unprivileged& operator=(const Unprivileged&) = delete;

 private:
  __user_cap_header_struct header_{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  __user_cap_data_struct before_[_LINUX_CAPABILITY_U32S_3]{};
};

}  // namespace recordfs::testing
