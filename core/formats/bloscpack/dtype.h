// The element type of a numpy array, from metadata: a Python literal that is parsed, checked and written anew.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace recordfs::bloscpack {

inline constexpr std::size_t kMostDimensions = 64;  // of an array, and of a subarray type

struct Dtype {
  std::string description;  // for the header of an .npy file, in UTF-8
  std::uint64_t size = 0;   // bytes of an element
};

// Parses the repr of numpy's `dtype.str` or `dtype.descr`: '<f8', or fields as tuples or lists of a name, a type and
// an optional shape. Also accepts a bare <f8. Returns nullopt for anything else, and for types that are meaningful
// only inside their process (objects). `depth` limits the nesting of fields. Any thread.
std::optional<Dtype> read_dtype(std::string_view literal, std::uint32_t depth);

}  // namespace recordfs::bloscpack
