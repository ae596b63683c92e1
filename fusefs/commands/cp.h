// recordfs cp: copies records to files.
#pragma once

#include <functional>

namespace CLI {
class App;
}

namespace recordfs {

std::function<int()> declare_cp(CLI::App& app);

}  // namespace recordfs
