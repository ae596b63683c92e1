// The messages in the footer and the postscript of an ArrayRecord file (google/array_record, cpp/layout.proto).
// FORMAT.md, "Layout". Thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/bytes.h"

namespace recordfs::array_record {

// The first record of the footer.
struct FooterHead {
  std::uint64_t version = 0;
  std::uint64_t chunks = 0;
  std::uint64_t records = 0;
  std::string writer_options;
};

// Any other record of the footer: one chunk of records.
struct IndexEntry {
  Position begin = 0;
  std::uint64_t records = 0;
};

// The version of the footer that is read and written.
inline constexpr std::uint64_t kVersion = 1;

// Return nullopt for any other record.
std::optional<FooterHead> parse_head(Bytes record);
std::optional<IndexEntry> parse_entry(Bytes record);

// Returns the footer positions that postscript copies in `bytes` name, without duplicates. Recognizes the copies by
// their magic, at any offset.
std::vector<Position> footers_named_in(Bytes bytes);

// Returns the record that parse_head() reads.
std::string to_record(const FooterHead& head);
// Appends the record that parse_entry() reads. `decoded_size`: of the chunk's records.
void append_entry(std::string& out, const IndexEntry& entry, std::uint64_t decoded_size);
// Returns a record of the postscript.
std::string postscript_of(Position footer);

}  // namespace recordfs::array_record
