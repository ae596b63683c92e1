// The text of --help.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "fusefs/options.h"

namespace recordfs {

// A command in the list.
struct HelpLine {
  std::string_view name;
  std::string_view summary;
};

// Returns text that ends with a newline. Only Form::kProgram lists `commands`.
std::string help_text(Form form, std::span<const HelpLine> commands);

}  // namespace recordfs
