// The fuzz target of a format.
#include "tests/fuzz/drive.h"
#include "tests/fuzz/target.h"

namespace recordfs::fuzz {

Target container_target(std::string_view folder) {
  const Format& format = format_in(folder);
  const Mutator* const mutator = mutator_for(format);
  return {.run_input = [&format](Bytes input) { drive(format, input); },
          .mutator_for = [mutator](Bytes) { return mutator; }};
}

}  // namespace recordfs::fuzz
