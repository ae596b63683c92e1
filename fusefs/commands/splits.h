// recordfs splits: divides a file for parallel readers.
#pragma once

#include <functional>

namespace CLI {
class App;
}

namespace recordfs {

std::function<int()> declare_splits(CLI::App& app);

}  // namespace recordfs
