// The header of an .npy file for a container that holds one numpy array.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/formats/bloscpack/dtype.h"
#include "core/formats/bloscpack/json.h"

namespace recordfs::bloscpack {

// What the metadata says of an array. Valid: the sizes fit 62 bits.
struct NumpyArray {
  Dtype dtype;
  std::vector<std::uint64_t> shape;
  bool is_fortran = false;
  std::uint64_t bytes = 0;
};

// Whether metadata says that it is of an array. Any thread.
bool claims_array(const JsonText& metadata);

// The array that metadata describes; nullopt where it describes none, or one whose type or shape is not understood.
// Any thread.
std::optional<NumpyArray> find_array(const JsonText& metadata, std::uint32_t depth);

// The bytes that stand before the array's in an .npy file: a multiple of 64.
std::string npy_header(const NumpyArray& array);

}  // namespace recordfs::bloscpack
