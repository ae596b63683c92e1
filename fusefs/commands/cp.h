// recordfs cp: records as files.
#pragma once

#include <functional>

namespace CLI {
class App;
}

namespace recordfs {

std::function<int()> declare_cp(CLI::App& app);

}  // namespace recordfs
