// The writer options that the footer of an ArrayRecord file states (google/array_record, array_record_writer.h,
// Options::FromString). Thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/formats/riegeli/encode.h"

namespace recordfs::array_record {

struct FileOptions {
  std::uint64_t group_size = 1;  // records of each chunk but the last
  bool is_padded = false;        // each chunk ends at a block boundary
  std::string text;              // as the footer states them
};

// Returns the options of files that are compressed in this way, as the reference writer states them.
FileOptions default_options(const riegeli::Compression& compression);

// Parses options that a footer states. Options that are missing or invalid have their defaults.
FileOptions parse_options(std::string_view text);

// Replaces the group size, and its number in the text.
void set_group_size(FileOptions& options, std::uint64_t group_size);

}  // namespace recordfs::array_record
