// recordfs._recordfs.Stream: records in order, in lists or in batches.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "core/columns/batch_builder.h"
#include "core/columns/row_batch.h"
#include "core/dataset/defining_records.h"
#include "core/dataset/opened_set.h"
#include "core/dataset/record_stream.h"
#include "core/python/arrow.h"
#include "core/python/bindings.h"
#include "core/python/buffers.h"
#include "core/python/doubts.h"
#include "core/python/errors.h"
#include "core/python/found_record.h"
#include "core/python/interrupt.h"
#include "core/python/process.h"
#include "core/search/decoded_text.h"
#include "core/search/record_condition.h"
#include "core/search/wanted_fields.h"

namespace recordfs::python {
namespace {

namespace py = pybind11;

constexpr std::size_t kListRecords = 256;  // so that copies stay in a processor's cache until they are used

// (shard, begin, end)
using SplitTuple = std::tuple<std::size_t, Position, Position>;

std::shared_ptr<const RecordCondition> parsed(const std::string& condition) {
  auto made = RecordCondition::parse(condition);
  if (!made) throw py::value_error(made.error().detail);
  return std::move(*made);
}

// Returns the fields that columns and a condition, which may be null, need of the records. `set` must outlive the
// result.
FieldsOfShard wanted_fields(const OpenedSet& set, std::shared_ptr<const RowSchema> schema,
                            std::shared_ptr<const RecordCondition> condition) {
  return [&set, schema = std::move(schema), condition = std::move(condition)](
             std::size_t, const std::shared_ptr<const RecordStore>& store) {
    auto wanted = std::make_shared<FieldProjection>();
    const bool are_known = schema->add_wanted_fields(*wanted) &&
                           (condition == nullptr || add_wanted_fields({}, *store, set.plan().options.types,
                                                                      condition->condition().names(), *wanted));
    return are_known ? wanted : nullptr;
  };
}

// Functions may be called from several threads; each record is returned once.
class Stream {
 public:
  // `field`: what is searched of the decoded records, or all of them if it is empty; nullopt: their bytes. `condition`
  // may be null.
  Stream(std::shared_ptr<OpenedSet> set, RecordStream::Options options, const std::optional<std::string>& field,
         std::shared_ptr<const RecordCondition> condition, std::string on_damage, bool copies, bool is_numbered)
      : set_(std::move(set)),
        condition_(std::move(condition)),
        on_damage_(std::move(on_damage)),
        copies_(copies),
        searches_(options.matcher != nullptr || condition_ != nullptr),
        is_numbered_(is_numbered || options.matcher != nullptr) {
    if (condition_) options.selects = selector(*set_, condition_);
    if (field && !field->empty()) fields_ = std::make_shared<const FieldPaths>(std::vector<std::string>{*field});
    if (field) options.texts_of = texts();
    options.threads = set_->threads();
    options.largest_searched = set_->plan().limits.decoded_chunk;
    stream_ = owned_by_process(std::make_unique<RecordStream>(set_->set(), std::move(options)));
  }

  // Returns the next records, at least one; of a search or a numbered stream, as (ordinal, record). Throws
  // StopIteration after the last one.
  py::list next_list() {
    const IteratorMutex::Lock lock(mutex_);
    throw_later();
    if (!advance()) throw py::stop_iteration();
    const std::size_t count = std::min(readable() - at_, kListRecords);
    py::list list(count);
    for (std::size_t i = 0; i < count; ++i, ++at_) {
      py::object record = record_object(block_.records[at_], block_.owner, copies_);
      list[i] = is_numbered_ ? py::object(py::make_tuple(ordinal_of(at_), record)) : std::move(record);
    }
    return list;
  }

  // Returns the ordinals of the next records, at least one. Throws StopIteration after the last one.
  std::vector<std::uint64_t> next_ordinals() {
    const IteratorMutex::Lock lock(mutex_);
    throw_later();
    if (!advance()) throw py::stop_iteration();
    std::vector<std::uint64_t> ordinals;
    ordinals.reserve(readable() - at_);
    for (; at_ < readable(); ++at_) ordinals.push_back(ordinal_of(at_));
    return ordinals;
  }

  // Returns what is doubtful about the condition, for the records so far, as doubts_of().
  py::tuple doubts() {
    const IteratorMutex::Lock lock(mutex_);
    return doubts_of(*condition_);
  }

  // Return a text that says that none of the records that were searched has the field, and whether it is several
  // columns.
  std::optional<std::string> no_field() {
    const IteratorMutex::Lock lock(mutex_);
    const auto absent = fields_ ? fields_->absent() : std::vector<std::string>();
    return absent.empty() ? std::nullopt : std::optional(recordfs::no_field(absent.front(), fields_->names()));
  }
  bool has_several_fields() {
    const IteratorMutex::Lock lock(mutex_);
    return fields_ && !fields_->several().empty();
  }

  // Returns (records, path, chunk, reason) of those that could not be searched for a field.
  py::tuple undecoded() const {
    const auto summary = undecoded_.summary();
    return py::make_tuple(summary.records, path_text(summary.path), summary.chunk, shown_text(summary.why));
  }

  // Returns (data, offsets) of the next `count` records, fewer only at the end. Throws StopIteration after the last
  // one.
  py::tuple next_batch(std::size_t count) {
    const IteratorMutex::Lock lock(mutex_);
    throw_later();
    if (!advance()) throw py::stop_iteration();
    // Even records that follow each other in memory are copied: a view of them would keep the memory of a whole window
    // of the file, and reading on into new memory takes longer than the copy.
    BatchBuilder batch(most_);
    for (std::size_t left = count; left > 0 && (batch.records() == 0 ? advance() : advance_later());) {
      const std::size_t taken = std::min(readable() - at_, left);
      const GilRelease release;
      batch.append(block_.records.subspan(at_, taken));
      at_ += taken;
      left -= taken;
    }
    most_ = std::max(most_, batch.size());
    const Slice data = batch.take_data();
    return py::make_tuple(memory_view(data.bytes, data.owner), memory_view(batch.take_offsets()));
  }

 private:
  TextsOfShard texts() const {
    return [this](std::size_t shard, const std::shared_ptr<const RecordStore>& store) -> TextsOfRecord {
      return [this, decoding = set_->decoding(shard, store), &named = set_->plan().list.shards[shard]](
                 const ChunkInfo& chunk, Bytes record,
                 const std::function<void(std::string_view)>& take) -> Result<bool> {
        if (!decoding) return decoding.error();
        const SearchedFields fields{
            .paths = fields_.get(), .undecoded = &undecoded_, .path = named.path, .path_in_set = named.path_in_set()};
        return each_decoded_text({}, (*decoding)->decoder, chunk, record, fields, take);
      };
    };
  }

  std::uint64_t ordinal_of(std::size_t record) const {
    return searches_ ? block_.ordinals[record] : block_.first_ordinal + record;
  }

  // Returns the end of the records that can be read before the next problem.
  std::size_t readable() const {
    return problem_ < block_.problems.size() ? block_.problems[problem_].before : block_.records.size();
  }

  // Moves to the next record. Returns false if there is none. Handles problems, and throws those that are not skipped.
  bool advance() {
    while (at_ >= readable()) {
      if (problem_ < block_.problems.size()) {
        handle(block_.problems[problem_++]);
        continue;
      }
      if (is_over_ || !next_block()) return false;
    }
    return true;
  }

  // The same after records that must be returned first: the next call throws.
  bool advance_later() {
    try {
      return advance();
    } catch (py::error_already_set& error) {
      later_.emplace(error);
      return false;
    }
  }

  void throw_later() {
    if (!later_) return;
    py::error_already_set error(std::move(*later_));
    later_.reset();
    throw error;
  }

  void handle(const StreamProblem& problem) {
    const Error& error = problem.error;
    const std::string named = may_skip(error) ? std::string() : path_in(*set_, error);
    const py::object exception =
        exception_of(error, named.empty() ? set_->plan().list.shards[block_.shard].path : named);
    if (on_damage_ == "raise" || !may_skip(error)) {
      is_over_ = true;
      block_ = RecordBlock();
      at_ = problem_ = 0;
      raise(exception);
    }
    set_->skipped().add(block_.shard, problem);
    if (on_damage_ != "report") return;
    in_python([&] { py::module_::import("recordfs._errors").attr("warn_of")(exception); });
  }

  bool next_block() {
    for (;;) {
      RecordStream::Next next{};
      {
        const GilRelease release;
        block_ = RecordBlock();
        at_ = problem_ = 0;
        next = stream_->next(block_, kSignalPoll);
      }
      if (next == RecordStream::Next::kBlock) return true;
      is_over_ = next == RecordStream::Next::kEnd;
      if (is_over_) return false;
      if (PyErr_CheckSignals() != 0) throw py::error_already_set();
    }
  }

  const std::shared_ptr<OpenedSet> set_;
  const std::shared_ptr<const RecordCondition> condition_;  // null: all records are selected
  const std::string on_damage_;
  const bool copies_;
  const bool searches_;
  const bool is_numbered_;
  mutable UndecodedRecords undecoded_;
  std::shared_ptr<const FieldPaths> fields_;  // that are searched; null: all of the record
  IteratorMutex mutex_;                       // guards the following
  RecordBlock block_;
  std::size_t at_ = 0;       // the next record
  std::size_t problem_ = 0;  // the next problem
  std::size_t most_ = 0;     // bytes of the largest batch
  bool is_over_ = false;
  std::optional<py::error_already_set> later_;
  std::shared_ptr<RecordStream> stream_;  // destroyed before the set
};

RowSources row_sources(const OpenedSet& set, const WantedColumns& wanted, ColumnSelection selection = {}) {
  RowSources sources{.types = set.plan().options.types,
                     .limits = set.plan().limits,
                     .selection = std::move(selection),
                     .lists = wanted.lists};
  define_by_records(set.set(), wanted.scans, sources);
  sources.open = [&set](const RequestContext& context, std::size_t shard) {
    return set.open_to_decode(context, shard);
  };
  return sources;
}

// As RowSchema::find(), but fails with kUnsupported instead of kNotFound, which is an IndexError.
Result<std::shared_ptr<const RowSchema>> find_schema(const RequestContext& context, const RowSources& sources) {
  auto found = RowSchema::find(context, sources);
  if (found || found.error().code != Code::kNotFound) return found;
  Error why = found.error();
  why.code = Code::kUnsupported;
  return why;
}

// Returns what the records are decoded to.
std::shared_ptr<const RowSchema> row_schema(const OpenedSet& set, const WantedColumns& wanted) {
  return value_or_raise(
      run_long([&](const RequestContext& context) { return find_schema(context, row_sources(set, wanted)); }),
      set.plan().list.shards.front().path);
}

// Finds what the rows of a table are: their scalars, or selected columns of the records.
void find_columns(const OpenedSet& set, const WantedColumns& wanted, ColumnRows& rows) {
  ColumnSelection selection;
  if (!wanted.names.empty()) {
    auto made = ColumnSelection::of(wanted.names);
    if (!made) throw py::value_error(made.error().detail);
    selection = std::move(*made);
  }
  const auto find = [&](const RequestContext& context) -> Result<std::shared_ptr<const RowSchema>> {
    const RowSources sources = row_sources(set, wanted, selection);
    ASSIGN_OR_RETURN(auto scalars, RowSchema::find_scalars(context, sources));
    return scalars != nullptr ? scalars : find_schema(context, sources);
  };
  const std::string& path = set.plan().list.shards.front().path;
  rows.schema = value_or_raise(run_long(find), path);
  rows.columns = value_or_raise(SelectedColumns::of(arrow_field_of(rows.schema->root()), selection), path);
}

// Single records as rows. Thread-safe.
class RowReader {
 public:
  RowReader(std::shared_ptr<OpenedSet> set, std::vector<std::string> names, bool lists, bool scans)
      : set_(std::move(set)) {
    ColumnRows rows;
    find_columns(*set_, {.names = std::move(names), .lists = lists, .scans = scans}, rows);
    schema_ = std::move(rows.schema);
    columns_ = std::move(rows.columns);
  }

  // Returns whether a record is a row. Scalars are several rows of a record, or none.
  bool has_rows() const { return !schema_->has_scalars(); }
  py::tuple field() const { return tuple_of(columns_.root()); }

  // Returns the columns of one row, as ColumnReader does. REQUIRES: has_rows().
  py::tuple row(std::uint64_t ordinal) {
    const auto read = [&](const RequestContext& context) -> Result<ArrowColumn> {
      ASSIGN_OR_RETURN(const auto found, find_record(context, *set_, ordinal));
      ASSIGN_OR_RETURN(const auto decoder, decoder_of(context, found.place));
      RowBatch rows(*schema_);
      auto appended = rows.append(*decoder, found.record.bytes);
      if (appended) return columns_.select(rows.finish());
      Error why = appended.error();
      why.position = found.place.indexed.chunk.begin;
      return why;
    };
    return tuple_of(value_of_record(run(read), *set_, ordinal));
  }

 private:
  static constexpr std::size_t kRecentShards = 16;
  using Decoder = std::shared_ptr<const RowDecoder>;

  Result<Decoder> decoder_of(const RequestContext& context, const PlacedRecord& place) {
    if (auto known = decoders_.find(place.shard)) return *known;
    ASSIGN_OR_RETURN(auto store, set_->open_to_decode(context, place.shard));
    ASSIGN_OR_RETURN(auto made, schema_->decoder(context, std::move(store)));
    return decoders_.add(place.shard, std::make_shared<const RowDecoder>(std::move(made)));
  }

  const std::shared_ptr<OpenedSet> set_;
  std::shared_ptr<const RowSchema> schema_;
  SelectedColumns columns_;
  BoundedLru<std::size_t, Decoder> decoders_{kRecentShards};
};

// Returns a capsule with a stream of Arrow.
py::capsule make_arrow_stream(std::shared_ptr<OpenedSet> set, std::uint64_t begin, std::optional<std::uint64_t> end,
                              const std::string& on_damage, bool decodes, const std::optional<std::string>& condition,
                              bool lists, bool scans) {
  RecordStream::Options options;
  options.ordinals = {.begin = begin, .end = end.value_or(UINT64_MAX)};
  const auto parsed_condition = condition ? parsed(*condition) : nullptr;
  if (parsed_condition) options.selects = selector(*set, parsed_condition);
  options.threads = set->threads();
  auto schema = decodes ? row_schema(*set, {.lists = lists, .scans = scans}) : nullptr;
  if (schema != nullptr) options.fields_of = wanted_fields(*set, schema, parsed_condition);
  return arrow_stream(std::move(set), std::move(options), on_damage, std::move(schema));
}

ColumnRows column_rows(const std::shared_ptr<OpenedSet>& set, OrdinalInterval ordinals,
                       const std::optional<std::string>& condition, const WantedColumns& wanted) {
  ColumnRows rows;
  rows.options.ordinals = ordinals;
  rows.options.threads = set->threads();
  const auto selected = condition ? parsed(*condition) : nullptr;
  if (selected) {
    rows.options.selects = selector(*set, selected);
    rows.selects = scalar_selector(selected);
  }
  find_columns(*set, wanted, rows);
  rows.options.fields_of = wanted_fields(*set, rows.schema, selected);
  return rows;
}

std::shared_ptr<Stream> make_stream(std::shared_ptr<OpenedSet> set, std::uint64_t begin,
                                    std::optional<std::uint64_t> end, std::optional<SplitTuple> split,
                                    const std::vector<std::string>& patterns, bool ignores_case, bool is_literal,
                                    bool is_inverted, const std::optional<std::string>& field, std::string on_damage,
                                    bool copies, bool is_numbered, const std::optional<std::string>& condition) {
  RecordStream::Options options;
  options.ordinals = {.begin = begin, .end = end.value_or(UINT64_MAX)};
  options.is_inverted = is_inverted;
  if (split) {
    const auto& [shard, first, last] = *split;
    if (shard >= set->plan().list.shards.size()) throw py::index_error("no such shard");
    if (is_numbered) throw py::value_error("the ordinals in a split are unknown");
    options.split = Split{.begin = first, .end = last};
    options.split_shard = shard;
  }
  if (!patterns.empty()) {
    auto matcher = RecordMatcher::make(patterns, {.ignores_case = ignores_case, .is_literal = is_literal});
    if (!matcher) throw py::value_error("bad pattern: " + matcher.error().detail);
    options.matcher = std::move(*matcher);
  }
  return std::make_shared<Stream>(std::move(set), std::move(options), field, condition ? parsed(*condition) : nullptr,
                                  std::move(on_damage), copies, is_numbered);
}

}  // namespace

void define_stream(py::module_& module) {
  module.def("check_condition", [](const std::string& condition) { parsed(condition); });
  module.def("arrow_stream", &make_arrow_stream);
  define_column_reader(module, &column_rows);
  py::class_<RowReader>(module, "RowReader")
      .def(py::init<std::shared_ptr<OpenedSet>, std::vector<std::string>, bool, bool>())
      .def("has_rows", &RowReader::has_rows)
      .def("field", &RowReader::field)
      .def("row", &RowReader::row);
  py::class_<Stream, std::shared_ptr<Stream>>(module, "Stream")
      .def(py::init(&make_stream), py::arg("set"), py::arg("begin") = 0, py::arg("end") = py::none(),
           py::arg("split") = py::none(), py::arg("patterns") = std::vector<std::string>(),
           py::arg("ignores_case") = false, py::arg("is_literal") = false, py::arg("is_inverted") = false,
           py::arg("field") = py::none(), py::arg("on_damage") = "raise", py::arg("copies") = true,
           py::arg("is_numbered") = false, py::arg("condition") = py::none())
      .def("next_ordinals", &Stream::next_ordinals)
      .def("doubts", &Stream::doubts)
      .def("__iter__", [](const py::object& self) { return self; })
      .def("__next__", &Stream::next_list)
      .def("next_batch", &Stream::next_batch)
      .def("no_field", &Stream::no_field)
      .def("has_several_fields", &Stream::has_several_fields)
      .def("undecoded", &Stream::undecoded);
}

}  // namespace recordfs::python
