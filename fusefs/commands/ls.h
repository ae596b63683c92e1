// recordfs ls: which records and chunks a container has.
#pragma once

#include <functional>

namespace CLI {
class App;
}

namespace recordfs {

std::function<int()> declare_ls(CLI::App& app);

}  // namespace recordfs
