// The fuzz target of the format whose folder is RECORDFS_FUZZ_FORMAT.
#include "tests/fuzz/drive.h"
#include "tests/fuzz/target.h"

namespace recordfs::fuzz {

void run_input(Bytes input) {
  static const Format& format = format_in(RECORDFS_FUZZ_FORMAT);
  drive(format, input);
}

const Mutator* mutator_for(Bytes) { return mutator_of(RECORDFS_FUZZ_FORMAT); }

}  // namespace recordfs::fuzz
