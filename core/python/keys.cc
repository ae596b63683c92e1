// recordfs._recordfs.Keys: the keys of a database.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/database/database.h"
#include "core/database/key_order.h"
#include "core/dataset/database_files.h"
#include "core/dataset/opened_set.h"
#include "core/python/bindings.h"
#include "core/python/errors.h"
#include "core/python/interrupt.h"
#include "core/python/process.h"

namespace recordfs::python {
namespace {

namespace py = pybind11;

constexpr std::size_t kListKeys = 1024;
constexpr std::uint64_t kListBytes = 4u << 20;

struct OpenedDatabase {
  std::string path;
  std::shared_ptr<const database::Database> database;
};

// Opens the directory `path`; if it is empty, the files of the data set. `wal_directory`, `table_directories`: as in
// database::Options.
std::shared_ptr<OpenedDatabase> open_keys(const OpenedSet& set, const std::string& path, std::string wal_directory,
                                          std::vector<std::string> table_directories) {
  check_path(path);
  check_path(wal_directory);
  for (const std::string& directory : table_directories) check_path(directory);
  const database::Options options{.limits = set.plan().limits,
                                  .wal_directory = std::move(wal_directory),
                                  .table_directories = std::move(table_directories)};
  const std::string shown = path.empty() ? set.plan().list.shards.front().path : path;
  auto opened = run_long([&](const RequestContext& context) -> Result<std::unique_ptr<const database::Database>> {
    if (!path.empty()) return database::Database::open(context, path, options);
    const ShardList& list = set.plan().list;
    if (list.shards.size() == 1) return database::Database::open_file(context, list.shards.front().path, options);
    return open_database(context, list, options).database;
  });
  return std::make_shared<OpenedDatabase>(OpenedDatabase{shown, value_or_raise(std::move(opened), shown)});
}

// (id, name)
py::list families(const OpenedDatabase& opened) {
  py::list list;
  for (const database::Family& family : opened.database->families()) {
    list.append(py::make_tuple(family.id, shown_text(family.name)));
  }
  return list;
}

// Returns whether a key is before another one in the order of a family.
bool is_before(const OpenedDatabase& opened, std::uint32_t family, const std::string& a, const std::string& b) {
  const auto families = opened.database->families();
  const auto found = std::ranges::find(families, family, &database::Family::id);
  if (found == families.end()) throw py::value_error("no such column family");
  return database::KeyOrder::of(found->comparator).of_user_keys().is_before(as_bytes(a), as_bytes(b));
}

py::bytes bytes_of(Bytes bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

// (sequence number, timestamp): what a reader sees.
using At = std::pair<std::uint64_t, std::uint64_t>;
database::Snapshot snapshot_of(const At& at) { return {at.first, at.second}; }

// Returns (value, whether it may be an older one); None if the key has no value.
py::object get(const OpenedDatabase& opened, std::uint32_t family, const std::string& key, const At& at) {
  const auto found = run_long([&](const RequestContext& context) {
    return opened.database->get(context, family, as_bytes(key), snapshot_of(at));
  });
  if (!found && found.error().code == Code::kNotFound) return py::none();
  if (!found) raise(exception_of(found.error(), opened.path));
  return py::make_tuple(bytes_of(found->value.bytes), found->version.may_be_stale);
}

// Returns whether a key has a value, also if that is merged by an operator that recordfs does not have.
bool has_value(const OpenedDatabase& opened, std::uint32_t family, const std::string& key, const At& at) {
  auto outcome = run_long([&](const RequestContext& context) -> Result<bool> {
    const auto found = opened.database->get(context, family, as_bytes(key), snapshot_of(at));
    if (found) return true;
    if (found.error().code == Code::kNotFound) return false;
    const bool may_be_merged = found.error().code == Code::kUnsupported;
    if (may_be_merged && opened.database->operands(context, family, as_bytes(key), snapshot_of(at))) return true;
    return found.error();
  });
  return value_or_raise(std::move(outcome), opened.path);
}

// What could not be read: (file, reason, loses_data).
py::list problems(const OpenedDatabase& opened) {
  py::list list;
  for (const database::Problem& problem : opened.database->problems()) {
    list.append(py::make_tuple(path_text(problem.file), shown_text(to_string(problem.error)), problem.loses_data));
  }
  return list;
}

// Returns an exception for each problem that may have cost keys or newer values. `directory`: of their files.
py::list loss_errors(const OpenedDatabase& opened, const std::string& directory) {
  py::list list;
  for (const database::Problem& problem : opened.database->problems()) {
    if (!problem.loses_data) continue;
    Error error = problem.error;
    if (error.code == Code::kNotFound) error.code = Code::kDamage;  // a missing file
    error.detail += " (keys or newer values may be lost)";
    list.append(exception_of(error, (std::filesystem::path(directory) / problem.file).string()));
  }
  return list;
}

// Functions may be called from several threads; each key is returned once.
class KeyStream {
 public:
  KeyStream(std::shared_ptr<OpenedDatabase> opened, std::uint32_t family, database::KeyRange range, const At& at,
            bool has_values)
      : opened_(std::move(opened)),
        has_values_(has_values),
        keys_(opened_->database->keys(family, std::move(range), snapshot_of(at))) {}

  // Returns the next (key, value) pairs, at least one; without values, keys. Throws StopIteration after the last one.
  py::list next() {
    const IteratorMutex::Lock lock(mutex_);
    std::vector<Entry> entries;
    const auto outcome = run_long([&](const RequestContext& context) { return take(context, entries); });
    if (!outcome && entries.empty()) raise(exception_of(outcome.error(), opened_->path));
    if (entries.empty()) throw py::stop_iteration();
    py::list list(entries.size());
    for (std::size_t i = 0; i < entries.size(); ++i) {
      const Entry& entry = entries[i];
      if (!has_values_) {
        list[i] = py::bytes(entry.key);
      } else if (entry.value) {
        list[i] = py::make_tuple(py::bytes(entry.key), bytes_of(entry.value->bytes));
      } else {
        list[i] = py::make_tuple(py::bytes(entry.key), exception_of(entry.value.error(), opened_->path));
      }
    }
    return list;
  }

 private:
  struct Entry {
    std::string key;
    Result<Slice> value;
  };

  Result<void> take(const RequestContext& context, std::vector<Entry>& entries) {
    std::uint64_t bytes = 0;
    while (entries.size() < kListKeys && bytes < kListBytes) {
      ASSIGN_OR_RETURN(const bool has_key, keys_->next(context));
      if (!has_key) return {};
      Entry entry{std::string(as_text(keys_->key())), has_values_ ? keys_->value(context) : Result<Slice>(Slice{})};
      bytes += entry.key.size() + (entry.value ? entry.value->bytes.size() : 0);
      entries.push_back(std::move(entry));
    }
    return {};
  }

  const std::shared_ptr<OpenedDatabase> opened_;
  const bool has_values_;
  IteratorMutex mutex_;  // guards the next
  const std::unique_ptr<database::KeyIterator> keys_;
};

std::shared_ptr<KeyStream> iterate(std::shared_ptr<OpenedDatabase> opened, std::uint32_t family,
                                   const std::string& from, std::optional<std::string> to, const std::string& prefix,
                                   const At& at, bool has_values) {
  return std::make_shared<KeyStream>(std::move(opened), family,
                                     database::KeyRange{.from = from, .to = std::move(to), .prefix = prefix}, at,
                                     has_values);
}

}  // namespace

void define_keys(py::module_& module) {
  module.def("is_database", [](const std::string& path) {
    check_path(path);
    return run_long([&](const RequestContext&) { return database::is_database(path); }).value_or(false);
  });
  module.attr("NEWEST") = database::kNewest;
  py::class_<OpenedDatabase, std::shared_ptr<OpenedDatabase>>(module, "Keys")
      .def(py::init(&open_keys), py::arg("set"), py::arg("path"), py::arg("wal_dir"), py::arg("db_paths"))
      .def("families", &families)
      .def("is_before", &is_before)
      .def("get", &get)
      .def("has_value", &has_value)
      .def("problems", &problems)
      .def("loss_errors", &loss_errors, py::arg("directory"))
      .def("iterate", &iterate, py::arg("family"), py::arg("first"), py::arg("end"), py::arg("prefix"), py::arg("at"),
           py::arg("has_values"));
  py::class_<KeyStream, std::shared_ptr<KeyStream>>(module, "KeyStream")
      .def("__iter__", [](const py::object& self) { return self; })
      .def("__next__", &KeyStream::next);
}

}  // namespace recordfs::python
