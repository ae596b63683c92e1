// Finds the programs and modules that belong to the program or library that this code is in.
#pragma once

#include <string>
#include <string_view>

namespace recordfs {

// Returns the path of the file `name`: in the folder of the program or library, or where it is installed with it. It
// has the same owner or is root's, because others may write to a folder like /tmp, too. Empty if there is none. No
// other folder is searched, so that no file of a user's current folder is loaded. Thread-safe.
std::string find_own_file(std::string_view name);

}  // namespace recordfs
