// recordfs cat: copies records to standard output.
#pragma once

#include <functional>

namespace CLI {
class App;
}

namespace recordfs {

std::function<int()> declare_cat(CLI::App& app);

}  // namespace recordfs
