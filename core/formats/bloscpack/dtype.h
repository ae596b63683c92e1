// The type of numpy's elements, as metadata describes it: a Python literal that is read, checked and written again.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace recordfs::bloscpack {

inline constexpr std::size_t kMostDimensions = 64;  // of an array, and of an element that is one

struct Dtype {
  std::string description;  // as the header of an .npy file wants it, in UTF-8
  std::uint64_t size = 0;   // bytes of an element
};

// Reads the repr of numpy's `dtype.str` or `dtype.descr`: '<f8', or fields as tuples or lists of a name, a type and
// perhaps a shape. Also a bare <f8. nullopt for anything else, and for types whose bytes mean nothing outside of their
// process (objects). `depth`: how deep fields may nest. Any thread.
std::optional<Dtype> read_dtype(std::string_view literal, std::uint32_t depth);

}  // namespace recordfs::bloscpack
