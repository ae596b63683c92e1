// Interface of a mutator, which lets changed inputs pass the checksums and lengths and reach the parsers.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "core/base/bytes.h"

namespace recordfs::fuzz {

// Changes bytes of a string and may lengthen it by up to `room` bytes. Implemented by libFuzzer.
using ChangeBytes = std::function<void(std::string& bytes, std::size_t room)>;

struct Mutator {
  // Recomputes all checksums of a file in place, and changes nothing else.
  void (*fix_checksums)(MutableBytes file);

  // Applies one change that respects the format: splits the file, changes one part, and reassembles it.
  std::string (*restructure)(Bytes file, std::uint64_t seed, const ChangeBytes& change);
};

extern const Mutator kDatabaseMutator;  // of a list of files (database_files.h)
extern const Mutator kMessageMutator;   // of a protobuf message of any type

// Returns the mutator for files of the format in this folder of core/formats/, or null if there is none. It is
// NAME::kMutator in NAME_mutator.cc; CMake makes the list of them.
const Mutator* mutator_of(std::string_view folder);

}  // namespace recordfs::fuzz
