// recordfs ls: lists records and chunks.
#pragma once

#include <functional>

namespace CLI {
class App;
}

namespace recordfs {

std::function<int()> declare_ls(CLI::App& app);

}  // namespace recordfs
