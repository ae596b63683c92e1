#include "fusefs/commands/files_option.h"

#include <CLI/CLI.hpp>

namespace recordfs {

void declare_files(CLI::App& app, std::vector<std::string>& files) {
  app.add_option("FILE", files, "containers")->required()->type_name("");
}

}  // namespace recordfs
