#include "fusefs/commands/whole_files.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/base/storage.h"
#include "core/base/thread.h"
#include "core/base/utf8.h"
#include "core/dataset/shard_list.h"
#include "core/output/file_copier.h"
#include "core/store/wrapped_file.h"
#include "fusefs/commands/named_sets.h"
#include "fusefs/commands/progress.h"
#include "fusefs/exit_status.h"
#include "fusefs/messages.h"

namespace recordfs {
namespace {

constexpr std::size_t kMostAtATime = 4;  // each reads ahead itself

struct WholeFile {
  std::string path;
  std::string name;  // of the copy
};

// Returns the last component of a path, as its server's listing has it.
std::string file_name(const std::string& path) {
  const Location location(path);
  return location.is_local() ? std::string(location.name()) : copied_name(location.text());
}

// Adds the empty files of the directories among the words, which are no containers yet.
void add_empty_files(const std::vector<std::string>& words, std::vector<Shard>& files) {
  std::set<std::string> listed;
  for (const Shard& file : files) listed.insert(file.path);
  for (const std::string& word : words) {
    if (listed.contains(word) || !is_directory(word)) continue;
    for (std::string& path : list_files(word).value_or(std::vector<std::string>())) {
      if (listed.contains(path)) continue;
      const auto status = status_of({}, Location(path));
      if (status && status->is_file() && status->size == 0) files.push_back({.path = std::move(path)});
    }
  }
}

class WholeFiles {
 public:
  WholeFiles(std::vector<WholeFile> files, const FileCopier& copier, const std::string& directory,
             CommandContext& context)
      : files_(std::move(files)),
        copier_(copier),
        directory_(directory),
        context_(context),
        progress_("cp", Progress::Unit::kBytes) {}

  void copy_all() {
    std::vector<std::thread> threads;
    for (std::size_t i = 1; i < std::min(kMostAtATime, files_.size()); ++i) {
      threads.push_back(start_thread([this] { copy_some(); }));
    }
    copy_some();
    for (std::thread& thread : threads) {
      if (thread.joinable()) thread.join();
    }
    progress_.clear();
  }

 private:
  void copy_some() {
    for (std::size_t i = next_++; i < files_.size() && !is_stopped_; i = next_++) copy(files_[i]);
  }

  void copy(const WholeFile& file) {
    const auto source = open_source({}, Location(file.path));
    if (!source) return context_.report_unopened(file.path, source.error());
    if (files_.size() == 1) progress_.set_total((*source)->size());
    auto failure = copier_.copy(**source, file.name, [this](std::uint64_t bytes) { progress_.add(bytes); });
    if (!failure) return;
    if (failure->can_continue) failure->why.detail += " (the same command continues the copy)";
    if (failure->is_of_source) return context_.report_failure(file.path, failure->why);
    const bool is_there = failure->why.os_error == EEXIST;
    const bool is_locked = failure->why.os_error == EWOULDBLOCK;
    // A full disk ends the copy of all.
    is_stopped_ = is_stopped_ || !(is_there || is_locked);
    context_.fail(kExitPartlyDone, fmt::format("{}/{}: {}{}", directory_, file.name,
                                               is_locked ? "another process copies it" : failure->why.detail,
                                               is_there ? " (-f replaces it)" : ""));
  }

  const std::vector<WholeFile> files_;
  const FileCopier& copier_;
  const std::string& directory_;
  CommandContext& context_;
  Progress progress_;
  std::atomic<std::size_t> next_{0};
  std::atomic<bool> is_stopped_{false};
};

}  // namespace

int copy_whole_files(const RecordWords& words, Result<Descriptor> directory, bool replaces, CommandContext& context) {
  if (const std::string* const database = database_among(words.files)) {
    context.fail(kExitWrongUse, printable(*database) + ": a database, which has other files too (try: '" +
                                    printable(*database) + "/*')");
    return context.status();
  }
  auto list = name_shards(words, context);
  if (!list) return context.status();
  add_empty_files(words.files, list->shards);
  if (!directory) {
    print_message(fmt::format("{}: {}", words.directory, directory.error().detail));
    return kExitCannotOpen;
  }
  std::vector<WholeFile> files;
  std::map<std::string, std::string> paths;  // by name
  for (const Shard& shard : list->shards) {
    if (shard.is_missing) continue;
    WholeFile file{.path = shard.path, .name = file_name(shard.path)};
    const auto [other, is_new] = paths.emplace(file.name, file.path);
    if (file.name.empty() || file.name == "." || file.name == "..") {
      context.fail(kExitCannotOpen, fmt::format("{}: no name of a file", file.path));
    } else if (!is_new) {
      context.fail(kExitPartlyDone, fmt::format("{}: has the same name as {}", file.path, other->second));
    } else {
      files.push_back(std::move(file));
    }
  }
  const FileCopier copier(std::move(*directory), replaces);
  WholeFiles(std::move(files), copier, words.directory, context).copy_all();
  return context.finish();
}

}  // namespace recordfs
