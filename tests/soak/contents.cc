// Requests for the contents of files.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include <fmt/format.h>

#include "tests/soak/answers.h"
#include "tests/soak/questions.h"

namespace recordfs::soak {
namespace {

constexpr std::uint64_t kSmall = 600;
constexpr std::uint64_t kMiddle = 16384;
constexpr std::uint64_t kLarge = 300000;

struct Range {
  std::uint64_t begin = 0;
  std::uint64_t length = 0;
};

// Returns a random range of a known file, sometimes beyond its end.
Range some_of(Visit& visit) {
  const Known& known = *visit.known;
  const std::uint64_t length = 1 + visit.below(std::array{kSmall, kMiddle, kMiddle, kLarge}[visit.below(4)]);
  if (visit.below(4) == 0) return {0, known.content.length == known.status.size ? length : kPage};
  if (known.content.length == known.status.size) return {visit.below(known.status.size + kSmall), length};
  const std::uint64_t begin = visit.below(known.content.length);
  return {begin, std::min(length, known.content.length - begin)};
}

// Returns the offset of the first unreadable page from the begin of a range on, or UINT64_MAX if there is none.
std::uint64_t readable_until(const Known& known, Range range) {
  const auto bad = known.content.failed.lower_bound(range.begin / kPage);
  return bad == known.content.failed.end() ? ~0ull : bad->first * kPage;
}

bool is_known_error(const Known& known, Range range, int error) {
  const auto& failed = known.content.failed;
  const auto end = failed.upper_bound((range.begin + range.length) / kPage);
  return std::any_of(failed.lower_bound(range.begin / kPage), end,
                     [error](auto& page) { return page.second == error; });
}

void check_read(Visit& visit, Range range, const char* bytes, ssize_t got, int error) {
  const Known& known = *visit.known;
  const std::uint64_t left = known.status.size > range.begin ? known.status.size - range.begin : 0;
  const std::uint64_t wanted = std::min(range.length, left);
  const std::uint64_t bad = readable_until(known, range);
  const bool meets_bad = bad < range.begin + wanted;
  const auto what = [&] {
    return fmt::format("{} (errno {}) for {} bytes at {}", got, error, range.length, range.begin);
  };
  if (got < 0) return visit.check(meets_bad && is_known_error(known, range, error), "read", what());
  const auto length = static_cast<std::uint64_t>(got);
  visit.check(meets_bad ? length <= wanted : length == wanted, "read", what());
  const std::uint64_t good = bad > range.begin ? std::min({length, wanted, bad - range.begin}) : 0;
  if (good == 0) return;
  const std::string_view want = visit.knowledge.content(known).substr(range.begin, good);
  visit.check(std::memcmp(bytes, want.data(), good) == 0, "read", what() + ": other bytes");
}

void read_through(Visit& visit, int file, bool mapped) {
  const Range range = some_of(visit);
  const auto whole = visit.known->content;
  if (mapped && whole.failed.empty() && whole.length == visit.known->status.size && whole.length != 0) {
    void* const at = ::mmap(nullptr, whole.length, PROT_READ, MAP_SHARED, file, 0);
    if (at == MAP_FAILED) return visit.check(false, "mmap", fmt::format("errno {}", errno));
    const std::uint64_t begin = std::min<std::uint64_t>(range.begin, whole.length);
    const std::uint64_t length = std::min<std::uint64_t>(range.length, whole.length - begin);
    check_read(visit, {begin, length}, static_cast<const char*>(at) + begin, static_cast<ssize_t>(length), 0);
    ::munmap(at, whole.length);
    return;
  }
  std::string buffer(range.length, '\0');
  const ssize_t got = ::pread(file, buffer.data(), buffer.size(), static_cast<off_t>(range.begin));
  check_read(visit, range, buffer.data(), got, got < 0 ? errno : 0);
}

}  // namespace

void ask_content(Visit& visit) {
  if (visit.known->error != 0 || !S_ISREG(visit.known->status.mode)) return;
  const auto way = visit.below(8);
  const bool is_direct = way < 5;
  const Descriptor file = opened(visit.directory.number(), visit.known->name, O_RDONLY | (is_direct ? O_DIRECT : 0));
  visit.check(static_cast<bool>(file), "open", fmt::format("errno {}", errno));
  if (!file) return;
  for (std::uint64_t i = 1 + visit.below(4); i > 0; --i) {
    if (!is_direct) forget_pages(file.number());
    read_through(visit, file.number(), way == 7);
  }
}

}  // namespace recordfs::soak
