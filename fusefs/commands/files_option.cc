#include "fusefs/commands/files_option.h"

#include <CLI/CLI.hpp>

namespace recordfs {
namespace {

bool is_option(const std::string& word) {
  return word.size() > 1 && word[0] == '-' && (word[1] < '0' || word[1] > '9');
}

}  // namespace

void declare_files(CLI::App& app, std::vector<std::string>& files) {
  app.add_option_function<std::string>(
         "FILE", [&files](const std::string& file) { files = {file}; }, "containers")
      ->required()
      ->type_name("...");
  app.allow_extras();
  app.final_callback([&app, &files] {
    bool may_be_option = true;
    for (const std::string& word : app.remaining()) {
      if (may_be_option && word == "--") {
        may_be_option = false;
      } else if (may_be_option && is_option(word)) {
        throw CLI::ExtrasError({word});
      } else {
        files.push_back(word);
      }
    }
  });
}

}  // namespace recordfs
