// The .npy header for a container that holds one numpy array.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/formats/bloscpack/dtype.h"
#include "core/formats/bloscpack/json.h"

namespace recordfs::bloscpack {

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
