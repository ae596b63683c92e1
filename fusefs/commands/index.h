// recordfs index: scans containers and saves the results, for later mounts and commands.
#pragma once

#include <functional>

namespace CLI {
class App;
}

namespace recordfs {

std::function<int()> declare_index(CLI::App& app);

}  // namespace recordfs
