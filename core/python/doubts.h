// What is doubtful about conditions, for Python.
#pragma once

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <string>
#include <vector>

#include "core/decoding/field_names.h"
#include "core/python/errors.h"
#include "core/search/record_condition.h"

namespace recordfs::python {

// Returns (absent, mismatched, several, undecoded), for the records so far: for each name that none has, a text that
// says so; the terms that compare with another type; the names of several columns; and (records, path, chunk, reason)
// of those that cannot be decoded. Needs the GIL.
inline pybind11::tuple doubts_of(const RecordCondition& condition) {
  std::vector<std::string> absent;
  const auto present = condition.present();
  for (const std::string& name : condition.absent()) absent.push_back(no_field(name, present));
  const auto undecoded = condition.undecoded();
  return pybind11::make_tuple(
      absent, condition.mismatched(), condition.several(),
      pybind11::make_tuple(undecoded.records, path_text(undecoded.path), undecoded.chunk, shown_text(undecoded.why)));
}

}  // namespace recordfs::python
