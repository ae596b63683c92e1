// recordfs grep: counts and prints the records that match.
#pragma once

#include <functional>

namespace CLI {
class App;
}

namespace recordfs {

// The exit statuses are grep's: 0 where a record was selected, 1 where none was, 2 after an error.
inline constexpr int kGrepFailed = 2;

std::function<int()> declare_grep(CLI::App& app);

}  // namespace recordfs
