// FollowedRecords: passes on the records of a file that grows, and perhaps of the files that replace it (tail -f, -F).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "core/base/limits.h"
#include "core/dataset/reporter.h"
#include "core/store/selection.h"
#include "fusefs/follow/growing_file.h"

namespace recordfs {

// Not thread-safe.
class FollowedRecords {
 public:
  struct Options {
    bool follows_name = false;  // continues with the next file at the path, and waits for it (log rotation)
    int output = -1;            // a descriptor: ends when the reader of this pipe or socket has gone
    Limits limits{};
  };
  struct Caller {
    // Returns the first record that is wanted of the first file, which has so many now. Of later ones, all are.
    std::function<std::uint64_t(std::uint64_t records)> first_of;
    // Takes records. Returns false to end.
    std::function<bool(const RecordStore& store, const OrdinalInterval& records)> take;
    std::function<void(const std::string& text)> print;  // that the file was moved, replaced or overwritten
  };

  // The arguments must outlive the object.
  FollowedRecords(std::string path, const Options& options, Caller caller, StoreResources& services,
                  Reporter& reporter);

  // Returns when the caller or the output's reader ends it, or after reporting a failure. With follows_name, a file
  // that is missing, empty or overwritten is none.
  void run();

 private:
  enum class Waited : std::uint8_t { kMore, kStopped, kReplaced };

  std::unique_ptr<GrowingFile> open();
  bool follow(GrowingFile& file, FileWatch& watch);
  Result<bool> take_all(GrowingFile& file, FileWatch& watch) const;
  Result<Waited> wait_for_more(GrowingFile& file, FileWatch& watch, bool& has_moved) const;

  const std::string path_;
  const std::string directory_;
  const Options& options_;
  const Caller caller_;
  StoreResources& services_;
  Reporter& reporter_;
  bool is_next_ = false;  // the file is not the first, or appeared later
};

}  // namespace recordfs
