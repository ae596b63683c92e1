// A filter of system calls: seccomp(2). libseccomp would take longer to make one than a mount takes for all the rest.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace recordfs {

// What a filter does with a system call.
enum class CallAction : std::uint8_t {
  kAllow,
  kRefuse,   // the call fails with EPERM
  kMissing,  // the call fails with ENOSYS, so its callers fall back to another one
};

// Selects calls with certain bits in an argument. The kernel ignores the upper half of an argument that is an int: give
// such a mask 32 bits where the rule refuses something.
struct CallArgument {
  unsigned number;  // 0: the first
  std::uint64_t mask;
  std::uint64_t bits;  // of the argument and the mask
};
inline constexpr std::uint64_t kWholeArgument = ~std::uint64_t{0};
inline constexpr std::uint64_t kIntArgument = 0xFFFFFFFF;

// Which argument of clone(2) has the flags.
#ifdef __s390x__
inline constexpr unsigned kFlagsOfClone = 1;
#else
inline constexpr unsigned kFlagsOfClone = 0;
#endif

// Not thread-safe.
class CallFilter {
 public:
  // Which threads begin() filters, besides those that they start later.
  enum class Threads : std::uint8_t { kCalling, kAll };

  // `others`: for calls without a rule. Calls of the processor's other ABIs are refused.
  explicit CallFilter(CallAction others) : others_(others) {}

  // Adds a rule for all calls of a number (SYS_read), or for those with an argument. Of several, the first one with a
  // matching argument applies; the rule without an argument applies if there is none.
  void add(long call, CallAction action, std::optional<CallArgument> argument = std::nullopt);

  // Filters calls from now on, permanently, in addition to earlier filters. Returns 0 or an errno value; ENOSYS for an
  // unknown processor. REQUIRES: the threads have no new privileges (PR_SET_NO_NEW_PRIVS).
  int begin(Threads threads = Threads::kCalling) const;

 private:
  struct Outcome {
    std::vector<std::pair<CallArgument, CallAction>> with_argument;
    CallAction otherwise;
  };
  class Program;

  CallAction others_;
  std::map<std::uint32_t, Outcome> outcomes_;  // by the call's number
};

}  // namespace recordfs
