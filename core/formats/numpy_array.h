// A numpy array as the header of an .npy file describes it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace recordfs {

struct Dtype {
  std::string description;  // for the header of an .npy file, in UTF-8
  std::uint64_t size = 0;   // bytes of an element
};

// The sizes fit 62 bits.
struct NumpyArray {
  Dtype dtype{};
  std::vector<std::uint64_t> shape{};
  bool is_fortran = false;
  std::uint64_t bytes = 0;  // of all elements
};

// Returns the bytes before the array in an .npy file; their number is a multiple of 64. Thread-safe.
std::string npy_header(const NumpyArray& array);
// Returns the array that such a header, which npy_header() made, describes in a file of `size` bytes. Thread-safe.
NumpyArray described_by(std::string_view header, std::uint64_t size);

}  // namespace recordfs
