// The legacy format of recordio. Each of its records is a chunk. FORMAT.md, "Legacy".
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "core/base/bytes.h"
#include "core/base/limits.h"
#include "core/base/source.h"
#include "core/formats/container.h"

namespace recordfs::recordio::legacy {

inline constexpr std::uint64_t kRecordHeaderSize = 20;
// Writers create no longer payloads.
inline constexpr std::uint64_t kLongestPayload = 1ull << 29;

struct RecordHeader {
  bool is_packed = false;
  std::uint64_t length = 0;  // of the payload
};

// Parses the header at the start of `head`. Returns nullopt if its checksum does not match or there are too few
// bytes. Any thread.
std::optional<RecordHeader> parse_record_header(Bytes head);

// Returns whether `head` resembles a damaged header: it has the magic, or a length with its checksum. Any thread.
bool is_damaged_header(Bytes head);

// Returns whether `head` can be a record header cut off by the end of the file. Any thread.
bool is_cut_header(Bytes head);

// Returns the offset of the next magic in `bytes` at or after `from`; bytes.size() if there is none. Any thread.
std::size_t find_magic(Bytes bytes, std::size_t from);

// Appends the header of a record. Throws std::bad_alloc. Any thread.
void append_record_header(std::string& out, const RecordHeader& header);

// Opens a file. Reads nothing.
std::unique_ptr<Container> open(std::shared_ptr<const Source> source, const Limits& limits);

}  // namespace recordfs::recordio::legacy
