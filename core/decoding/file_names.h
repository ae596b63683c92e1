// File names of records and their parts: numbers of fixed width, and names made from keys, which may be any bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace recordfs {

// Suffix of decoded records and messages.
inline constexpr std::string_view kJsonSuffix = ".json";
// Name of the file that lists the keys of a directory's files.
inline constexpr std::string_view kNamesTable = "names.tsv";
// Name of the directory of column families in a directory of keys.
inline constexpr std::string_view kKeyFamiliesName = "column-families";

Error no_such_name();

std::string record_name(std::uint64_t ordinal);          // 000000042
std::string chunk_record_name(std::uint64_t index);      // 000003
std::string position_name(std::uint64_t position);       // 000000000065536
std::string thousand_name(std::uint64_t thousand);       // 000041
inline constexpr std::uint64_t kThousandRecords = 1000;  // per directory in thousands/

// Returns the value of a name that consists of decimal digits, including any leading zeros. Returns nullopt for any
// other name, and for values that exceed 64 bits.
std::optional<std::uint64_t> number_from(std::string_view name);

// Returns the number of a database's key: a hash of it and its column family, the same in every file and program.
std::uint64_t key_number(std::uint32_t family, std::string_view key);

// Returns the file name of a key in a directory whose keys are not all known. This is the percent-encoded key if
// names_for() would accept it and it does not end like the alternative. Otherwise it is a prefix, "~" and `number` as
// 16 hex digits. Keys with different numbers have different names.
std::string key_name(std::string_view key, std::uint64_t number, const std::vector<std::string_view>& reserved);
// Returns key_name() in a directory of a database's keys, which reserves kNamesTable and kKeyFamiliesName.
std::string key_file_name(std::string_view key, std::uint64_t number);
// Returns the number at the end of such a name, or nullopt if the name is an encoded key.
std::optional<std::uint64_t> key_number_in(std::string_view name);

// Returns unique file names for keys, in their order: the percent-encoded key, or a prefix, "~" and a hash of the key.
// The latter replaces a name that is empty, ".", "..", longer than 200 bytes, in `reserved`, or already taken.
std::vector<std::string> names_for(const std::vector<std::string_view>& keys,
                                   const std::vector<std::string_view>& reserved);

// Returns names.tsv: a row for each key whose file has another name, with the percent-encoded key. REQUIRES: as many
// names as keys.
std::string names_table(const std::vector<std::string_view>& keys, const std::vector<std::string>& names);

}  // namespace recordfs
