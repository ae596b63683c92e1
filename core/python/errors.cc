#include "core/python/errors.h"

#include <array>
#include <utility>

#include "core/python/process.h"

namespace recordfs::python {

namespace py = pybind11;

void check_path(std::string_view path) {
  if (path.find('\0') != std::string_view::npos) throw py::value_error("embedded null byte");
}

py::str path_text(std::string_view path) {
  return py::reinterpret_steal<py::str>(
      PyUnicode_DecodeFSDefaultAndSize(path.data(), static_cast<Py_ssize_t>(path.size())));
}

py::str shown_text(std::string_view text) {
  return py::reinterpret_steal<py::str>(
      PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace"));
}

std::string with_arguments(std::string reason) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kArguments = {
      {{" (try: --lists)", " (try: lists=True)"},
       {" (try: --scan-columns)", " (try: scan_columns=True)"},
       {" (try: --select)", ""}}};
  for (const auto& [option, argument] : kArguments) {
    const auto at = reason.find(option);
    if (at != std::string::npos) reason.replace(at, option.size(), argument);
  }
  return reason;
}

py::object exception_of(const Error& error, std::string_view path) {
  constexpr std::string_view kAfterPath = ": ";
  std::string_view reason = error.detail;  // which may begin with the path
  const bool names_path =
      !path.empty() && reason.starts_with(path) && reason.substr(path.size()).starts_with(kAfterPath);
  if (names_path) reason.remove_prefix(path.size() + kAfterPath.size());
  return in_python([&] {
    return py::module_::import("recordfs._errors")
        .attr("exception_of")(shown_text(to_string(error.code)), path_text(path), error.position,
                              shown_text(with_arguments(std::string(reason))), error.os_error);
  });
}

void raise(const py::object& exception) {
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(exception.ptr())), exception.ptr());
  throw py::error_already_set();
}

}  // namespace recordfs::python
