#include "core/dataset/ask_together.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/base/storage.h"
#include "core/store/at_once.h"

namespace recordfs {

void ask_together(std::span<const std::string> files) {
  std::vector<Location> remote;
  for (const std::string& file : files.first(std::min(files.size(), kAskedTogether))) {
    Location location(file);
    if (!location.is_local() && file.find('*') == std::string::npos) remote.push_back(std::move(location));
  }
  if (remote.size() < 2) return;
  const auto threads = static_cast<unsigned>(remote.size());
  call_at_once(threads, remote.size(), [&](std::size_t i) { static_cast<void>(status_of({}, remote[i])); });
}

void expect_pass(const std::string& file) {
  const Location location(file);
  location.storage().expect_reads(location, [](const std::string&) { return std::vector<ByteRange>{{0, UINT64_MAX}}; });
}

}  // namespace recordfs
