// VerifyRun: verifies many files in parallel, and reports them in order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <vector>

#include "fusefs/commands/command_context.h"
#include "fusefs/commands/file_list.h"
#include "fusefs/commands/progress.h"
#include "fusefs/commands/verify_report.h"
#include "fusefs/commands/verify_state.h"

namespace recordfs {

// A file to verify, or a listing error.
struct VerifyItem {
  ListedFile file;
  std::optional<Error> failure{};
  std::size_t name = 0;  // index of its argument on the command line
};

struct VerifySettings {
  Limits limits;
  unsigned at_once = 1;                   // small files at a time; threads per large file
  VerifyState* state = nullptr;           // null: read every file
  std::optional<std::int64_t> max_age{};  // seconds after which a file is read again
};

// Verifies several small files at a time, each on one thread. Meanwhile verifies large files, one at a time, each on
// `at_once` threads. Stops early if Interruption::came().
class VerifyRun {
 public:
  // run() calls `tell` for each file, in the order of `items`, on the calling thread. The arguments must outlive the
  // object.
  VerifyRun(const std::vector<VerifyItem>& items, const VerifySettings& settings, Services& services,
            Progress& progress, std::function<void(const Outcome&)> tell);

  void run();

 private:
  Outcome verify_item(const VerifyItem& item);
  Outcome verify_open(const VerifyItem& item, const RecordStore& store, const FileStamp& opened);
  Verdict verify_store(const RecordStore& store);
  std::optional<Passed> passed_earlier(const ListedFile& file) const;
  void remember(const Outcome& outcome, const FileStamp& opened, bool is_container) const;

  const std::vector<VerifyItem>& items_;
  const VerifySettings& settings_;
  Services& services_;
  Progress& progress_;
  const std::function<void(const Outcome&)> tell_;
  std::mutex large_;  // held while a large file is verified
};

}  // namespace recordfs
