// recordfs info: describes containers.
#pragma once

#include <functional>

namespace CLI {
class App;
}

namespace recordfs {

std::function<int()> declare_info(CLI::App& app);

}  // namespace recordfs
