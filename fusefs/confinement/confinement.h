// Gives up what a process does not need to serve its mount: new privileges, capabilities, files, system calls.
#pragma once

#include <string>
#include <vector>

#include "core/base/descriptor.h"

namespace recordfs {

// What stays within reach. Open, as the mount may stand over a source, and whoever looks for that by its name then
// waits for himself.
struct Reach {
  std::vector<Descriptor> readable;  // files, and directories with all that is below them
  std::vector<Descriptor> saved;     // folders in which files are made, read, renamed and removed
  std::vector<Descriptor> devices;   // read, written and controlled
  bool reads_all_owners = false;     // root goes on reading what only others may read
};

// What stands at a path, for a Reach: a file is not read by that. None where nothing is there. Any thread.
Descriptor found_at(const std::string& path);

// Confines the process to `within`: the calling thread, and all threads that it starts from now on. For good. Returns a
// line for each thing that could not be given up, which is given up by no later call either. REQUIRES: one thread.
std::vector<std::string> confine(const Reach& within);

// Confines a process that only waits for a byte on a descriptor, answers, unmounts and removes a directory. Where it
// has no right to unmount by itself nothing is given up: it has to start a program that has the right, which whoever is
// confined can't give to any. For good. Returns as confine(). REQUIRES: one thread.
std::vector<std::string> confine_keeper();

}  // namespace recordfs
