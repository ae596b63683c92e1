// recordfs verify: reads and checks everything.
#pragma once

#include <functional>

namespace CLI {
class App;
}

namespace recordfs {

std::function<int()> declare_verify(CLI::App& app);

}  // namespace recordfs
