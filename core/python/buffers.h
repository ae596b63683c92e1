// Bytes as Python objects without a copy.
#pragma once

#include <pybind11/pybind11.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "core/base/buffer.h"
#include "core/base/bytes.h"

namespace recordfs::python {

// All functions need the GIL, and throw Python's exceptions.

// Returns a read-only memoryview of bytes, which keeps `owner` alive.
pybind11::object memory_view(Bytes bytes, std::shared_ptr<const void> owner);
// Returns one of 64-bit integers.
pybind11::object memory_view(std::vector<std::int64_t> numbers);

// Returns a copy as `bytes`, or a memoryview.
pybind11::object record_object(Bytes bytes, const std::shared_ptr<const void>& owner, bool copies);
inline pybind11::object record_object(const Slice& record, bool copies) {
  return record_object(record.bytes, record.owner, copies);
}

// Prepares the other functions. Called when the module is loaded.
void make_buffer_type();

}  // namespace recordfs::python
