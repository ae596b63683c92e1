// recordfs grep: prints or counts matching records.
#pragma once

#include <functional>

namespace CLI {
class App;
}

namespace recordfs {

// As with grep: 0 if a record was selected, 1 if not, 2 after an error.
inline constexpr int kGrepFailed = 2;

std::function<int()> declare_grep(CLI::App& app);

}  // namespace recordfs
