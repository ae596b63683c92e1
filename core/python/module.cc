// recordfs._recordfs: the data sets of core, for the Python layer in recordfs/.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/location.h"
#include "core/base/similar_names.h"
#include "core/dataset/permutation.h"
#include "core/dataset/sampler.h"
#include "core/dataset/source_spec.h"
#include "core/python/bindings.h"
#include "core/python/buffers.h"
#include "core/python/errors.h"
#include "core/python/interrupt.h"
#include "core/python/process.h"
#include "core/remote/remote_storage.h"

namespace recordfs::python {
namespace {

namespace py = pybind11;

constexpr const char* kOtherInterpreter =
    "recordfs works in the first interpreter of a process only (try: another process)";

// Returns (shards, surplus): a list of (path, is_missing, bytes_in_set), and a list of paths.
py::tuple named_shards(const std::vector<std::string>& words, bool joins, const std::string& manifest) {
  for (const std::string& word : words) check_path(word);
  check_path(manifest);
  auto list = run_long([&](const RequestContext&) -> Result<ShardList> {
    if (joins || !manifest.empty()) return SourceSpec{.words = words, .manifest = manifest}.shards();
    ShardList files;
    for (const std::string& word : words) files.shards.push_back({.path = word});
    return files;
  });
  if (!list) {
    // The detail is a whole message, with the path.
    Error error = list.error();
    if (error.code == Code::kNotFound) error = {.code = Code::kIo, .detail = error.detail, .os_error = ENOENT};
    raise(exception_of(error, {}));
  }
  py::list shards;
  // Secrets of URLs stay in this process: the paths are printed and pickled.
  for (const Shard& shard : list->shards) {
    shards.append(py::make_tuple(path_text(Location(shard.path).text()), shard.is_missing, shard.bytes_in_set));
  }
  py::list surplus;
  for (const std::string& path : list->surplus) surplus.append(path_text(path));
  return py::make_tuple(shards, surplus);
}

std::vector<std::uint64_t> sample(std::uint64_t size, std::uint64_t count, std::uint64_t seed) {
  Sampler sampler(size, count, seed);
  std::vector<std::uint64_t> numbers;
  numbers.reserve(static_cast<std::size_t>(sampler.count()));
  while (const auto number = sampler.next()) numbers.push_back(*number);
  return numbers;
}

// Returns the numbers at the places from `begin` to `end`.
std::vector<std::uint64_t> places(const Permutation& permutation, std::uint64_t begin, std::uint64_t end) {
  const GilRelease release;
  std::vector<std::uint64_t> numbers;
  end = std::min(end, permutation.size());
  for (; begin < end; ++begin) numbers.push_back(permutation.at(begin));
  return numbers;
}

void define_module(py::module_& module) {
  watch_forks();
  remote::add_remote_storages(remote::Host::kModule);
  make_buffer_type();
  module.doc() = "The C++ part of recordfs. Use the package recordfs instead.";
  module.attr("__version__") = RECORDFS_VERSION;
  module.def("check_interpreter", [] {
    // Without a call of PyInit__recordfs, a second interpreter gets a copy of what the first one has imported.
    if (!is_main_interpreter()) throw py::import_error(kOtherInterpreter);
  });
  module.def("named_shards", &named_shards, py::arg("words"), py::arg("joins"), py::arg("manifest"));
  // Paths of other storages are the same in any current directory.
  module.def("is_local", [](const std::string& path) { return Location(path).is_local(); });
  module.def("nearest_names", &nearest_names);
  module.def("sample", &sample, py::arg("size"), py::arg("count"), py::arg("seed"));
  py::class_<Permutation>(module, "Permutation")
      .def(py::init<std::uint64_t, std::uint64_t>(), py::arg("size"), py::arg("seed"))
      .def("at",
           [](const Permutation& permutation, std::uint64_t place) {
             if (place >= permutation.size()) throw py::index_error("no such place");
             return permutation.at(place);
           })
      .def("places", &places, py::arg("begin"), py::arg("end"));
  define_set(module);
  define_stream(module);
  define_keys(module);
  define_counted_columns(module);
}

}  // namespace
}  // namespace recordfs::python

// Is what PYBIND11_MODULE makes, with a check before the first call of pybind11, which would wait indefinitely for the
// GIL in a second interpreter.
// NOLINTNEXTLINE(bugprone-reserved-identifier): Python looks for this name
extern "C" PYBIND11_EXPORT PyObject* PyInit__recordfs();
PyObject* PyInit__recordfs() {
  namespace py = pybind11;
  using namespace recordfs::python;
  if (!is_main_interpreter()) {
    PyErr_SetString(PyExc_ImportError, kOtherInterpreter);
    return nullptr;
  }
  PYBIND11_CHECK_PYTHON_VERSION
  PYBIND11_ENSURE_INTERNALS_READY
  static PyModuleDef definition;
  auto module = py::module_::create_extension_module("_recordfs", nullptr, &definition);
  try {
    define_module(module);
    return module.release().ptr();
  }
  PYBIND11_CATCH_INIT_EXCEPTIONS;
  return nullptr;  // versions of pybind11 before 3 have returned by now
}
