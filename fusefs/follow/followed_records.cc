#include "fusefs/follow/followed_records.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/base/storage.h"
#include "core/store/open_container.h"
#include "core/store/wait_ticket.h"

namespace recordfs {
namespace {

std::string directory_of(const std::string& path) {
  const std::string directory = std::filesystem::path(path).parent_path().string();
  return directory.empty() ? "." : directory;
}

}  // namespace

FollowedRecords::FollowedRecords(std::string path, const Options& options, Caller caller, StoreResources& services,
                                 Reporter& reporter)
    : path_(std::move(path)),
      directory_(directory_of(path_)),
      options_(options),
      caller_(std::move(caller)),
      services_(services),
      reporter_(reporter) {}

void FollowedRecords::run() {
  for (;;) {
    std::optional<FileWatch> watch;  // exists longer than the file, whose scan wakes it
    const auto file = open();
    if (!file) return;
    watch.emplace(options_.follows_name ? std::vector<std::string>{path_, directory_}
                                        : std::vector<std::string>{path_});
    if (!follow(*file, *watch)) return;
    is_next_ = true;
  }
}

// Returns null after a failure, or at the end. With follows_name, waits for a file that may appear, or become a
// container.
std::unique_ptr<GrowingFile> FollowedRecords::open() {
  std::optional<FileWatch> watch;
  if (options_.follows_name) watch.emplace(std::vector<std::string>{path_, directory_});
  for (;;) {
    auto opened = GrowingFile::open(path_, options_.limits, services_);
    if (opened && is_next_) caller_.print(fmt::format("{}: following the new file", path_));
    if (opened) return std::move(*opened);
    const auto status = status_of({}, path_);
    const bool is_absent_or_empty = !status || !status->is_file() || status->size == 0;
    if (!watch || (!is_next_ && !is_absent_or_empty)) {
      reporter_.report_unopened(path_, opened.error());
      return nullptr;
    }
    reporter_.fail(Impact::kNone, open_failure(path_, opened.error()));
    is_next_ = true;
    if (!watch->wait(options_.output)) return nullptr;
  }
}

// Returns whether another file is at the path now; false if that was all.
bool FollowedRecords::follow(GrowingFile& file, FileWatch& watch) {
  const auto followed = take_all(file, watch);
  if (followed) return *followed;
  if (options_.follows_name && followed.error().code == Code::kChanged) {
    caller_.print(fmt::format("{}: {}", path_, followed.error().detail));
    return true;
  }
  reporter_.report_failure(path_, followed.error());
  return false;
}

// Passes records on, and waits for more. Returns as follow(). Fails as ChunkIndex::totals and GrowingFile::grow do.
Result<bool> FollowedRecords::take_all(GrowingFile& file, FileWatch& watch) const {
  std::optional<std::uint64_t> next;  // ordinal
  for (bool has_moved = false;;) {
    ASSIGN_OR_RETURN(const auto counts, wait_for([&] { return file.store()->index().totals(ScanDetail::kCounts); }));
    if (!next) next = is_next_ ? 0 : caller_.first_of(counts.records);
    const OrdinalInterval records{.begin = *next, .end = std::max(*next, counts.records)};
    if (!records.is_empty() && !caller_.take(*file.store(), records)) return false;
    next = records.end;
    ASSIGN_OR_RETURN(const auto waited, wait_for_more(file, watch, has_moved));
    if (waited != Waited::kMore) return waited == Waited::kReplaced;
  }
}

// Waits until there are more records, or the reader of the output has gone. With follows_name, also until another file
// is at the path and there are no more records of this one.
Result<FollowedRecords::Waited> FollowedRecords::wait_for_more(GrowingFile& file, FileWatch& watch,
                                                               bool& has_moved) const {
  for (;;) {
    if (!watch.wait(options_.output)) return Waited::kStopped;
    if (!has_moved && !file.is_at_its_path()) {
      has_moved = true;
      caller_.print(fmt::format("{}: moved, removed or replaced; the old file is still followed", path_));
    }
    const bool is_replaced = options_.follows_name && file.is_replaced();  // before the last look at the old file
    const auto begin = std::chrono::steady_clock::now();
    ASSIGN_OR_RETURN(const auto grown, file.grow([&watch] { watch.wake(); }));
    if (file.is_taking()) continue;
    if (!grown && is_replaced) return Waited::kReplaced;
    watch.rest(rest_after(std::chrono::steady_clock::now() - begin));
    if (grown) return Waited::kMore;
  }
}

}  // namespace recordfs
