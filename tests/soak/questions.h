// The kinds of requests. Each function makes requests about the path of the visit and counts what it compared. It
// counts nothing if the path is of the wrong kind.
#pragma once

#include "tests/soak/visit.h"

namespace recordfs::soak {

void ask_status(Visit& visit);   // LOOKUP, GETATTR
void ask_content(Visit& visit);  // READ: directly, through the kernel's cache, by mmap
void ask_target(Visit& visit);   // READLINK
void ask_listing(Visit& visit);  // READDIRPLUS: in pieces, from the begin or from any entry
void ask_whole_listing(Visit& visit);
void ask_attributes(Visit& visit);   // LISTXATTR, GETXATTR
void ask_file_system(Visit& visit);  // STATFS
void ask_access(Visit& visit);       // LOOKUP, for access(2)
void ask_for_nothing(Visit& visit);  // names and attributes that do not exist
void ask_wrongly(Visit& visit);      // a file as a directory, invalid offsets
void ask_for_change(Visit& visit);   // everything is read-only

}  // namespace recordfs::soak
