// The record of the legacy format. FORMAT.md, "Legacy".
#pragma once

#include <cstdint>
#include <optional>

#include "core/base/bytes.h"

namespace recordfs::recordio::legacy {

inline constexpr std::uint64_t kRecordHeaderSize = 20;
// A writer makes none that are longer.
inline constexpr std::uint64_t kLongestPayload = 1ull << 29;

struct RecordHeader {
  bool is_packed = false;
  std::uint64_t length = 0;  // of the payload
};

// The header at the beginning of `head`; nullopt when there is none whose checksum matches, or too few bytes. Any
// thread.
std::optional<RecordHeader> parse_record_header(Bytes head);

// Whether what is left of a header at the beginning of `head` speaks for one: its magic, or a length with its checksum.
// Any thread.
bool is_damaged_header(Bytes head);

// Whether `head` may be the beginning of a record header that the file's end cuts off. Any thread.
bool is_cut_header(Bytes head);

// Where the next magic stands in `bytes`, from `from` on; bytes.size() when there is none. Any thread.
std::size_t find_magic(Bytes bytes, std::size_t from);

}  // namespace recordfs::recordio::legacy
