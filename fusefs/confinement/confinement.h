// Drops what a process does not need to serve its mount: privileges, capabilities, files, system calls.
#pragma once

#include <string>
#include <vector>

#include "core/base/descriptor.h"

namespace recordfs {

// What the process can still access. Holds open descriptors, not paths: the mount may cover a source, and a lookup of
// that path would then wait for this process itself.
struct AllowedPaths {
  std::vector<Descriptor> readable;   // files, and directories with everything below them
  std::vector<Descriptor> listed;     // directories whose names, and those of directories below them, are read
  std::vector<Descriptor> saved;      // directories in which files are created, read, renamed and removed
  std::vector<Descriptor> devices;    // read, written and controlled
  bool reads_all_owners = false;      // root still reads files of other owners
  bool saves_for_all_owners = false;  // root still creates and removes files in directories of other owners
  bool watches = false;               // uses inotify(7)
  bool loads_code = false;            // opens libraries, until stop_loading_code()
};

// Opens whatever is at `path` for use in AllowedPaths, without read access (O_PATH). Returns an empty descriptor if
// nothing is there. Thread-safe.
Descriptor found_at(const std::string& path);

// Confines the calling thread, and all threads that it starts later, to `within`. Permanent. Returns a line for each
// restriction that failed; no later call retries those. REQUIRES: the process has one thread.
std::vector<std::string> confine(const AllowedPaths& within);

// Drops the capability that AllowedPaths::reads_all_owners has kept. Returns as confine() does. REQUIRES: the process
// has one thread.
std::vector<std::string> stop_reading_all_owners();

// Forbids all threads to make memory executable, which AllowedPaths::loads_code has permitted. Does nothing without it.
// Returns as confine() does.
std::vector<std::string> stop_loading_code();

// Confines a process that only waits for a byte on a descriptor, answers, unmounts, and removes a directory. Does
// nothing without CAP_SYS_ADMIN: such a process has to start fusermount3, and a confined process cannot start a setuid
// program. Permanent. Returns as confine() does. REQUIRES: the process has one thread.
std::vector<std::string> confine_unmount_guard();

}  // namespace recordfs
