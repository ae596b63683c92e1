// What somebody is given who mounts a file and reads all of it, and what he is told: by the code that the mount's
// operations and `recordfs verify` call, without a kernel in between.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/store/record_store.h"
#include "tests/contract/reading.h"

namespace recordfs::flips {

struct Given {
  std::string refusal;                  // why the file is no container; empty: it is one
  std::vector<contract::Mark> records;  // that can be read, in the container's order, by size and hash
  std::vector<std::uint64_t> ordinals;  // of these
  std::uint64_t failures = 0;           // records that can't be read
  std::uint64_t findings = 0;           // what verify lists
  std::vector<std::pair<std::string, std::string>> beside;  // readable metadata, trailer, an array: name and bytes
  std::vector<std::string> broken;  // where two views do not say the same, or a failure gives no reason

  // Whether whoever looks is told that something is amiss.
  bool is_told() const { return !refusal.empty() || failures > 0 || findings > 0; }
};

// A file of that name and those bytes, which the caller keeps.
std::shared_ptr<const Source> named_source(std::string_view name, std::string_view bytes);

// Reads one file after the other. One thread.
class WholeStack {
 public:
  WholeStack();
  // `name` is the file's, without directories; `bytes` are its own for the time of the call.
  Given read(std::string_view name, std::string_view bytes);

 private:
  std::mutex mutex_;
  std::vector<std::string> lines_;  // of the log, since the last read
  Services services_;
};

}  // namespace recordfs::flips
