// VerifyRun: many files verified at once, told of in their order.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "fusefs/commands/command_context.h"
#include "fusefs/commands/file_list.h"
#include "fusefs/commands/progress.h"
#include "fusefs/commands/verify_report.h"
#include "fusefs/commands/verify_state.h"

namespace recordfs {

// A file of the list, or what could not be listed.
struct VerifyItem {
  ListedFile file;
  std::optional<Error> failure{};
  std::size_t name = 0;  // index of the name on the command line that it was listed for
};

struct VerifySettings {
  Limits limits;
  unsigned at_once = 1;                   // files, or chunks of a large one
  VerifyState* state = nullptr;           // null: every file is read
  std::optional<std::int64_t> max_age{};  // seconds after which a file that passed is read again
};

// Small files are verified several at a time, each on one thread; large ones one after the other, each by as many
// threads; both meanwhile. Ends early, with what is done, when Interruption::came().
class VerifyRun {
 public:
  // `tell` is called for each file, in the order of `items`, by one thread at a time. All has to outlive the object.
  VerifyRun(const std::vector<VerifyItem>& items, const VerifySettings& settings, Services& services,
            Progress& progress, std::function<void(const Outcome&)> tell);

  void run();

 private:
  void work();
  std::optional<std::size_t> take();
  Outcome verify_item(const VerifyItem& item);
  Outcome verify_open(const VerifyItem& item, const RecordStore& store, const FileStamp& opened);
  Verdict verify_store(const RecordStore& store);
  std::optional<Passed> passed_earlier(const ListedFile& file) const;
  void remember(const Outcome& outcome, const FileStamp& opened, bool is_container) const;
  void deliver(std::size_t number, Outcome outcome);

  const std::vector<VerifyItem>& items_;
  const VerifySettings& settings_;
  Services& services_;
  Progress& progress_;
  const std::function<void(const Outcome&)> tell_;
  std::mutex large_;  // held by who verifies a large file

  std::mutex mutex_;  // guards what follows
  std::condition_variable told_;
  std::size_t next_ = 0;
  std::size_t first_untold_ = 0;
  std::map<std::size_t, Outcome> done_;  // not told yet
};

}  // namespace recordfs
