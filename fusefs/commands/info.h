// recordfs info: what is known of containers.
#pragma once

#include <functional>

namespace CLI {
class App;
}

namespace recordfs {

std::function<int()> declare_info(CLI::App& app);

}  // namespace recordfs
