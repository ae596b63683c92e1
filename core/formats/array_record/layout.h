// The messages at the end of an ArrayRecord file (google/array_record, cpp/layout.proto). FORMAT.md describes them.
//
// Pure functions over bytes; thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/bytes.h"

namespace recordfs::array_record {

// Returns the footer positions that postscript copies in `bytes` name, without duplicates. Recognizes the copies by
// their magic, at any offset.
std::vector<Position> footers_named_in(Bytes bytes);

// The first record of the footer.
struct FooterHead {
  std::uint64_t version = 0;
  std::uint64_t chunks = 0;
  std::uint64_t records = 0;
  std::string writer_options;
};

// Returns nullopt for any other record.
std::optional<FooterHead> parse_head(Bytes record);

// Any other record of the footer: one chunk of records.
struct IndexEntry {
  Position begin = 0;
  std::uint64_t records = 0;
};

// Returns nullopt for any other record.
std::optional<IndexEntry> parse_entry(Bytes record);

}  // namespace recordfs::array_record
