// recordfs._recordfs.CountedColumns: the statistics of columns.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/columns/statistics_json.h"
#include "core/dataset/column_counters.h"
#include "core/dataset/opened_set.h"
#include "core/dataset/record_stream.h"
#include "core/python/bindings.h"
#include "core/python/doubts.h"
#include "core/python/errors.h"
#include "core/python/interrupt.h"
#include "core/search/record_condition.h"

namespace recordfs::python {
namespace {

namespace py = pybind11;

// Counts the columns of records, on all threads of a stream.
class CountedColumns {
 public:
  // Reads the records, up to the first problem that is not skipped. Throws Python's exceptions.
  CountedColumns(std::shared_ptr<OpenedSet> set, std::uint64_t begin, std::optional<std::uint64_t> end,
                 const std::string& on_damage, const std::optional<std::string>& condition)
      : set_(std::move(set)), skips_(on_damage != "raise") {
    if (condition) {
      auto parsed = RecordCondition::parse(*condition);
      if (!parsed) throw py::value_error(parsed.error().detail);
      condition_ = std::move(*parsed);
    }
    const OrdinalInterval ordinals{.begin = begin, .end = end.value_or(UINT64_MAX)};
    const auto read = run_long([&](const RequestContext& context) { return count(context, ordinals); });
    if (!read) raise(exception_of(read.error(), path_in(*set_, read.error())));
  }

  // Returns the exceptions of what was skipped, or of what ended the reading.
  py::list problems() const {
    py::list list;
    for (const auto& [shard, error] : problems_) {
      list.append(exception_of(error, set_->plan().list.shards[shard].path));
    }
    return list;
  }

  // Returns what is doubtful about the condition, as Stream::doubts(). REQUIRES: there is one.
  py::tuple doubts() const { return doubts_of(*condition_); }

  // Returns (records, path, chunk, reason) of the records that cannot be decoded.
  py::tuple undecoded() const {
    const auto summary = undecoded_.summary();
    return py::make_tuple(summary.records, path_text(summary.path), summary.chunk, shown_text(summary.why));
  }

  // Returns a list as JSON, with an object for each column.
  py::str columns() const {
    ColumnStatistics sum;
    counters_.add_to(sum);
    for (const std::size_t shard : shards_) {
      const auto store = run_long([&](const RequestContext& context) { return set_->set().open(context, shard); });
      if (store) declare_types_of(*store, set_->plan().options.types, sum);
    }
    if (sum.has_too_many()) throw py::value_error("the records have too many columns");
    if (sum.is_mixed()) throw py::value_error("some files have scalars, and others rows of their own");
    if (!sum.several().empty()) {
      throw py::value_error(*sum.several().begin() + " names several columns, because names have dots");
    }
    JsonObject object;
    object.set("columns", columns_list(sum));
    return shown_text(to_json(object, JsonLayout::kLine));
  }

 private:
  Result<void> count(const RequestContext& context, const OrdinalInterval& ordinals) {
    RecordStream::Options options{.ordinals = ordinals, .threads = set_->threads()};
    options.selects = [this](std::size_t shard, const std::shared_ptr<const RecordStore>& store) {
      return counter_of(shard, store);
    };
    RecordStream stream(set_->set(), std::move(options));
    for (RecordBlock block; !context.cancelled();) {
      const auto next = stream.next(block, kSignalPoll);
      if (next == RecordStream::Next::kEnd) return {};
      if (next == RecordStream::Next::kTimeout) continue;
      for (const StreamProblem& problem : block.problems) {
        problems_.emplace_back(block.shard, problem.error);
        if (!skips_ || !may_skip(problem.error)) return {};
        set_->skipped().add(block.shard, problem);
      }
    }
    return Error{.code = Code::kInterrupted, .detail = "interrupted"};
  }

  // Returns a function that counts records, and selects none.
  SelectRecord counter_of(std::size_t shard, const std::shared_ptr<const RecordStore>& store) {
    {
      const std::lock_guard lock(mutex_);
      shards_.insert(shard);
    }
    return [this, selects = scalar_selector(condition_), decoding = set_->decoding(shard, store),
            named = &set_->plan().list.shards[shard]](const ChunkInfo& chunk, Bytes record) -> Result<bool> {
      if (!decoding) return decoding.error();
      if (condition_ != nullptr) {
        ASSIGN_OR_RETURN(const bool is_selected,
                         condition_->matches({}, (*decoding)->decoder, chunk, record,
                                             {.path = named->path, .path_in_set = named->path_in_set()}));
        if (!is_selected) return false;
      }
      const auto counted = counters_.with_one([&](ColumnCounter& counter) {
        return counter.count({}, (*decoding)->decoder, chunk, record, named->path_in_set(), selects);
      });
      if (counted) return false;
      if (!UndecodedRecords::is_of_record(counted.error().code)) return counted.error();
      undecoded_.note(chunk, named->path, counted.error());
      return false;
    };
  }

  const std::shared_ptr<OpenedSet> set_;
  const bool skips_;
  std::shared_ptr<const RecordCondition> condition_;  // null: all records
  std::vector<std::pair<std::size_t, Error>> problems_;
  UndecodedRecords undecoded_;
  ColumnCounters counters_;
  std::mutex mutex_;
  std::set<std::size_t> shards_;  // with records; guarded by mutex_
};

}  // namespace

void define_counted_columns(py::module_& module) {
  py::class_<CountedColumns>(module, "CountedColumns")
      .def(py::init<std::shared_ptr<OpenedSet>, std::uint64_t, std::optional<std::uint64_t>, const std::string&,
                    const std::optional<std::string>&>())
      .def("problems", &CountedColumns::problems)
      .def("doubts", &CountedColumns::doubts)
      .def("undecoded", &CountedColumns::undecoded)
      .def("columns", &CountedColumns::columns);
}

}  // namespace recordfs::python
