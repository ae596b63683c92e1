#include "core/output/whole_files.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <map>
#include <optional>
#include <set>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "core/base/storage.h"
#include "core/base/thread.h"
#include "core/store/wrapped_file.h"

namespace recordfs {
namespace {

constexpr std::size_t kMostAtATime = 4;  // each reads ahead itself

// Returns the last component of a path, as its server's listing has it.
std::string file_name(const std::string& path) {
  const Location location(path);
  return location.is_local() ? std::string(location.name()) : copied_name(location.text());
}

class FilesCopy {
 public:
  FilesCopy(const std::vector<WholeFile>& files, const FileCopier& copier, const CopyListener& listener,
            Reporter& reporter)
      : files_(files), copier_(copier), listener_(listener), reporter_(reporter) {}

  void run() {
    std::vector<std::thread> threads;
    for (std::size_t i = 1; i < std::min(kMostAtATime, files_.size()); ++i) {
      threads.push_back(start_thread([this] { copy_some(); }));
    }
    copy_some();
    for (std::thread& thread : threads) {
      if (thread.joinable()) thread.join();
    }
  }

 private:
  void copy_some() {
    for (std::size_t i = next_++; i < files_.size() && !is_stopped_; i = next_++) copy(files_[i]);
  }

  void copy(const WholeFile& file) {
    const auto source = open_source({}, Location(file.path));
    if (!source) return reporter_.report_unopened(file.path, source.error());
    if (files_.size() == 1) listener_.expects((*source)->size());
    auto failure = copier_.copy(**source, file.name, listener_.has_copied);
    if (!failure) return;
    if (failure->can_continue) failure->why.detail += " (the same command continues the copy)";
    if (failure->is_of_source) return reporter_.report_failure(file.path, failure->why);
    // A full disk ends the copy of all.
    const bool is_of_one = failure->why.os_error == EEXIST || failure->why.os_error == EWOULDBLOCK;
    is_stopped_ = is_stopped_ || !is_of_one;
    listener_.fail(file.name, *failure);
  }

  const std::vector<WholeFile>& files_;
  const FileCopier& copier_;
  const CopyListener& listener_;
  Reporter& reporter_;
  std::atomic<std::size_t> next_{0};
  std::atomic<bool> is_stopped_{false};
};

}  // namespace

void add_empty_files(const std::vector<std::string>& words, ShardList& list) {
  std::set<std::string> listed;
  for (const Shard& file : list.shards) listed.insert(file.path);
  for (const std::string& word : words) {
    if (listed.contains(word) || !is_directory(word)) continue;
    for (std::string& path : list_files(word).value_or(std::vector<std::string>())) {
      if (listed.contains(path)) continue;
      const auto status = status_of({}, Location(path));
      if (status && status->is_file() && status->size == 0) list.shards.push_back({.path = std::move(path)});
    }
  }
}

std::vector<WholeFile> with_names_of_copies(const ShardList& list, Reporter& reporter) {
  std::vector<WholeFile> files;
  std::map<std::string, std::string> paths;  // by name
  for (const Shard& shard : list.shards) {
    if (shard.is_missing) continue;
    WholeFile file{.path = shard.path, .name = file_name(shard.path)};
    const auto [other, is_new] = paths.emplace(file.name, file.path);
    if (file.name.empty() || file.name == "." || file.name == "..") {
      reporter.fail(Impact::kUnopened, fmt::format("{}: no name of a file", file.path));
    } else if (!is_new) {
      reporter.fail(Impact::kIncomplete, fmt::format("{}: has the same name as {}", file.path, other->second));
    } else {
      files.push_back(std::move(file));
    }
  }
  return files;
}

void copy_files(const std::vector<WholeFile>& files, const FileCopier& copier, const CopyListener& listener,
                Reporter& reporter) {
  FilesCopy(files, copier, listener, reporter).run();
}

}  // namespace recordfs
