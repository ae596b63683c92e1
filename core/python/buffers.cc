#include "core/python/buffers.h"

#include <array>
#include <new>
#include <utility>

#include "core/python/process.h"

namespace recordfs::python {

namespace py = pybind11;

namespace {

// What a memoryview holds.
struct BufferObject {
  PyObject_HEAD std::shared_ptr<const void> owner;
  Bytes bytes;
  Py_ssize_t items;
  Py_ssize_t item_size;
  unsigned generation;
  char format[2];
};

PyTypeObject* buffer_type = nullptr;

BufferObject* as_buffer(PyObject* object) { return reinterpret_cast<BufferObject*>(object); }

int get_buffer(PyObject* self, Py_buffer* view, int flags) {
  BufferObject* const buffer = as_buffer(self);
  static const std::byte kEmpty{};
  const std::byte* const data = buffer->bytes.empty() ? &kEmpty : buffer->bytes.data();
  const auto size = static_cast<Py_ssize_t>(buffer->bytes.size());
  if (PyBuffer_FillInfo(view, self, const_cast<std::byte*>(data), size, 1, flags) != 0) return -1;
  view->itemsize = buffer->item_size;
  if (view->format != nullptr) view->format = buffer->format;
  if (view->shape != nullptr) view->shape = &buffer->items;
  if (view->strides != nullptr) view->strides = &buffer->item_size;
  return 0;
}

void destroy(PyObject* self) {
  BufferObject* const buffer = as_buffer(self);
  PyTypeObject* const type = Py_TYPE(self);
  // In a forked child, the memory may belong to threads that it does not have.
  if (buffer->generation != fork_generation()) new std::shared_ptr<const void>(std::move(buffer->owner));
  buffer->owner.~shared_ptr();
  PyObject_Free(self);
  Py_DECREF(type);
}

py::object view_of(Bytes bytes, std::shared_ptr<const void> owner, Py_ssize_t item_size, char format) {
  BufferObject* const buffer = PyObject_New(BufferObject, buffer_type);
  if (buffer == nullptr) throw py::error_already_set();
  const auto holder = py::reinterpret_steal<py::object>(reinterpret_cast<PyObject*>(buffer));
  new (&buffer->owner) std::shared_ptr<const void>(std::move(owner));
  new (&buffer->bytes) Bytes(bytes);
  buffer->items = static_cast<Py_ssize_t>(bytes.size()) / item_size;
  buffer->item_size = item_size;
  buffer->generation = fork_generation();
  buffer->format[0] = format;
  buffer->format[1] = '\0';
  PyObject* const view = PyMemoryView_FromObject(holder.ptr());
  if (view == nullptr) throw py::error_already_set();
  return py::reinterpret_steal<py::object>(view);
}

}  // namespace

void make_buffer_type() {
  static std::array<PyType_Slot, 3> slots{{{Py_tp_dealloc, reinterpret_cast<void*>(&destroy)},
                                           {Py_bf_getbuffer, reinterpret_cast<void*>(&get_buffer)},
                                           {0, nullptr}}};
  static PyType_Spec spec{.name = "recordfs._recordfs._Buffer",
                          .basicsize = sizeof(BufferObject),
                          .itemsize = 0,
                          .flags = Py_TPFLAGS_DEFAULT,
                          .slots = slots.data()};
  buffer_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  if (buffer_type == nullptr) throw py::error_already_set();
}

py::object memory_view(Bytes bytes, std::shared_ptr<const void> owner) {
  return view_of(bytes, std::move(owner), 1, 'B');
}

py::object memory_view(std::vector<std::int64_t> numbers) {
  const auto owner = std::make_shared<const std::vector<std::int64_t>>(std::move(numbers));
  return view_of(std::as_bytes(std::span(*owner)), owner, sizeof(std::int64_t), 'q');
}

py::object record_object(Bytes bytes, const std::shared_ptr<const void>& owner, bool copies) {
  if (!copies) return memory_view(bytes, owner);
  PyObject* const copy =
      PyBytes_FromStringAndSize(reinterpret_cast<const char*>(bytes.data()), static_cast<Py_ssize_t>(bytes.size()));
  if (copy == nullptr) throw py::error_already_set();
  return py::reinterpret_steal<py::object>(copy);
}

}  // namespace recordfs::python
