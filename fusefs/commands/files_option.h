// The argument FILE...
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace recordfs {

// Declares one or more FILEs on `app`. Call it after declaring other positional arguments. `files` must outlive the
// parsing.
void declare_files(CLI::App& app, std::vector<std::string>& files);

}  // namespace recordfs
