#include "core/python/arrow.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/thrown.h"
#include "core/columns/arrow_interface.h"
#include "core/columns/batch_builder.h"
#include "core/columns/row_batch.h"
#include "core/python/buffers.h"
#include "core/python/errors.h"
#include "core/python/interrupt.h"
#include "core/python/process.h"

namespace recordfs::python {

namespace py = pybind11;

namespace {

constexpr std::size_t kMostRecords = 65536;    // of an array
constexpr std::size_t kMostBytes = 16u << 20;  // of an array; one record may exceed it
constexpr std::array kNumbers{"ordinal", "shard", "offset", "index"};

using Numbers = std::vector<std::int64_t>;

// The content of an array, as it is gathered.
struct Batch {
  Batch(std::size_t expected, const RowSchema* schema) : data(expected) {
    if (schema != nullptr) decoded = std::make_unique<RowBatch>(*schema);
  }
  std::size_t records() const { return numbers.front().size(); }
  bool has_room() const { return !is_full && records() < kMostRecords && bytes < kMostBytes; }
  // Returns whether there are no rows. Scalars may be several rows of a record, or none.
  bool is_empty() const { return records() == 0 && (decoded == nullptr || decoded->size() == 0); }

  std::array<Numbers, kNumbers.size()> numbers{};
  BatchBuilder data;  // unless the records are decoded
  std::unique_ptr<RowBatch> decoded{};
  std::size_t bytes = 0;  // of records
  bool is_full = false;
};

ArrowField schema_of(const RowSchema* schema) {
  ArrowField root{.format = "+s"};
  for (const char* const name : kNumbers) root.children.push_back({.format = "l", .name = name});
  root.children.push_back(schema == nullptr ? ArrowField{.format = "Z", .name = "data"}
                                            : arrow_field_of(schema->root()));
  return root;
}

ArrowColumn column_of(Batch batch) {
  const auto length = static_cast<std::int64_t>(batch.records());
  ArrowColumn root{.length = length, .buffers = {Slice()}};
  for (Numbers& numbers : batch.numbers) {
    root.children.push_back({.length = length, .buffers = {Slice(), buffer_of(std::move(numbers))}});
  }
  if (batch.decoded != nullptr) {
    root.children.push_back(batch.decoded->finish());
  } else {
    Slice data = batch.data.take_data();
    root.children.push_back(
        {.length = length, .buffers = {Slice(), buffer_of(batch.data.take_offsets()), std::move(data)}});
  }
  return root;
}

// --- the stream

// What was skipped instead of ending the stream.
struct SkippedError {
  Error error;
  std::size_t shard = 0;
};

class ArrowRecords {
 public:
  ArrowRecords(std::shared_ptr<OpenedSet> set, RecordStream::Options options, const std::string& on_damage,
               std::shared_ptr<const RowSchema> schema, SelectScalar selects = {})
      : set_(std::move(set)),
        skips_(on_damage != "raise"),
        reports_(on_damage == "report"),
        schema_(std::move(schema)),
        selects_(std::move(selects)),
        stream_(owned_by_process(std::make_unique<RecordStream>(set_->set(), std::move(options)))) {}

  // Returns 0, or errno after setting error(). An array without release is the end.
  int next(ArrowArray* array) {
    array->release = nullptr;
    std::optional<Batch> batch;
    const int status = next(batch);
    if (status == 0 && batch) export_column(column_of(std::move(*batch)), array);
    return status;
  }
  // The same for rows of the schema alone. Keeps an exception of a signal handler.
  int next(std::optional<ArrowColumn>& rows) {
    has_rows_alone_ = true;
    std::optional<Batch> batch;
    const int status = next(batch);
    if (status == 0 && batch) rows = batch->decoded->finish();
    return status;
  }
  // Moves what was skipped since the last call out of this; nothing unless it is to be reported.
  std::vector<SkippedError> take_skipped() { return std::exchange(to_report_, {}); }
  // Warns of what was skipped. Throws the exception that the user's filter makes of a warning. Needs the GIL.
  void warn_of(const std::vector<SkippedError>& skipped) const {
    for (const auto& [error, shard] : skipped) {
      const py::object exception = exception_of(error, set_->plan().list.shards[shard].path);
      in_python([&] { py::module_::import("recordfs._errors").attr("warn_of")(exception); });
    }
  }
  // Throws the exception of what ended the stream.
  [[noreturn]] void raise_failure() const {
    if (!failure_) throw py::value_error(error_);
    raise(exception_of(*failure_, failed_path_));
  }
  ArrowField schema() const { return schema_of(schema_.get()); }
  int fail(int status, std::string text) {
    error_ = std::move(text);
    return status;
  }
  const char* error() const { return error_.empty() ? nullptr : error_.c_str(); }

 private:
  int next(std::optional<Batch>& batch) {
    if (generation_ != fork_generation()) return fail(EINVAL, "the process has forked since this stream was made");
    batch.emplace(schema_ == nullptr ? most_ : 0, schema_.get());
    while (batch->has_room()) {
      const int status = advance();
      if (status != 0 && batch->is_empty()) return std::exchange(pending_, 0);
      if (status != 0 || is_over_) break;
      take(*batch);
    }
    most_ = std::max(most_, batch->data.size());
    if (batch->is_empty() && is_over_) batch.reset();
    return 0;
  }

  std::size_t readable() const {
    return problem_ < block_.problems.size() ? block_.problems[problem_].before : block_.records.size();
  }

  // Moves to the next record, or sets is_over_. Returns pending_.
  int advance() {
    while (at_ >= readable() && !is_over_ && pending_ == 0) {
      if (problem_ < block_.problems.size()) {
        const StreamProblem& problem = block_.problems[problem_++];
        handle(problem.error);
        if (pending_ == 0) set_->skipped().add(block_.shard, problem);
      } else {
        next_block();
      }
    }
    return pending_;
  }

  void handle(const Error& error) {
    if (may_skip(error) && skips_) {
      if (reports_) to_report_.push_back({error, block_.shard});
      return;
    }
    is_over_ = true;
    const std::string& path = set_->plan().list.shards[block_.shard].path;
    failure_ = error;
    failed_path_ = path;
    pending_ = fail(error.code == Code::kIo && error.os_error != 0 ? error.os_error : EIO,
                    path + ": " + with_arguments(to_string(error)));
  }

  void next_block() {
    block_ = RecordBlock();
    at_ = problem_ = part_ = in_part_ = 0;
    RecordStream::Next next{};
    do {
      next = stream_->next(block_, kSignalPoll);
      if (next == RecordStream::Next::kTimeout && is_interrupted()) {
        is_over_ = true;
        pending_ = fail(EINTR, "interrupted");
        return;
      }
    } while (next == RecordStream::Next::kTimeout);
    is_over_ = next == RecordStream::Next::kEnd;
    if (schema_ != nullptr && !is_over_ && block_.shard != decoded_shard_) {
      decoder_ = decoder_of(block_.shard);
      decoded_shard_ = block_.shard;
    }
  }

  Result<RowDecoder> decoder_of(std::size_t shard) const {
    ASSIGN_OR_RETURN(auto store, set_->open_to_decode({}, shard));
    return schema_->decoder({}, std::move(store), set_->plan().list.shards[shard].path_in_set(), selects_);
  }

  // Runs signal handlers, if this is the main thread. An exception cannot pass through the interface.
  bool is_interrupted() const {
    const GilAcquire acquire;
    if (PyErr_CheckSignals() == 0) return false;
    if (!has_rows_alone_) PyErr_Clear();
    return true;
  }

  // Moves records of the block into the batch, up to a problem or the end of a chunk.
  void take(Batch& batch) {
    const ChunkPart& part = block_.chunks[part_];
    const std::size_t count =
        std::min({readable() - at_, kMostRecords - batch.records(), static_cast<std::size_t>(part.records - in_part_)});
    const std::size_t taken = schema_ == nullptr ? append(batch, count) : decode(batch, count);
    for (std::size_t i = 0; i < taken; ++i) {
      batch.numbers[0].push_back(static_cast<std::int64_t>(ordinal_of(at_ + i)));
      batch.numbers[1].push_back(static_cast<std::int64_t>(block_.shard));
      batch.numbers[2].push_back(static_cast<std::int64_t>(part.begin));
      batch.numbers[3].push_back(static_cast<std::int64_t>(part.index + in_part_ + i));
    }
    at_ += taken;
    in_part_ += taken;
    if (in_part_ < part.records) return;
    ++part_;
    in_part_ = 0;
  }

  std::size_t append(Batch& batch, std::size_t count) const {
    batch.data.append(block_.records.subspan(at_, count));
    batch.bytes = batch.data.size();
    return count;
  }

  // Decodes the next records. Returns how many were appended: fewer if the batch is full, or before an error.
  std::size_t decode(Batch& batch, std::size_t count) {
    RowBatch& rows = *batch.decoded;
    for (std::size_t i = 0; i < count; ++i) {
      if (!batch.has_room()) return i;
      const Bytes record = block_.records[at_ + i];
      LeftOut left_out;
      auto appended = decoder_ ? rows.append(*decoder_, record, &left_out) : Result<void>(decoder_.error());
      if (!appended) {
        batch.is_full = appended.error().code == Code::kLimit && rows.size() > 0;
        if (batch.is_full) return i;
        left_out.errors.assign(1, appended.error());
      }
      for (Error& error : left_out.errors) {
        error.position = block_.chunks[part_].begin;
        if (!is_over_) handle(error);
      }
      if (is_over_) return i;
      // Scalars are no rows of their record. Without the record, a row of nulls would look like a good one.
      const bool has_row = !schema_->has_scalars() && !has_rows_alone_;
      if (!appended && has_rows_alone_) note_unfit(left_out.errors.front(), at_ + i);
      if (!appended) appended = has_row ? rows.append_null() : Result<void>();
      if (!appended) {
        batch.is_full = true;
        return i;
      }
      batch.bytes += record.size();
    }
    return count;
  }

  std::uint64_t ordinal_of(std::size_t index) const {
    return block_.ordinals.empty() ? block_.first_ordinal + index : block_.ordinals[index];
  }

  void note_unfit(const Error& why, std::size_t index) const {
    set_->skipped().add_record(block_.shard, why.position, ordinal_of(index), why);
  }

  const std::shared_ptr<OpenedSet> set_;
  const bool skips_;
  const bool reports_;
  const std::shared_ptr<const RowSchema> schema_;  // null: records are not decoded
  const SelectScalar selects_;
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
  std::vector<SkippedError> to_report_;
  std::optional<Error> failure_;  // of the file
  std::string failed_path_;
  bool has_rows_alone_ = false;  // and no records; then an exception of a signal handler is kept
  std::size_t decoded_shard_ = SIZE_MAX;
  Result<RowDecoder> decoder_ = Error{};  // of its records
  const std::shared_ptr<RecordStream> stream_;
};

ArrowRecords& records_of(ArrowArrayStream* stream) { return *static_cast<ArrowRecords*>(stream->private_data); }

int get_schema(ArrowArrayStream* stream, ArrowSchema* out) {
  ArrowRecords& records = records_of(stream);
  return has_memory_for([&] { export_field(records.schema(), out); }) ? 0 : records.fail(ENOMEM, "no memory");
}

int get_next(ArrowArrayStream* stream, ArrowArray* out) {
  ArrowRecords& records = records_of(stream);
  int status = 0;
  const bool has_memory = has_memory_for([&] {
    std::optional<GilRelease> release;
    if (has_gil()) release.emplace();
    status = records.next(out);
  });
  if (!has_memory) return records.fail(ENOMEM, "no memory");
  const auto skipped = records.take_skipped();
  if (skipped.empty()) return status;
  const GilAcquire acquire;
  // An exception cannot pass through the interface.
  const int failed = error_thrown_by([&] { records.warn_of(skipped); });
  if (failed == 0 || status != 0) return status;
  if (out->release != nullptr) out->release(out);
  return records.fail(failed, "a warning of what was skipped raised an exception");
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

// Rows of columns as Python objects, for NumPy.
class ColumnReader {
 public:
  ColumnReader(std::unique_ptr<ArrowRecords> records, SelectedColumns columns)
      : records_(std::move(records)), columns_(std::move(columns)) {}

  py::tuple field() const { return tuple_of(columns_.root()); }

  // Returns the next rows, of which there may be none; None at the end.
  py::object next() {
    std::optional<ArrowColumn> rows;
    int status = 0;
    std::vector<SkippedError> skipped;
    const bool has_memory = has_memory_for([&] {
      const GilRelease release;
      const std::lock_guard lock(mutex_);
      status = records_->next(rows);
      skipped = records_->take_skipped();
      if (rows) rows = columns_.select(std::move(*rows));
    });
    if (!has_memory) throw std::bad_alloc();
    // Of a signal handler: rows that were read before it are lost.
    if (PyErr_Occurred() != nullptr) throw py::error_already_set();
    records_->warn_of(skipped);
    if (status != 0) records_->raise_failure();
    return rows ? tuple_of(*rows) : py::object(py::none());
  }

 private:
  const std::unique_ptr<ArrowRecords> records_;
  const SelectedColumns columns_;
  std::mutex mutex_;  // of next()
};

}  // namespace

py::tuple tuple_of(const ArrowField& field) {
  py::list children;
  for (const ArrowField& child : field.children) children.append(tuple_of(child));
  return py::make_tuple(shown_text(field.name), field.format, children);
}

py::tuple tuple_of(const ArrowColumn& column) {
  py::list buffers;
  for (const Slice& buffer : column.buffers) {
    buffers.append(buffer.owner == nullptr ? py::object(py::none()) : memory_view(buffer.bytes, buffer.owner));
  }
  py::list children;
  for (const ArrowColumn& child : column.children) children.append(tuple_of(child));
  return py::make_tuple(column.length, column.null_count, buffers, children);
}

void define_column_reader(py::module_& module, const MakeColumnReader& make) {
  py::class_<ColumnReader>(module, "ColumnReader")
      .def(py::init([make](std::shared_ptr<OpenedSet> set, std::uint64_t begin, std::optional<std::uint64_t> end,
                           const std::string& on_damage, const std::optional<std::string>& condition,
                           std::vector<std::string> names, bool lists, bool scans) {
        auto rows = make(set, {.begin = begin, .end = end.value_or(UINT64_MAX)}, condition,
                         {.names = std::move(names), .lists = lists, .scans = scans});
        return std::make_unique<ColumnReader>(
            std::make_unique<ArrowRecords>(std::move(set), std::move(rows.options), on_damage, std::move(rows.schema),
                                           std::move(rows.selects)),
            std::move(rows.columns));
      }))
      .def("field", &ColumnReader::field)
      .def("next", &ColumnReader::next);
}

py::capsule arrow_stream(std::shared_ptr<OpenedSet> set, RecordStream::Options options, const std::string& on_damage,
                         std::shared_ptr<const RowSchema> schema) {
  auto records = std::make_unique<ArrowRecords>(std::move(set), std::move(options), on_damage, std::move(schema));
  auto stream = std::make_unique<ArrowArrayStream>(ArrowArrayStream{.get_schema = &get_schema,
                                                                    .get_next = &get_next,
                                                                    .get_last_error = &get_last_error,
                                                                    .release = &release_stream,
                                                                    .private_data = records.get()});
  PyObject* const capsule = PyCapsule_New(stream.get(), kCapsule, &destroy_capsule);
  if (capsule == nullptr) throw py::error_already_set();
  static_cast<void>(stream.release());
  static_cast<void>(records.release());
  return py::reinterpret_steal<py::capsule>(capsule);
}

}  // namespace recordfs::python
