// recordfs._recordfs: the data sets of core, for the Python layer in recordfs/.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <cerrno>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/dataset/manifest.h"
#include "core/dataset/permutation.h"
#include "core/dataset/sampler.h"
#include "core/dataset/shard_list.h"
#include "core/python/bindings.h"
#include "core/python/buffers.h"
#include "core/python/errors.h"
#include "core/python/process.h"
#include "core/store/open_container.h"

namespace recordfs::python {
namespace {

namespace py = pybind11;

// Returns (shards, surplus): a list of (path, is_missing), and a list of paths.
py::tuple named_shards(const std::vector<std::string>& words, bool joins, const std::string& manifest) {
  auto list = [&]() -> Result<ShardList> {
    const py::gil_scoped_release release;
    if (!manifest.empty()) return read_manifest(manifest);
    if (joins) return list_shards(words, is_container_file);
    ShardList files;
    for (const std::string& word : words) files.shards.push_back({.path = word});
    return files;
  }();
  if (!list) {
    // The detail is a whole message, with the path.
    Error error = list.error();
    if (error.code == Code::kNotFound) error = {.code = Code::kIo, .detail = error.detail, .os_error = ENOENT};
    raise(exception_of(error, {}));
  }
  py::list shards;
  for (const Shard& shard : list->shards) shards.append(py::make_tuple(path_text(shard.path), shard.is_missing));
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

std::vector<std::uint64_t> places(const Permutation& permutation, std::uint64_t begin, std::uint64_t end) {
  std::vector<std::uint64_t> numbers;
  for (; begin < end; ++begin) numbers.push_back(permutation.at(begin));
  return numbers;
}

}  // namespace
}  // namespace recordfs::python

PYBIND11_MODULE(_recordfs, module) {
  namespace py = pybind11;
  using namespace recordfs::python;
  watch_forks();
  make_buffer_type();
  module.doc() = "The C++ part of recordfs. Use the package recordfs instead.";
  module.attr("__version__") = RECORDFS_VERSION;
  module.def("named_shards", &named_shards, py::arg("words"), py::arg("joins"), py::arg("manifest"));
  module.def("sample", &sample, py::arg("size"), py::arg("count"), py::arg("seed"));
  py::class_<recordfs::Permutation>(module, "Permutation")
      .def(py::init<std::uint64_t, std::uint64_t>(), py::arg("size"), py::arg("seed"))
      .def("at",
           [](const recordfs::Permutation& permutation, std::uint64_t place) {
             if (place >= permutation.size()) throw py::index_error("no such place");
             return permutation.at(place);
           })
      .def("places", &places, py::arg("begin"), py::arg("end"));
  define_set(module);
  define_stream(module);
  define_keys(module);
}
