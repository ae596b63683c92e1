// Files of settings as the AWS command line has them in ~/.aws.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "core/base/result.h"

namespace recordfs::fetch {

// {name in lower case: value}
using IniSection = std::map<std::string, std::string, std::less<>>;
// {name: section}
using IniFile = std::map<std::string, IniSection, std::less<>>;

// Returns the sections of a file. A line is a comment, "[section]", "name = value" or "name: value". Indented lines
// belong to the value before them, and are left out. The last of equal names counts. Fails with kUnsupported; the error
// has the number of the line, and nothing of its content.
Result<IniFile> parse_ini(std::string_view text);

}  // namespace recordfs::fetch
