// The classes of the module, each defined in the file of its name.
#pragma once

#include <pybind11/pybind11.h>

namespace recordfs::python {

void define_set(pybind11::module_& module);
void define_stream(pybind11::module_& module);
void define_keys(pybind11::module_& module);
void define_counted_columns(pybind11::module_& module);

}  // namespace recordfs::python
