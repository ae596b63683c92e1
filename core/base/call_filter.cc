#include "core/base/call_filter.h"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <limits>
#include <span>

namespace recordfs {
namespace {

#if defined(__x86_64__)
constexpr std::uint32_t kArchitecture = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr std::uint32_t kArchitecture = AUDIT_ARCH_AARCH64;
#elif defined(__s390x__)
constexpr std::uint32_t kArchitecture = AUDIT_ARCH_S390X;
#elif defined(__powerpc64__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
constexpr std::uint32_t kArchitecture = AUDIT_ARCH_PPC64LE;
#elif defined(__riscv) && __riscv_xlen == 64
constexpr std::uint32_t kArchitecture = AUDIT_ARCH_RISCV64;
#else
constexpr std::uint32_t kArchitecture = 0;  // there is no filter
#endif

constexpr std::uint32_t kEndOfCalls = 0x40000000;  // on x86-64, those of the x32 ABI begin here

constexpr sock_filter load(std::size_t offset) {
  return BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<std::uint32_t>(offset));
}

// Skips instructions: 0 goes to the next one.
constexpr sock_filter jump(std::uint16_t compare, std::uint32_t value, std::uint8_t if_so, std::uint8_t if_not) {
  return BPF_JUMP(static_cast<std::uint16_t>(BPF_JMP | compare | BPF_K), value, if_so, if_not);
}

constexpr sock_filter answer(CallAction action) {
  switch (action) {
    case CallAction::kAllow: return BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    case CallAction::kMissing: return BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS);
    case CallAction::kRefuse: break;
  }
  return BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM);
}

constexpr std::size_t kHalf = sizeof(std::uint32_t);
constexpr bool kIsBigEndian = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;

}  // namespace

// The instructions of a filter.
class CallFilter::Program {
 public:
  // Calls from a number on, up to the next range, have the same outcome.
  struct Range {
    std::uint32_t begin;
    Outcome outcome;
  };

  static Program of(const CallFilter& filter) {
    Program program;
    program.add(load(offsetof(seccomp_data, arch)));
    program.add(jump(BPF_JEQ, kArchitecture, 1, 0));
    program.add(answer(CallAction::kRefuse));
    program.add(load(offsetof(seccomp_data, nr)));
    program.add(search(ranges_of(filter)));
    return program;
  }

  sock_fprog view() { return {.len = static_cast<unsigned short>(code_.size()), .filter = code_.data()}; }

 private:
  static std::vector<Range> ranges_of(const CallFilter& filter) {
    std::vector<Range> ranges{{0, {{}, filter.others_}}};
    const auto begin = [&ranges](std::uint32_t number, const Outcome& outcome) {
      if (ranges.back().begin == number) ranges.pop_back();
      const bool goes_on = !ranges.empty() && outcome.with_argument.empty() &&
                           ranges.back().outcome.with_argument.empty() &&
                           ranges.back().outcome.otherwise == outcome.otherwise;
      if (!goes_on) ranges.push_back({number, outcome});
    };
    for (const auto& [number, outcome] : filter.outcomes_) {
      begin(number, outcome);
      begin(number + 1, {{}, filter.others_});
    }
    begin(kEndOfCalls, {{}, CallAction::kRefuse});
    return ranges;
  }

  // Searches by halves: when a filter is installed, the kernel tries it with each system call.
  static Program search(std::span<const Range> ranges) {
    if (ranges.size() == 1) return decision(ranges.front().outcome);
    const auto upper = ranges.subspan(ranges.size() / 2);
    const Program lower = search(ranges.first(ranges.size() / 2));
    const std::size_t skipped = lower.code_.size();
    Program program;
    if (skipped <= std::numeric_limits<std::uint8_t>::max()) {
      program.add(jump(BPF_JGE, upper.front().begin, static_cast<std::uint8_t>(skipped), 0));
    } else {
      program.add(jump(BPF_JGE, upper.front().begin, 0, 1));
      program.add(jump(BPF_JA, static_cast<std::uint32_t>(skipped), 0, 0));
    }
    program.add(lower);
    program.add(search(upper));
    return program;
  }

  static Program decision(const Outcome& outcome) {
    Program program;
    for (const auto& [argument, action] : outcome.with_argument) program.add(test(argument, action));
    program.add(answer(outcome.otherwise));
    return program;
  }

  // Answers if the argument matches, and continues after itself otherwise.
  static Program test(const CallArgument& argument, CallAction action) {
    Program program;
    std::vector<std::size_t> comparisons;
    for (const bool is_upper : {false, true}) {
      const int shift = is_upper ? 32 : 0;
      const auto mask = static_cast<std::uint32_t>(argument.mask >> shift);
      const auto bits = static_cast<std::uint32_t>(argument.bits >> shift);
      if (mask == 0) continue;
      const std::size_t place = offsetof(seccomp_data, args) + 2 * kHalf * argument.number;
      program.add(load(place + (is_upper != kIsBigEndian ? kHalf : 0)));
      if (mask != ~std::uint32_t{0}) program.add(BPF_STMT(BPF_ALU | BPF_AND | BPF_K, mask));
      comparisons.push_back(program.code_.size());
      program.add(jump(BPF_JEQ, bits, 0, 0));
    }
    program.add(answer(action));
    for (const std::size_t at : comparisons)
      program.code_[at].jf = static_cast<std::uint8_t>(program.code_.size() - at - 1);
    return program;
  }

  void add(sock_filter instruction) { code_.push_back(instruction); }
  void add(const Program& other) { code_.insert(code_.end(), other.code_.begin(), other.code_.end()); }

  std::vector<sock_filter> code_;
};

void CallFilter::add(long call, CallAction action, std::optional<CallArgument> argument) {
  Outcome& outcome = outcomes_.try_emplace(static_cast<std::uint32_t>(call), Outcome{{}, others_}).first->second;
  if (argument) {
    outcome.with_argument.emplace_back(*argument, action);
  } else {
    outcome.otherwise = action;
  }
}

int CallFilter::begin(Threads threads) const {
  if (kArchitecture == 0) return ENOSYS;
  Program program = Program::of(*this);
  const sock_fprog all = program.view();
  // Otherwise older kernels make the process slower, against a speculation that does not matter here.
  unsigned flags = SECCOMP_FILTER_FLAG_SPEC_ALLOW;
  if (threads == Threads::kAll) flags |= SECCOMP_FILTER_FLAG_TSYNC;
  const long outcome = ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &all);
  // A positive result is the id of a thread that has another filter.
  return outcome == 0 ? 0 : outcome > 0 ? ESRCH : errno;
}

}  // namespace recordfs
