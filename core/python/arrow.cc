#include "core/python/arrow.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "core/python/batch_builder.h"
#include "core/python/interrupt.h"
#include "core/python/process.h"

// The structures of the interface, with the names of its specification.
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

namespace recordfs::python {

namespace py = pybind11;

namespace {

constexpr std::size_t kMostRecords = 65536;    // of an array
constexpr std::size_t kMostBytes = 16u << 20;  // of an array; one record may exceed it
constexpr std::size_t kColumns = 5;
constexpr std::array<std::pair<const char*, const char*>, kColumns> kFields{
    {{"ordinal", "l"}, {"shard", "l"}, {"offset", "l"}, {"index", "l"}, {"data", "Z"}}};

// --- the schema

void release_field(ArrowSchema* schema) { schema->release = nullptr; }

// Owns the schemas of the columns.
struct Fields {
  std::array<ArrowSchema, kColumns> fields{};
  std::array<ArrowSchema*, kColumns> pointers{};
};

void release_schema(ArrowSchema* schema) {
  const std::unique_ptr<Fields> owned(static_cast<Fields*>(schema->private_data));
  for (ArrowSchema* field : owned->pointers) {
    if (field->release != nullptr) field->release(field);  // the consumer may have moved it
  }
  schema->release = nullptr;
}

void make_schema(ArrowSchema* schema) {
  auto owned = std::make_unique<Fields>();
  for (std::size_t i = 0; i < kColumns; ++i) {
    owned->fields[i] = {.format = kFields[i].second,
                        .name = kFields[i].first,
                        .metadata = nullptr,
                        .flags = 0,
                        .n_children = 0,
                        .children = nullptr,
                        .dictionary = nullptr,
                        .release = &release_field,
                        .private_data = nullptr};
    owned->pointers[i] = &owned->fields[i];
  }
  *schema = {.format = "+s",
             .name = "",
             .metadata = nullptr,
             .flags = 0,
             .n_children = kColumns,
             .children = owned->pointers.data(),
             .dictionary = nullptr,
             .release = &release_schema,
             .private_data = owned.get()};
  owned.release();
}

// --- arrays

using Numbers = std::vector<std::int64_t>;

// Owns one column, which a consumer may release apart from the others.
struct Column {
  Numbers numbers{};  // values, or offsets
  Slice data{};
  std::array<const void*, 3> buffers{};
};

void release_column(ArrowArray* array) {
  delete static_cast<Column*>(array->private_data);
  array->release = nullptr;
}

struct Columns {
  std::array<ArrowArray, kColumns> arrays{};
  std::array<ArrowArray*, kColumns> pointers{};
  std::array<const void*, 1> buffers{nullptr};
};

void release_array(ArrowArray* array) {
  const std::unique_ptr<Columns> owned(static_cast<Columns*>(array->private_data));
  for (ArrowArray* column : owned->pointers) {
    if (column->release != nullptr) column->release(column);
  }
  array->release = nullptr;
}

// The content of an array, as it is gathered.
struct Batch {
  explicit Batch(std::size_t expected) : data(expected) {}
  std::array<Numbers, kColumns - 1> numbers{};
  BatchBuilder data;
};

void make_array(Batch batch, ArrowArray* array) {
  const auto length = static_cast<std::int64_t>(batch.data.records());
  auto owned = std::make_unique<Columns>();
  std::array<std::unique_ptr<Column>, kColumns> columns;
  for (std::size_t i = 0; i < kColumns; ++i) {
    columns[i] = std::make_unique<Column>();
    const bool is_data = i + 1 == kColumns;
    columns[i]->numbers = is_data ? batch.data.take_offsets() : std::move(batch.numbers[i]);
    if (is_data) columns[i]->data = batch.data.take_data();
  }
  static const std::byte kEmpty{};
  for (std::size_t i = 0; i < kColumns; ++i) {
    Column& column = *columns[i].release();
    const Bytes data = column.data.bytes;
    column.buffers = {nullptr, column.numbers.data(), data.empty() ? &kEmpty : data.data()};
    owned->arrays[i] = {.length = length,
                        .null_count = 0,
                        .offset = 0,
                        .n_buffers = i + 1 == kColumns ? 3 : 2,
                        .n_children = 0,
                        .buffers = column.buffers.data(),
                        .children = nullptr,
                        .dictionary = nullptr,
                        .release = &release_column,
                        .private_data = &column};
    owned->pointers[i] = &owned->arrays[i];
  }
  *array = {.length = length,
            .null_count = 0,
            .offset = 0,
            .n_buffers = 1,
            .n_children = kColumns,
            .buffers = owned->buffers.data(),
            .children = owned->pointers.data(),
            .dictionary = nullptr,
            .release = &release_array,
            .private_data = owned.get()};
  owned.release();
}

// --- the stream

class ArrowRecords {
 public:
  ArrowRecords(std::shared_ptr<OpenedSet> set, RecordStream::Options options, bool skips)
      : set_(std::move(set)),
        skips_(skips),
        stream_(owned_by_process(std::make_unique<RecordStream>(set_->set(), std::move(options)))) {}

  // Returns 0, or errno after setting error(). An array without release is the end.
  int next(ArrowArray* array) {
    array->release = nullptr;
    if (generation_ != fork_generation()) return fail(EINVAL, "the process has forked since this stream was made");
    Batch batch(most_);
    while (batch.data.records() < kMostRecords && batch.data.size() < kMostBytes) {
      const int status = advance();
      if (status != 0 && batch.data.records() == 0) return std::exchange(pending_, 0);
      if (status != 0 || is_over_) break;
      take(batch);
    }
    most_ = std::max(most_, batch.data.size());
    if (batch.data.records() > 0) make_array(std::move(batch), array);
    return 0;
  }
  int fail(int status, std::string text) {
    error_ = std::move(text);
    return status;
  }
  const char* error() const { return error_.empty() ? nullptr : error_.c_str(); }

 private:
  std::size_t readable() const {
    return problem_ < block_.problems.size() ? block_.problems[problem_].before : block_.records.size();
  }

  // Moves to the next record, or sets is_over_. Returns pending_.
  int advance() {
    while (at_ >= readable() && !is_over_ && pending_ == 0) {
      if (problem_ < block_.problems.size()) {
        handle(block_.problems[problem_++].error);
      } else {
        next_block();
      }
    }
    return pending_;
  }

  void handle(const Error& error) {
    const bool may_skip = is_permanent(error.code) || error.code == Code::kNoContainer;
    if (may_skip && skips_) return;
    is_over_ = true;
    const std::string& path = set_->plan().list.shards[block_.shard].path;
    pending_ =
        fail(error.code == Code::kIo && error.os_error != 0 ? error.os_error : EIO, path + ": " + to_string(error));
  }

  void next_block() {
    block_ = RecordBlock();
    at_ = problem_ = part_ = in_part_ = 0;
    RecordStream::Next next{};
    do {
      next = wait();
      if (next == RecordStream::Next::kTimeout && is_interrupted()) {
        is_over_ = true;
        pending_ = fail(EINTR, "interrupted");
        return;
      }
    } while (next == RecordStream::Next::kTimeout);
    is_over_ = next == RecordStream::Next::kEnd;
  }

  RecordStream::Next wait() {
    if (PyGILState_Check() == 0) return stream_->next(block_, kSignalPoll);
    const py::gil_scoped_release release;
    return stream_->next(block_, kSignalPoll);
  }

  // Runs signal handlers, if this is the main thread. An exception cannot pass through the interface.
  static bool is_interrupted() {
    const py::gil_scoped_acquire acquire;
    if (PyErr_CheckSignals() == 0) return false;
    PyErr_Clear();
    return true;
  }

  // Moves records of the block into the batch, up to a problem or the end of a chunk.
  void take(Batch& batch) {
    const ChunkPart& part = block_.chunks[part_];
    const std::size_t count = std::min(
        {readable() - at_, kMostRecords - batch.data.records(), static_cast<std::size_t>(part.records - in_part_)});
    batch.data.append(block_.records.subspan(at_, count));
    for (std::size_t i = 0; i < count; ++i) {
      batch.numbers[0].push_back(static_cast<std::int64_t>(block_.first_ordinal + at_ + i));
      batch.numbers[1].push_back(static_cast<std::int64_t>(block_.shard));
      batch.numbers[2].push_back(static_cast<std::int64_t>(part.begin));
      batch.numbers[3].push_back(static_cast<std::int64_t>(part.index + in_part_ + i));
    }
    at_ += count;
    in_part_ += count;
    if (in_part_ < part.records) return;
    ++part_;
    in_part_ = 0;
  }

  const std::shared_ptr<OpenedSet> set_;
  const bool skips_;
  const unsigned generation_ = fork_generation();
  RecordBlock block_;
  std::size_t at_ = 0;         // the next record
  std::size_t problem_ = 0;    // the next problem
  std::size_t part_ = 0;       // the chunk of the next record
  std::uint64_t in_part_ = 0;  // records of it that were taken
  std::size_t most_ = 0;       // bytes of the largest array
  bool is_over_ = false;
  int pending_ = 0;  // errno, to be returned after the records before it
  std::string error_;
  const std::shared_ptr<RecordStream> stream_;
};

ArrowRecords& records_of(ArrowArrayStream* stream) { return *static_cast<ArrowRecords*>(stream->private_data); }

int get_schema(ArrowArrayStream* stream, ArrowSchema* out) {
  try {
    make_schema(out);
    return 0;
  } catch (const std::bad_alloc&) {
    return records_of(stream).fail(ENOMEM, "no memory");
  }
}

int get_next(ArrowArrayStream* stream, ArrowArray* out) {
  try {
    return records_of(stream).next(out);
  } catch (const std::bad_alloc&) {
    return records_of(stream).fail(ENOMEM, "no memory");
  }
}

const char* get_last_error(ArrowArrayStream* stream) { return records_of(stream).error(); }

void release_stream(ArrowArrayStream* stream) {
  delete &records_of(stream);
  stream->release = nullptr;
}

constexpr const char* kCapsule = "arrow_array_stream";

void destroy_capsule(PyObject* capsule) {
  auto* const stream = static_cast<ArrowArrayStream*>(PyCapsule_GetPointer(capsule, kCapsule));
  if (stream->release != nullptr) stream->release(stream);
  delete stream;
}

}  // namespace

py::capsule arrow_stream(std::shared_ptr<OpenedSet> set, RecordStream::Options options, bool skips) {
  auto records = std::make_unique<ArrowRecords>(std::move(set), std::move(options), skips);
  auto stream = std::make_unique<ArrowArrayStream>(ArrowArrayStream{.get_schema = &get_schema,
                                                                    .get_next = &get_next,
                                                                    .get_last_error = &get_last_error,
                                                                    .release = &release_stream,
                                                                    .private_data = records.get()});
  PyObject* const capsule = PyCapsule_New(stream.get(), kCapsule, &destroy_capsule);
  if (capsule == nullptr) throw py::error_already_set();
  stream.release();
  records.release();
  return py::reinterpret_steal<py::capsule>(capsule);
}

}  // namespace recordfs::python
