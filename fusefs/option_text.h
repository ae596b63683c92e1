// What --help, the man pages, and the completion of shells say about options.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace recordfs {

struct OptionText {
  std::vector<std::string> names{};  // -v, --verbose; or of a mount option, nest
  std::string value{};               // name of the value; empty: the option has none
  std::string text{};     // a line for --help; further lines, where `x` is literal, are for the man page only
  std::string heading{};  // in --help, before this option and the next ones; empty: none

  std::string usage() const;  // "-o OPTION,..."; "uid=N"
  std::string help() const { return text.substr(0, text.find('\n')); }
  bool operator==(const OptionText&) const = default;
};

// Returns the options that are declared on `app` and have a text.
std::vector<OptionText> option_texts(const CLI::App& app);

}  // namespace recordfs
