// Loaded into a program: one allocation in N of the program itself fails, and none of its shared libraries, for as long
// as the file that RECORDFS_ONE_IN_FAILS names begins with the number N as 8 bytes in the machine's order. 0: none
// fails.
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdlib>

// The C library's own function.
extern "C" void* __libc_malloc(std::size_t size) noexcept;

namespace {

using Number = std::atomic<std::uint64_t>;

// The addresses of the program's code.
struct Code {
  std::uintptr_t begin = UINTPTR_MAX;
  std::uintptr_t end = 0;
};

int take_code(dl_phdr_info* info, std::size_t, void* to) {
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& part = info->dlpi_phdr[i];
    if (part.p_type != PT_LOAD || (part.p_flags & PF_X) == 0) continue;
    const std::uintptr_t begin = info->dlpi_addr + part.p_vaddr;
    *static_cast<Code*>(to) = {begin, begin + part.p_memsz};
  }
  return 1;  // the first one is the program
}

const Number* number_in_file() {
  const char* const path = std::getenv("RECORDFS_ONE_IN_FAILS");
  const int file = path == nullptr ? -1 : open(path, O_RDONLY | O_CLOEXEC);
  void* const mapped = file < 0 ? MAP_FAILED : mmap(nullptr, sizeof(Number), PROT_READ, MAP_SHARED, file, 0);
  if (file >= 0) close(file);
  return mapped == MAP_FAILED ? nullptr : static_cast<const Number*>(mapped);
}

Code code;
const Number* number = nullptr;

__attribute__((constructor)) void begin() {
  dl_iterate_phdr(take_code, &code);
  number = number_in_file();
}

// A mixing function of 64 bits, so that allocations fail at no regular distance.
std::uint64_t mixed(std::uint64_t value) {
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9u;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebu;
  return value ^ (value >> 31);
}

bool fails(std::uintptr_t caller) {
  static std::atomic<std::uint64_t> calls{0};
  const std::uint64_t one_in = number == nullptr ? 0 : number->load(std::memory_order_relaxed);
  return one_in != 0 && caller >= code.begin && caller < code.end &&
         mixed(calls.fetch_add(1, std::memory_order_relaxed)) % one_in == 0;
}

}  // namespace

// Replaces the C library's function, which operator new calls.
extern "C" __attribute__((visibility("default"))) void* malloc(std::size_t size) {
  if (!fails(reinterpret_cast<std::uintptr_t>(__builtin_return_address(0)))) return __libc_malloc(size);
  errno = ENOMEM;
  return nullptr;
}
