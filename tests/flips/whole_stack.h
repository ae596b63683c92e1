// Reads a whole file, and collects the reported damage, with the code that mount operations and `recordfs verify` call,
// but without the kernel.
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

struct Observed {
  std::string refusal;                  // why the file is not a container; empty if it is one
  std::vector<contract::Mark> records;  // readable records in the container's order, by size and hash
  std::vector<std::uint64_t> ordinals;  // of `records`
  std::uint64_t failures = 0;           // number of unreadable records
  std::uint64_t findings = 0;           // number of findings of verify
  std::vector<std::pair<std::string, std::string>> other_files;  // readable metadata, trailer, an array: name and bytes
  std::vector<std::string> inconsistencies;  // contradictions between views, and failures without a reason

  // Returns whether any damage is reported.
  bool reports_damage() const { return !refusal.empty() || failures > 0 || findings > 0; }
};

// Returns a source with this name and these bytes, which must outlive it.
std::shared_ptr<const Source> named_source(std::string_view name, std::string_view bytes);

// Reads files one at a time. Not thread-safe.
class WholeStack {
 public:
  WholeStack();
  // `name` is the file name without directories. `bytes` must be valid during the call.
  Observed read(std::string_view name, std::string_view bytes);

 private:
  std::mutex mutex_;
  std::vector<std::string> lines_;  // log lines since the last read
  StoreResources services_;
};

}  // namespace recordfs::flips
