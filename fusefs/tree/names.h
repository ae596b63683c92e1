// The names of the tree: numbers in fixed widths, and names made from keys that may be any bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace recordfs {

// Of what a record or a message in it says.
inline constexpr std::string_view kJsonSuffix = ".json";

// What a name that is not there is answered with.
Error no_such_name();

std::string record_name(std::uint64_t ordinal);      // 000000042
std::string chunk_record_name(std::uint64_t index);  // 000003
std::string position_name(std::uint64_t position);   // 000000000065536
std::string thousand_name(std::uint64_t thousand);   // 000041

// The number that a name of decimal digits means, with any number of leading zeros; nullopt for anything
// else, and for numbers beyond 64 bits.
std::optional<std::uint64_t> number_from(std::string_view name);

// A key with every byte that is no UTF-8 or a control character's as %XX, "%" itself, and those of `also`. Different
// keys stay different.
std::string percent_encoded(std::string_view key, std::string_view also);

// The key of an encoded one; nullopt: no key is encoded so. `also` as in percent_encoded().
std::optional<std::string> percent_decoded(std::string_view name, std::string_view also);

// The file name of one of so many keys that nobody knows them all: the percent-encoded key as in names_for(), or where
// that is no good or looks like what follows, a prefix, "~" and the key's `number`. Keys with different numbers have
// different names.
std::string key_name(std::string_view key, std::uint64_t number, const std::vector<std::string_view>& reserved);
// The number at the end of such a name; nullopt: the name is the key.
std::optional<std::uint64_t> key_number_in(std::string_view name);

// File names for keys (DESIGN §1 rule 7), in the order of the keys and all different: percent-encoded where
// they must be; what is then empty, ".", "..", longer than 200 bytes, in `reserved` or taken already becomes
// a prefix, "~" and a hash of the key.
std::vector<std::string> names_for(const std::vector<std::string_view>& keys,
                                   const std::vector<std::string_view>& reserved);

}  // namespace recordfs
