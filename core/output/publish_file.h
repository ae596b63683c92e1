// Gives a complete file its name.
#pragma once

#include <string>

namespace recordfs {

// Renames a file of a directory. A file that has the name already, or a link, is replaced if `replaces`. Returns false
// and sets errno on failure: EEXIST if the name is taken. Thread-safe.
bool publish_file(int directory, const std::string& unfinished, const std::string& name, bool replaces);

}  // namespace recordfs
