// recordfs head and tail: copy the first or last records.
#pragma once

#include <functional>

namespace CLI {
class App;
}

namespace recordfs {

std::function<int()> declare_head(CLI::App& app);
std::function<int()> declare_tail(CLI::App& app);

}  // namespace recordfs
