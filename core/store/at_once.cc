#include "core/store/at_once.h"

#include <algorithm>
#include <cstdint>
#include <optional>

#include "core/store/executor.h"

namespace recordfs {

void call_at_once(unsigned threads, std::size_t count, const std::function<void(std::size_t)>& call) {
  const std::size_t most = std::clamp<std::size_t>(threads, 1, std::max<std::size_t>(count, 1));
  Executor executor(static_cast<unsigned>(most - 1));
  std::size_t next = 0;
  executor.run_in_order({.tasks = 2 * most}, [&]() -> std::optional<Executor::OrderedTask> {
    if (next == count) return std::nullopt;
    return Executor::OrderedTask{.run = [&call, number = next++] { call(number); },
                                 .finish = [](bool) { return true; }};
  });
}

}  // namespace recordfs
