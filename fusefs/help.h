// The text of --help, for each way in which a mount is asked for.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "fusefs/options.h"

namespace recordfs {

// A command beside the mount, in a line.
struct HelpLine {
  std::string_view name;
  std::string_view summary;
};

// Ends with a newline. `commands` are listed for Form::kProgram alone.
std::string help_text(Form form, std::span<const HelpLine> commands);

}  // namespace recordfs
