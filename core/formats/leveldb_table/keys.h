// The keys of a database's own tables: what the user gave, and behind it a sequence number and what was done to the
// key. FORMAT.md, "Keys".
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "core/base/bytes.h"

namespace recordfs::leveldb_table {

inline constexpr std::size_t kTagSize = 8;
inline constexpr std::uint8_t kDelete = 0;  // types
inline constexpr std::uint8_t kPut = 1;

struct InternalKey {
  Bytes user_key;
  std::uint64_t sequence = 0;
  std::uint8_t type = 0;  // as in the file
};

// nullopt for a key that is too short for one.
std::optional<InternalKey> parse_internal(Bytes key);

// What the number of a type means: "put", "delete", ... Empty for one that is not known. Static storage.
std::string_view type_name(std::uint8_t type);

// Whether an entry looks like one of a database of LevelDB, and not like one of a table that somebody wrote with keys
// of their own.
bool is_entry_of_database(Bytes key, Bytes value);
// The same of a key of the index, which stands for no entry.
bool is_index_key_of_database(Bytes key);

}  // namespace recordfs::leveldb_table
