// recordfs._recordfs.Set
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/dataset/opened_set.h"
#include "core/dataset/splits.h"
#include "core/python/bindings.h"
#include "core/python/buffers.h"
#include "core/python/errors.h"
#include "core/python/found_record.h"
#include "core/python/interrupt.h"
#include "core/python/losses.h"
#include "core/python/parts.h"
#include "core/python/process.h"
#include "core/store/container_info.h"
#include "core/store/json_line.h"
#include "core/store/open_container.h"
#include "core/store/selection.h"
#include "core/store/wait_ticket.h"

namespace recordfs::python {
namespace {

namespace py = pybind11;

using SetPointer = std::shared_ptr<OpenedSet>;
using ShardTuple = std::tuple<std::string, bool, std::size_t>;
using VersionTuple = std::tuple<std::size_t, std::string>;

const std::string& path_of(const OpenedSet& set, std::size_t shard) { return set.plan().list.shards[shard].path; }

void check_shard(const OpenedSet& set, std::size_t shard) {
  if (shard >= set.plan().list.shards.size()) throw py::index_error("no such shard");
}

template <class T>
T value_of(Result<T> result, const OpenedSet& set, std::optional<std::size_t> shard = {}) {
  if (!result) raise(exception_of(result.error(), shard ? path_of(set, *shard) : path_in(set, result.error())));
  return std::move(*result);
}

SetPointer open(std::shared_ptr<SetPlan> plan) {
  const std::string index = plan->options.index;
  return owned_by_process(value_or_raise(OpenedSet::open(std::move(plan)), index));
}

SetPlan copied_plan(const OpenedSet& set) {
  const std::lock_guard lock(fork_safe_mutex());
  return set.plan();
}

SetPointer open_set(const std::vector<ShardTuple>& shards, const std::string& index, std::uint64_t cache_size,
                    unsigned threads, std::uint64_t max_chunk, const std::string& descriptors, const std::string& type,
                    bool skips_unreadable, const std::vector<VersionTuple>& files) {
  if (shards.empty()) throw py::value_error("no shards");
  if (threads > kMostThreads)
    throw py::value_error(fmt::format("threads: from 0 to {}, not {}", kMostThreads, threads));
  for (const std::string& path : {index, descriptors}) check_path(path);
  ShardList list;
  for (const auto& [path, is_missing, bytes_in_set] : shards) {
    check_path(path);
    if (bytes_in_set > path.size()) throw py::value_error("a shard has a wrong path");
    list.shards.push_back({.path = path, .is_missing = is_missing, .bytes_in_set = bytes_in_set});
  }
  OpenOptions options{.index = index,
                      .cache_bytes = cache_size,
                      .threads = threads,
                      .max_chunk = max_chunk,
                      .skips_unreadable = skips_unreadable};
  options.types = value_or_raise(read_user_types(descriptors, type), descriptors);
  auto plan = std::make_shared<SetPlan>(std::move(list), std::move(options));
  for (const auto& [shard, version] : files) plan->versions.emplace(shard, version);
  return open(std::move(plan));
}

// Returns the same data set with caches and threads of its own.
SetPointer reopened(const OpenedSet& set) { return open(std::make_shared<SetPlan>(copied_plan(set))); }

// Returns the version of each file that was opened.
py::list files_of(const OpenedSet& set) {
  const SetPlan plan = copied_plan(set);
  py::list list;
  for (const auto& [shard, version] : plan.versions) list.append(py::make_tuple(shard, version));
  return list;
}

void open_shard(const OpenedSet& set, std::size_t shard) {
  check_shard(set, shard);
  value_of(run([&](const RequestContext& context) { return set.set().open(context, shard); }), set, shard);
}

std::uint64_t count(const OpenedSet& set) {
  const auto totals =
      run([&](const RequestContext& context) { return wait_for(context, [&] { return set.set().totals(); }); });
  return value_of(totals, set).records;
}

py::object record(const OpenedSet& set, std::uint64_t ordinal, bool copies) {
  const auto found = run([&](const RequestContext& context) { return find_record(context, set, ordinal); });
  return record_object(value_of_record(found, set, ordinal).record, copies);
}

py::object record_at(const OpenedSet& set, std::size_t shard, std::uint64_t offset, std::uint64_t index, bool copies) {
  check_shard(set, shard);
  const auto found = run([&](const RequestContext& context) -> Result<Slice> {
    ASSIGN_OR_RETURN(const auto store, set.set().open(context, shard));
    ASSIGN_OR_RETURN(const auto place, find(context, RecordAddress{.begin = offset, .index = index}, *store));
    return store->records().read(context, place, 0, UINT64_MAX);
  });
  return record_object(value_of(found, set, shard), copies);
}

// Returns (records, failed, bytes): the records in the given order, all or as many of the first as fit; the places of
// those that cannot be read, which are exception objects; the bytes of the others together. With `skips`, the regions
// of those that cannot be read are added to skipped().
py::tuple records(const OpenedSet& set, const std::vector<std::uint64_t>& ordinals, std::uint64_t most_bytes,
                  bool copies, bool skips) {
  const auto picked = value_of(run_long([&](const RequestContext& context) -> Result<PickedRecords> {
                                 auto read = pick_records(context, set.set(), set.executor(), ordinals, most_bytes);
                                 if (read.stop) return std::move(read.stop->why);
                                 return read;
                               }),
                               set);
  py::list list(picked.records.size());
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < picked.records.size(); ++i) {
    if (picked.failures.contains(i)) continue;
    list[i] = record_object(picked.records[i], picked.copies[picked.copy_of[i]].owner, copies);
    bytes += picked.records[i].size();
  }
  py::list failed;
  for (const auto& [place, failure] : picked.failures) {
    const StreamProblem problem = problem_of(failure.why, failure.place.indexed, failure.place.index, 1);
    list[place] = exception_of(problem.error, path_of(set, failure.place.shard));
    failed.append(place);
    if (skips && may_skip(problem.error)) set.skipped().add(failure.place.shard, problem);
  }
  return py::make_tuple(list, failed, bytes);
}

// --- decoded records

// Returns what `decode` makes of a record.
template <class Decode>
auto decoded(const OpenedSet& set, std::uint64_t ordinal, const Decode& decode) {
  return value_of_record(
      run([&](const RequestContext& context) -> decltype(decode(context, std::declval<RecordAndPlace>(),
                                                                std::declval<RecordDecoder>())) {
        ASSIGN_OR_RETURN(const auto found, find_record(context, set, ordinal));
        ASSIGN_OR_RETURN(const auto decoding, set.decoding(found.place.shard, found.place.store));
        return decode(context, found, decoding->decoder);
      }),
      set, ordinal);
}

py::str json_line(const OpenedSet& set, std::uint64_t ordinal) {
  return shown_text(decoded(
      set, ordinal,
      [&](const RequestContext&, const RecordAndPlace& found, const RecordDecoder& decoder) -> Result<std::string> {
        std::string line;
        const auto name = set.has_one_shard() ? std::string_view() : set.set().name(found.place.shard);
        TRY(append_json_line(line, ordinal, found.record.bytes, decoder, found.place.indexed.chunk, name));
        line.pop_back();
        return line;
      }));
}

// Returns JSON as JsonLayout::kTyped describes it.
py::str typed_document(const OpenedSet& set, std::uint64_t ordinal) {
  return shown_text(decoded(
      set, ordinal, [](const RequestContext& context, const RecordAndPlace& found, const RecordDecoder& decoder) {
        auto document = decoder.document(context, found.place.indexed.chunk, found.record.bytes, JsonLayout::kTyped);
        // IndexError is for ordinals that do not exist: it would end a loop over the records.
        if (!document && document.error().code == Code::kNotFound) {
          return Result<std::string>(Error{.code = Code::kUnsupported, .detail = document.error().detail});
        }
        return document;
      }));
}

py::list parts(const OpenedSet& set, std::uint64_t ordinal) {
  const auto found = value_of_record(
      run([&](const RequestContext& context) -> Result<std::vector<NamedPart>> {
        ASSIGN_OR_RETURN(const auto place, place_record(context, set.set(), ordinal));
        if (place.store->schema().parts == RecordSchema::Parts::kNone) return std::vector<NamedPart>{};
        ASSIGN_OR_RETURN(const auto made, place.store->records().parts(context, {place.indexed.chunk, place.index}));
        return named_parts(made);
      }),
      set, ordinal);
  py::list list;
  for (const NamedPart& part : found) {
    list.append(py::make_tuple(shown_text(part.name), memory_view(part.content.bytes, part.content.owner)));
  }
  return list;
}

// --- what is known of the data set

py::str info(const OpenedSet& set, std::size_t shard) {
  check_shard(set, shard);
  const auto object = value_of(run([&](const RequestContext& context) -> Result<JsonObject> {
                                 ASSIGN_OR_RETURN(const auto store, set.set().open(context, shard));
                                 return container_info(context, *store);
                               }),
                               set, shard);
  return shown_text(to_json(object, JsonLayout::kLine));
}

// Returns (format, first_ordinal, records, chunks, size, damaged_regions) for each shard; of one that cannot be read,
// the exception.
py::list shard_counts(const OpenedSet& set) {
  count(set);
  py::list list;
  for (std::size_t shard = 0; shard < set.set().size(); ++shard) {
    if (const auto failure = set.set().failure(shard)) {
      list.append(exception_of(*failure, path_of(set, shard)));
      continue;
    }
    const auto counts = value_of(set.set().counts(shard), set, shard);
    list.append(py::make_tuple(shown_text(counts.format), counts.first_ordinal, counts.records, counts.chunks,
                               counts.stored, counts.damaged_regions));
  }
  return list;
}

py::list metadata(const OpenedSet& set, std::size_t shard) {
  check_shard(set, shard);
  const auto attributes =
      value_of(run([&](const RequestContext& context) -> Result<std::shared_ptr<const std::vector<Attribute>>> {
                 ASSIGN_OR_RETURN(const auto store, set.set().open(context, shard));
                 return wait_for(context, [&] { return store->attributes(context); });
               }),
               set, shard);
  py::list list;
  for (const Attribute& attribute : *attributes) {
    list.append(py::make_tuple(path_text(attribute.key), shown_text(attribute.type), py::bytes(attribute.value)));
  }
  return list;
}

// Returns (begin, end, first_ordinal, records_lost, kind, reason, least_lost) of each region that a scan finds, and
// then of those that were skipped for another reason.
py::list damage(const OpenedSet& set, std::size_t shard) {
  check_shard(set, shard);
  const auto rows =
      value_of(run([&](const RequestContext& context) -> Result<std::shared_ptr<const std::vector<DamageRow>>> {
                 ASSIGN_OR_RETURN(const auto store, set.set().open(context, shard));
                 return wait_for(context, [&] { return store->index().damage(); });
               }),
               set, shard);
  auto skipped = set.skipped().of(shard);
  py::list list;
  for (const DamageRow& row : *rows) {
    list.append(py::make_tuple(row.region.begin, row.region.end, row.first_ordinal, row.region.records_lost,
                               shown_text(to_string(row.region.damage_class)), shown_text(row.region.reason),
                               row.region.least_lost));
    skipped.erase(skipped.lower_bound(row.region.begin), skipped.lower_bound(row.region.end));
  }
  for (const auto& [begin, region] : skipped) {
    std::string reason = with_arguments(region.reason);
    if (region.first_skipped) reason = fmt::format("record {}: {}", *region.first_skipped, reason);
    list.append(py::make_tuple(begin, region.end, region.first_ordinal, region.records_lost,
                               shown_text(to_string(region.code)), shown_text(reason), 0));
  }
  return list;
}

// Returns (shard, count, reason) of each range of missing shards.
py::list missing(const OpenedSet& set) {
  py::list list;
  for (const MissingShards& range : missing_shards(set)) {
    list.append(py::make_tuple(range.first, range.count, shown_text(range.message())));
  }
  return list;
}

// Returns the exceptions of the first `most` places among the records of a range where others may have been lost.
py::list lost(const OpenedSet& set, std::uint64_t begin, std::uint64_t end, std::size_t most) {
  py::list list;
  if (begin >= end) return list;
  const auto found = value_of(
      run([&](const RequestContext& context) { return losses(context, set, {.begin = begin, .end = end}, most); }),
      set);
  for (const Loss& loss : found) list.append(exception_of(loss.error, loss.path));
  return list;
}

// Returns (begin, end) of each split.
py::list splits(const OpenedSet& set, std::size_t shard, std::uint64_t size) {
  check_shard(set, shard);
  using Splits = std::vector<std::pair<Position, Position>>;
  return py::cast(value_of(run([&](const RequestContext& context) -> Result<Splits> {
                             ASSIGN_OR_RETURN(const auto store, set.set().open(context, shard));
                             Splits found;
                             TRY(for_each_split(context, *store, {.amount = size}, [&](const ContainerSplit& split) {
                               found.emplace_back(split.begin, split.end);
                               return true;
                             }));
                             return found;
                           }),
                           set, shard));
}

// Returns the sizes of the shards' files. Throws OSError with the path of the shard that has none.
std::vector<std::uint64_t> sizes_of(const OpenedSet& set) {
  auto sizes = run_long([&](const RequestContext&) { return shard_sizes(set.set()); });
  return value_of(std::move(sizes), set);
}

// Returns the SetPart::check of the parts of this data set.
std::uint64_t check(const OpenedSet& set) { return check_of(set.set(), sizes_of(set)); }

// Returns (shard, begin, end) of each range of what `cat --split` takes.
std::vector<std::tuple<std::size_t, Position, Position>> split_ranges(const OpenedSet& set, const std::string& text) {
  std::vector<std::tuple<std::size_t, Position, Position>> ranges;
  if (const auto part = parse_part(text)) {
    const auto sizes = sizes_of(set);
    if (part->check && *part->check != check_of(set.set(), sizes)) {
      const Error error{.code = Code::kChanged,
                        .detail = "the names or sizes of files have changed since this split was made: " + text};
      raise(exception_of(error, path_in(set, error)));
    }
    for (const ShardRange& range : ranges_of(*part, sizes)) ranges.emplace_back(range.shard, range.begin, range.end);
    return ranges;
  }
  const auto split = parse_split(text);
  if (!split) throw py::value_error("not [SHARD:]BEGIN:END or I/N: " + text);
  std::optional<std::size_t> shard = 0;
  if (!split->shard.empty()) {
    shard = set.set().find_shard(split->shard);
  } else if (!set.has_one_shard()) {
    throw py::value_error("several files, so a split is SHARD:BEGIN:END: " + text);
  }
  if (!shard) throw py::index_error("no shard " + split->shard);
  ranges.emplace_back(*shard, split->begin, split->end);
  return ranges;
}

// Returns the .npy file of a container; nullopt if it holds no array.
Result<std::optional<Slice>> read_array(const RequestContext& context, const RecordStore& store) {
  constexpr std::uint64_t kPiece = 8u << 20;
  if (!store.traits().array) return std::optional<Slice>();
  // The size is a number of the file, so memory grows with what is really there.
  const std::uint64_t size = store.traits().array->size;
  Buffer all;  // may be larger than `at`
  std::uint64_t at = 0;
  while (at < size) {
    TRY(context.permit(RequestContext::Permission::kAny));
    ASSIGN_OR_RETURN(const auto piece,
                     wait_for(context, [&] { return store.streams().read(context, Stream::kArray, at, kPiece); }));
    if (piece.bytes.empty()) break;
    if (piece.bytes.size() > all.size() - at) {
      const std::uint64_t needed = at + piece.bytes.size();
      const std::uint64_t grown = std::min(all.size() + all.size() / 2, size);
      TRY(all.grow(context, static_cast<std::size_t>(std::max(needed, grown))));
    }
    copy_bytes(piece.bytes, all.span().subspan(static_cast<std::size_t>(at)));
    at += piece.bytes.size();
  }
  all.truncate(static_cast<std::size_t>(at));
  return std::optional(owned(std::move(all)));
}

// Returns the bytes of the .npy file, or None.
py::object array_file(const OpenedSet& set, std::size_t shard) {
  check_shard(set, shard);
  const auto file = value_of(run_long([&](const RequestContext& context) -> Result<std::optional<Slice>> {
                               ASSIGN_OR_RETURN(const auto store, set.set().open(context, shard));
                               return read_array(context, *store);
                             }),
                             set, shard);
  return file ? memory_view(file->bytes, file->owner) : py::none();
}

}  // namespace

void define_set(py::module_& module) {
  py::class_<OpenedSet, SetPointer>(module, "Set")
      .def(py::init(&open_set), py::arg("shards"), py::arg("index"), py::arg("cache_size"), py::arg("threads"),
           py::arg("max_chunk"), py::arg("descriptors"), py::arg("type"), py::arg("skips_unreadable") = false,
           py::arg("files") = std::vector<VersionTuple>())
      .def("reopened", &reopened)
      .def("shard",
           [](const OpenedSet& set, std::size_t shard) -> SetPointer {
             check_shard(set, shard);
             return owned_by_process(set.shard(shard));
           })
      .def("files", &files_of)
      .def("size", [](const OpenedSet& set) { return set.plan().list.shards.size(); })
      .def("path",
           [](const OpenedSet& set, std::size_t shard) {
             check_shard(set, shard);
             return path_text(path_of(set, shard));
           })
      .def("name",
           [](const OpenedSet& set, std::size_t shard) {
             check_shard(set, shard);
             return path_text(set.set().name(shard));
           })
      .def("find_shard", [](const OpenedSet& set, const std::string& name) { return set.set().find_shard(name); })
      .def("open_shard", &open_shard)
      .def("count", &count)
      .def("record", &record)
      .def("record_at", &record_at)
      .def("records", &records)
      .def("json_line", &json_line)
      .def("typed_document", &typed_document)
      .def("parts", &parts)
      .def("info", &info)
      .def("shard_counts", &shard_counts)
      .def("metadata", &metadata)
      .def("damage", &damage)
      .def("missing", &missing)
      .def("lost", &lost)
      .def("splits", &splits)
      .def("check", &check)
      .def("split_ranges", &split_ranges)
      .def("array_file", &array_file);
}

}  // namespace recordfs::python
