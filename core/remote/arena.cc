#include "core/remote/arena.h"

#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include <fmt/format.h>

namespace recordfs::remote {
namespace {

constexpr int kPopulateForWriting = 23;  // MADV_POPULATE_WRITE, which older headers lack

// Beyond the limit, ftruncate(2) would end the process with a signal.
Result<void> check_file_limit(std::uint64_t size) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur >= size) return {};
  return Error{.code = Code::kIo,
               .detail = fmt::format("the limit of the size of files is too low (try: ulimit -f {})", size / 1024),
               .os_error = EFBIG};
}

}  // namespace

Result<std::unique_ptr<Arena>> Arena::make(std::uint64_t kept) {
  TRY(check_file_limit(kSize));
  Descriptor file(::memfd_create("recordfs-arena", MFD_CLOEXEC));
  if (!file || ::ftruncate(file.number(), static_cast<off_t>(kSize)) != 0) return system_error(errno);
  void* const memory = ::mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_SHARED, file.number(), 0);
  if (memory == MAP_FAILED) return system_error(errno);
  // A core dump of this process has no use for them.
  ::madvise(memory, kSize, MADV_DONTDUMP);
  return std::unique_ptr<Arena>(new Arena(std::move(file), static_cast<std::byte*>(memory), kept));
}

Arena::Arena(Descriptor file, std::byte* memory, std::uint64_t kept)
    : file_(std::move(file)),
      memory_(memory),
      kept_(std::clamp(kept, kLeastKept, kSize) / kUnit),
      is_taken_(static_cast<std::size_t>(kSize / kUnit)),
      has_memory_(static_cast<std::size_t>(kSize / kUnit)) {}

Arena::~Arena() { ::munmap(memory_, kSize); }

std::uint64_t Arena::take(std::uint64_t size) {
  const auto units = static_cast<std::ptrdiff_t>((size + kUnit - 1) / kUnit);
  // The first part that fits, so that the memory in use stays small.
  const auto found = std::search_n(is_taken_.begin(), is_taken_.end(), units, false);
  if (found == is_taken_.end()) return kSize;
  std::fill_n(found, units, true);
  taken_ += static_cast<std::uint64_t>(units);
  const auto first = static_cast<std::uint64_t>(found - is_taken_.begin());
  if (size >= kLarge) allocate(first, first + static_cast<std::uint64_t>(units));
  return first * kUnit;
}

// The fetcher has more to do than this process, and would allocate page by page.
void Arena::allocate(std::uint64_t begin, std::uint64_t end) {
  const auto unit = [&](std::uint64_t number) { return has_memory_.begin() + static_cast<std::ptrdiff_t>(number); };
  if (std::all_of(unit(begin), unit(end), [](bool has) { return has; })) return;
  // Fails on Linux before 5.14, where the fetcher allocates.
  ::madvise(memory_ + begin * kUnit, static_cast<std::size_t>((end - begin) * kUnit), kPopulateForWriting);
  std::fill(unit(begin), unit(end), true);
}

void Arena::give_back(std::uint64_t at, std::uint64_t size) {
  const std::uint64_t begin = at / kUnit;
  const std::uint64_t end = begin + (size + kUnit - 1) / kUnit;
  for (std::uint64_t unit = begin; unit < end; ++unit) is_taken_[static_cast<std::size_t>(unit)] = false;
  taken_ -= end - begin;
  const std::uint64_t dropped = std::max(begin, kept_);
  if (dropped >= end) return;
  ::madvise(memory_ + dropped * kUnit, static_cast<std::size_t>((end - dropped) * kUnit), MADV_REMOVE);
  for (std::uint64_t unit = dropped; unit < end; ++unit) has_memory_[static_cast<std::size_t>(unit)] = false;
}

}  // namespace recordfs::remote
