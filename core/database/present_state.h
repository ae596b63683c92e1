// The state that a Database answers from.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "core/database/directory.h"
#include "core/database/state.h"

namespace recordfs::database {

// Holds the present state, and replaces it if its files are gone. Thread-safe.
class PresentState {
 public:
  // The parameters are those of State::load().
  PresentState(std::string directory, Options options, std::vector<DirectoryEntry> only = {})
      : directory_(std::move(directory)), options_(std::move(options)), only_(std::move(only)) {}

  // Returns null before the first load().
  std::shared_ptr<const State> get() const {
    const std::lock_guard lock(mutex_);
    return state_;
  }

  // Returns a newer state than `old`, which another thread may have loaded already. Fails like State::load().
  Result<std::shared_ptr<const State>> newer_than(const RequestContext& context, const State* old) {
    if (auto present = get(); present && present.get() != old) return present;
    ASSIGN_OR_RETURN(auto loaded, State::load(context, directory_, options_, only_));
    const std::lock_guard lock(mutex_);
    if (state_.get() == old) state_ = std::move(loaded);
    return state_;
  }

  // The same for a state whose files are gone. Fails with kChanged if the state was part of an answer, so that all
  // answers are of one moment, unless Options::follows_changes.
  Result<std::shared_ptr<const State>> in_place_of(const RequestContext& context, const State* gone) {
    if (has_answered_.load(std::memory_order_relaxed) && !options_.follows_changes) return in_use();
    return newer_than(context, gone);
  }
  void note_answer() { has_answered_.store(true, std::memory_order_relaxed); }

 private:
  const std::string directory_;
  const Options options_;
  const std::vector<DirectoryEntry> only_;
  mutable std::mutex mutex_;
  std::shared_ptr<const State> state_;  // guarded by mutex_
  std::atomic<bool> has_answered_{false};
};

}  // namespace recordfs::database
