// FILE... on a command line.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace recordfs {

// Declares FILE, one or more, on `app`, behind all other positional arguments. `files` has to outlive the parsing.
void declare_files(CLI::App& app, std::vector<std::string>& files);

}  // namespace recordfs
