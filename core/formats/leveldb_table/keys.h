// Internal keys of a database: the user's key, followed by a sequence number and an operation type. FORMAT.md,
// "Keys".
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "core/base/bytes.h"

namespace recordfs::leveldb_table {

inline constexpr std::size_t kTagSize = 8;
inline constexpr std::uint8_t kDelete = 0;  // operation types
inline constexpr std::uint8_t kPut = 1;

struct InternalKey {
  Bytes user_key;
  std::uint64_t sequence = 0;
  std::uint8_t type = 0;  // as stored
};

// Returns nullopt if the key is too short.
std::optional<InternalKey> parse_internal(Bytes key);

// Returns the name of a type: "put", "delete", ... Empty if unknown. Static storage.
std::string_view type_name(std::uint8_t type);

// Returns whether an entry looks like one with an internal key, rather than one of a table written without a
// database.
bool is_entry_of_database(Bytes key, Bytes value);
// The same for a key of the index, which belongs to no entry.
bool is_index_key_of_database(Bytes key);

}  // namespace recordfs::leveldb_table
