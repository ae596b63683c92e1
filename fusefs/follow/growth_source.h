// What a mount shows the growth of (-o follow).
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/base/request_context.h"
#include "fusefs/follow/growing_file.h"

namespace recordfs {

// Used by one thread, which answers no requests.
class GrowthSource {
 public:
  // Called with the number of each node whose attributes may have changed.
  using Notify = std::function<void(std::uint64_t number)>;

  GrowthSource() = default;
  virtual ~GrowthSource() = default;
  GrowthSource(const GrowthSource&) = delete;
  GrowthSource& operator=(const GrowthSource&) = delete;

  // Returns the files and directories in which growth shows.
  virtual std::vector<std::string> paths() const = 0;
  // Checks once for growth, and shows it. May block, and cancels long work with the context. Returns false if the next
  // check must not be delayed by a rest; then it may call watch.wake() later, from any thread.
  virtual bool look(const RequestContext& context, FileWatch& watch, const Notify& notify) = 0;
};

}  // namespace recordfs
