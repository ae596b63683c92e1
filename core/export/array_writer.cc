#include "core/export/array_writer.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include <fmt/format.h>

#include "core/base/counted.h"
#include "core/formats/numpy_array.h"
#include "core/store/wait_ticket.h"

namespace recordfs {
namespace {

// Returns a fact of a container; null if it has no such fact of this type.
template <class Value>
const Value* fact_of(const SetMember& member, std::string_view name) {
  const auto& facts = member.store->traits().facts;
  const auto found = std::ranges::find(facts, name, &Fact::name);
  return found == facts.end() ? nullptr : std::get_if<Value>(&found->value);
}

// Writes parts of a container's array.
class ArrayWriter {
 public:
  ArrayWriter(const SetMember& member, Reporter& reporter, TextOutput& output)
      : member_(member), reporter_(reporter), output_(output) {}

  // Reports why the container offers no array.
  void report_absence() {
    const auto* const why = fact_of<std::string>(member_, "no_array");
    const bool has_flat = why != nullptr && fact_of<std::string>(member_, "dtype") != nullptr;
    fail(has_flat ? Impact::kIncomplete : Impact::kUnopened,
         why == nullptr ? "does not hold a numpy array"
                        : fmt::format("no array: {}{}", *why,
                                      has_flat ? " (--flat writes the elements of all records as one dimension)" : ""));
  }

  void write_flat(const std::function<void()>& copy_records) {
    const auto* const type = fact_of<std::string>(member_, "dtype");
    const auto* const element = fact_of<std::uint64_t>(member_, "itemsize");
    if (type == nullptr || element == nullptr) return report_absence();
    const auto totals = wait_for([&] { return member_.store->index().totals(ScanDetail::kSizes); });
    if (!totals) return reporter_.report(*member_.store, totals.error());
    if (*element == 0 || totals->bytes % *element != 0) {
      return fail(Impact::kIncomplete, fmt::format("{} are no whole number of elements of {}",
                                                   counted(totals->bytes, "byte"), counted(*element, "byte")));
    }
    output_.write(
        npy_header({.dtype = {*type, *element}, .shape = {totals->bytes / *element}, .bytes = totals->bytes}));
    copy_records();
  }

  void write_rows(const OrdinalRange& range) {
    const auto& stored = *member_.store->traits().array;
    NumpyArray array = described_by(stored.header, stored.size);
    const auto rows = rows_of(range, array);
    if (!rows) return;
    const std::uint64_t all = array.shape.front();
    const std::uint64_t count = rows->end - rows->begin;
    const std::uint64_t row = all == 0 ? 0 : array.bytes / all;
    array.shape.front() = count;
    output_.write(npy_header(array));
    if (!array.is_fortran) {
      write(stored.header.size() + rows->begin * row, count * row);
      return;
    }
    // Each column is contiguous.
    const std::uint64_t element = array.dtype.size;
    const std::uint64_t columns = element == 0 ? 0 : row / element;
    for (std::uint64_t column = 0; column < columns; ++column) {
      if (!write(stored.header.size() + (column * all + rows->begin) * element, count * element)) return;
    }
  }

  // Writes a range of the .npy file. Returns false if writing has to end.
  bool write(std::uint64_t begin, std::uint64_t size) {
    constexpr std::uint64_t kPieceOfArray = 8u << 20;
    const RecordStore& store = *member_.store;
    for (std::uint64_t done = 0; done < size && output_.good();) {
      const std::uint64_t wanted = std::min(kPieceOfArray, size - done);
      const auto piece = wait_for([&] { return store.streams().read({}, Stream::kArray, begin + done, wanted); });
      if (!piece) reporter_.report(store, piece.error());
      if (!piece || piece->bytes.empty()) return false;
      output_.write(piece->bytes);
      done += piece->bytes.size();
    }
    return output_.good();
  }

 private:
  // Returns the rows to write; nullopt after reporting why there are none.
  std::optional<OrdinalInterval> rows_of(const OrdinalRange& range, const NumpyArray& array) {
    if (array.shape.empty()) {
      fail(Impact::kIncomplete, "the array has no dimension, and so no rows");
      return std::nullopt;
    }
    const std::uint64_t count = array.shape.front();
    const OrdinalInterval rows = span_of(range, count);
    if (rows.begin > count || (range.is_one && rows.begin == count)) {
      fail(Impact::kIncomplete, fmt::format("no row {} (there are {})", range.begin, count));
      return std::nullopt;
    }
    return OrdinalInterval{.begin = rows.begin, .end = std::clamp(rows.end, rows.begin, count)};
  }

  void fail(Impact impact, const std::string& why) { reporter_.fail(impact, fmt::format("{}: {}", member_.path, why)); }

  const SetMember& member_;
  Reporter& reporter_;
  TextOutput& output_;
};

}  // namespace

void write_array(const ArrayOptions& options, const std::optional<OrdinalRange>& rows, SetReader& reader,
                 const std::function<void()>& copy_records, Reporter& reporter, TextOutput& output) {
  const auto member = reader.member(0, 0);
  if (!member) return;
  ArrayWriter writer(*member, reporter, output);
  const auto& array = member->store->traits().array;
  if (options.is_flat) {
    writer.write_flat(copy_records);
  } else if (!array) {
    writer.report_absence();
  } else if (rows) {
    writer.write_rows(*rows);
  } else {
    writer.write(0, array->size);
  }
}

}  // namespace recordfs
