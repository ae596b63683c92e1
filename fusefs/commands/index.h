// recordfs index: scans containers and saves what was found, for mounts and commands to come.
#pragma once

#include <functional>

namespace CLI {
class App;
}

namespace recordfs {

std::function<int()> declare_index(CLI::App& app);

}  // namespace recordfs
