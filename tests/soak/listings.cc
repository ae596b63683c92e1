// Requests for directory listings.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <span>
#include <string>

#include <fmt/format.h>

#include "tests/soak/answers.h"
#include "tests/soak/questions.h"

namespace recordfs::soak {
namespace {

constexpr std::size_t kLeastRoom = 300;  // fits an entry with the longest name
constexpr std::size_t kMoreRoom = 20000;
constexpr std::size_t kMostPieces = 6;
constexpr std::size_t kAll = ~std::size_t{0};

std::string text_of(std::span<const Entry> entries, std::size_t at) {
  if (at >= entries.size()) return "nothing";
  const Entry& entry = entries[at];
  return fmt::format("{} (inode {}, type {}, next {})", entry.name, entry.inode, entry.type, entry.next);
}

std::string difference(std::span<const Entry> got, std::span<const Entry> want, std::size_t at) {
  const auto first = static_cast<std::size_t>(std::ranges::mismatch(got, want).in1 - got.begin());
  return fmt::format("{} in place of {} as entry {}", text_of(got, first), text_of(want, first), at + first);
}

// Reads `pieces` pieces of a listing and compares each with the known entries from `at` on.
void check_pieces(Visit& visit, int directory, std::size_t at, std::size_t pieces) {
  const Listing& listing = visit.known->listing;
  for (; pieces > 0; --pieces) {
    const auto answer = entries_of(directory, kLeastRoom + visit.below(kMoreRoom));
    if (const int error = error_of(answer); error != 0) {
      return visit.check(at == listing.entries.size() && error == listing.error, "listing",
                         fmt::format("errno {}", error));
    }
    const auto& entries = std::get<std::vector<Entry>>(answer);
    const std::span<const Entry> left = std::span(listing.entries).subspan(at);
    const bool is_same = entries.size() <= left.size() && std::ranges::equal(entries, left.first(entries.size()));
    visit.check(is_same, "listing", difference(entries, left, at));
    if (!is_same) return;
    at += entries.size();
    if (entries.empty()) return visit.check(at == listing.entries.size(), "listing", fmt::format("ends at {}", at));
  }
}

}  // namespace

void ask_listing(Visit& visit) {
  if (visit.known->error != 0 || !S_ISDIR(visit.known->status.mode)) return;
  const Listing& listing = visit.known->listing;
  const Descriptor directory = opened(visit.directory.number(), visit.known->name, O_RDONLY | O_DIRECTORY);
  if (!directory) return visit.check_error(listing.error, errno, "open");
  forget_pages(directory.number());
  std::size_t begin = 0;
  if (visit.below(2) == 0 && !listing.entries.empty()) {
    begin = 1 + visit.below(listing.entries.size());
    const std::int64_t place = listing.entries[begin - 1].next;
    visit.check(::lseek(directory.number(), place, SEEK_SET) == place, "lseek", fmt::format("errno {}", errno));
  }
  check_pieces(visit, directory.number(), begin, kMostPieces);
}

void ask_whole_listing(Visit& visit) {
  if (visit.known->error != 0 || !S_ISDIR(visit.known->status.mode)) return;
  const Descriptor directory = opened(visit.directory.number(), visit.known->name, O_RDONLY | O_DIRECTORY);
  if (!directory) return visit.check_error(visit.known->listing.error, errno, "open");
  check_pieces(visit, directory.number(), 0, kAll);
}

}  // namespace recordfs::soak
