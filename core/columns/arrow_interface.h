// The structures of Arrow's C interface, and what they are made of:
// https://arrow.apache.org/docs/format/CDataInterface.html
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/base/buffer.h"

// With the names of the specification.
extern "C" {
struct ArrowSchema {
  const char* format;
  const char* name;
  const char* metadata;
  std::int64_t flags;
  std::int64_t n_children;
  ArrowSchema** children;
  ArrowSchema* dictionary;
  void (*release)(ArrowSchema*);
  void* private_data;
};
struct ArrowArray {
  std::int64_t length;
  std::int64_t null_count;
  std::int64_t offset;
  std::int64_t n_buffers;
  std::int64_t n_children;
  const void** buffers;
  ArrowArray** children;
  ArrowArray* dictionary;
  void (*release)(ArrowArray*);
  void* private_data;
};
struct ArrowArrayStream {
  int (*get_schema)(ArrowArrayStream*, ArrowSchema* out);
  int (*get_next)(ArrowArrayStream*, ArrowArray* out);
  const char* (*get_last_error)(ArrowArrayStream*);
  void (*release)(ArrowArrayStream*);
  void* private_data;
};
}

namespace recordfs {

// A type with a name.
struct ArrowField {
  std::string format{};
  std::string name{};
  bool is_nullable = false;
  std::vector<ArrowField> children{};
};

// The values of a field.
struct ArrowColumn {
  std::int64_t length = 0;
  std::int64_t null_count = 0;
  std::vector<Slice> buffers{};  // as the format demands; no validity bitmap: a slice without an owner
  std::vector<ArrowColumn> children{};
};

// Make what a consumer receives: each field and column can be released apart from its parent. Throw std::bad_alloc.
void export_field(ArrowField field, ArrowSchema* out);
void export_column(ArrowColumn column, ArrowArray* out);

// Returns a buffer that owns the numbers.
template <class Number>
Slice buffer_of(std::vector<Number> numbers) {
  const auto owner = std::make_shared<const std::vector<Number>>(std::move(numbers));
  return {std::as_bytes(std::span(*owner)), owner};
}

}  // namespace recordfs
