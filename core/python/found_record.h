// Records of a data set by their ordinals.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "core/base/buffer.h"
#include "core/base/request_context.h"
#include "core/base/result.h"
#include "core/dataset/data_set.h"
#include "core/python/errors.h"
#include "core/python/opened_set.h"

namespace recordfs::python {

// A record, and what tells more about it.
struct FoundRecord {
  PlacedRecord place;
  Slice record;
};

// Reads a record. Fails as place_record() and RecordReader::read().
Result<FoundRecord> find_record(const RequestContext& context, const OpenedSet& set, std::uint64_t ordinal);

// Returns the path for an error about a record.
std::string path_of_record(const OpenedSet& set, std::uint64_t ordinal, const Error& error);

// Returns what a function about a record returned. Throws the exception of its error.
template <class T>
T value_of_record(Result<T> result, const OpenedSet& set, std::uint64_t ordinal) {
  if (!result) raise(exception_of(result.error(), path_of_record(set, ordinal, result.error())));
  return std::move(*result);
}

}  // namespace recordfs::python
