// The .npy header for a container that holds one numpy array, as its metadata describes it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/formats/bloscpack/json_text.h"

namespace recordfs::bloscpack {

struct Dtype {
  std::string description;  // for the header of an .npy file, in UTF-8
  std::uint64_t size = 0;   // bytes of an element
};

// Parses the repr of numpy's `dtype.str` or `dtype.descr`: '<f8', or fields as tuples or lists of a name, a type and
// an optional shape. Also accepts a bare <f8. Returns nullopt for anything else, and for types that are meaningful
// only inside their process (objects). `depth` limits the nesting of fields. Any thread.
std::optional<Dtype> read_dtype(std::string_view literal, std::uint32_t depth);

// An array as described by the metadata. Always valid: the sizes fit 62 bits.
struct NumpyArray {
  Dtype dtype;
  std::vector<std::uint64_t> shape;
  bool is_fortran = false;
  std::uint64_t bytes = 0;
};

// Returns whether the metadata claims to describe an array. Any thread.
bool claims_array(const JsonText& metadata);

// Returns the array that the metadata describes. Returns nullopt if there is none, or if its type or shape is not
// understood. Any thread.
std::optional<NumpyArray> find_array(const JsonText& metadata, std::uint32_t depth);

// Returns the bytes before the array in an .npy file; their number is a multiple of 64.
std::string npy_header(const NumpyArray& array);

}  // namespace recordfs::bloscpack
