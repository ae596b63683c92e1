// Finds the numpy array that a container's metadata describes.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "core/formats/json_text.h"
#include "core/formats/numpy_array.h"

namespace recordfs::bloscpack {

// Parses the repr of numpy's `dtype.str` or `dtype.descr`: '<f8', or fields as tuples or lists of a name, a type and
// an optional shape. Also accepts a bare <f8. Returns nullopt for anything else, and for types that are meaningful
// only inside their process (objects). `depth` limits the nesting of fields. Any thread.
std::optional<Dtype> read_dtype(std::string_view literal, std::uint32_t depth);

// Returns whether the metadata claims to describe an array. Any thread.
bool claims_array(const JsonText& metadata);

// Returns the array that the metadata describes. Returns nullopt if there is none, or if its type or shape is not
// understood. Any thread.
std::optional<NumpyArray> find_array(const JsonText& metadata, std::uint32_t depth);

}  // namespace recordfs::bloscpack
