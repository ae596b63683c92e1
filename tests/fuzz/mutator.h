// What a mutator has to offer, so that changed inputs get past the checksums and lengths and reach the parsers behind
// them.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "core/base/bytes.h"

namespace recordfs::fuzz {

// Changes some bytes of a string, and perhaps its length, by at most `room` bytes. libFuzzer's own.
using ChangeBytes = std::function<void(std::string& bytes, std::size_t room)>;

struct Mutator {
  // Makes all checksums of a file right where they stand, and changes nothing else.
  void (*mend)(MutableBytes file);

  // One change that knows the format: takes the file apart, changes one part, puts it together again.
  std::string (*restructure)(Bytes file, std::uint64_t seed, const ChangeBytes& change);
};

extern const Mutator kBloscpackMutator;
extern const Mutator kLeveldbLogMutator;
extern const Mutator kLeveldbTableMutator;
extern const Mutator kMessageMutator;  // of a protobuf message, whatever its type
extern const Mutator kProioMutator;
extern const Mutator kRecordioMutator;
extern const Mutator kRiegeliMutator;
extern const Mutator kTfrecordMutator;
extern const Mutator kWandbMutator;

// The mutator for files of the format in this folder of core/formats/; null where there is none.
const Mutator* mutator_of(std::string_view folder);

}  // namespace recordfs::fuzz
