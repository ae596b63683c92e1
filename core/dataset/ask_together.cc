#include "core/dataset/ask_together.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/base/storage.h"
#include "core/store/executor.h"

namespace recordfs {

void ask_together(std::span<const std::string> files) {
  std::vector<Location> remote;
  for (const std::string& file : files.first(std::min(files.size(), kAskedTogether))) {
    Location location(file);
    if (!location.is_local() && file.find('*') == std::string::npos) remote.push_back(std::move(location));
  }
  if (remote.size() < 2) return;
  Executor executor(static_cast<unsigned>(remote.size()) - 1);
  auto next = remote.begin();
  executor.run_in_order({.tasks = kAskedTogether}, [&]() -> std::optional<Executor::OrderedTask> {
    if (next == remote.end()) return std::nullopt;
    return Executor::OrderedTask{.run = [&file = *next++] { static_cast<void>(status_of({}, file)); },
                                 .finish = [](bool) { return true; }};
  });
}

void expect_pass(const std::string& file) {
  const Location location(file);
  location.storage().expect_reads(location, [](const std::string&) { return std::vector<ByteRange>{{0, UINT64_MAX}}; });
}

}  // namespace recordfs
