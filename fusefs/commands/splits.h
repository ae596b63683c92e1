// recordfs splits: where a file can be cut so that several programs read it at once.
#pragma once

#include <functional>

namespace CLI {
class App;
}

namespace recordfs {

std::function<int()> declare_splits(CLI::App& app);

}  // namespace recordfs
