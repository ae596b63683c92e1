#include "core/dataset/part_totals.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/base/impact.h"
#include "core/base/utf8.h"
#include "core/columns/scalar_rows.h"
#include "core/database/database.h"

namespace recordfs {
namespace {

// Adds the parts of a container. Reports what cannot be read.
void add_parts(const std::string& path, const RecordStore& store, Reporter& reporter, std::optional<PartCounts>& sum) {
  DamageReporter damage(path, store, reporter);
  const auto parts = count_parts(store, damage, reporter);
  if (!parts) return;
  if (!sum) sum.emplace();
  sum->add(*parts);
}

std::optional<ScalarSource> scalars_of(const RecordStore& store) {
  const Metadata* const metadata = store.metadata();
  if (metadata == nullptr) return std::nullopt;
  return scalar_source(metadata->record_type({}).value_or(std::string_view()));
}

// Returns whether there are parts to count.
bool has_parts(const RecordStore& store) { return PartCounts::has(store.schema()) || scalars_of(store); }

// Reports that a file has nothing to count, so that its counts are not taken for zero.
void report_none(const std::string& path, std::string_view detail, Reporter& reporter) {
  const Error unsupported{.code = Code::kUnsupported, .detail = std::string(detail)};
  reporter.fail(impact_of(unsupported), printable(path) + ": " + unsupported.detail);
}

constexpr std::string_view kNoParts = "its records have no parts, so there is nothing to count";

// Counts the scalars of a record by their tags. Those that cannot be rows of a table are failures.
void add_scalars(ScalarSource source, Bytes record, PartCounts& parts, std::vector<Error>& failures) {
  std::vector<PartCounts::Scalar> scalars;
  const auto take = [&](const ScalarRow& scalar) {
    scalars.push_back({.tag = scalar.tag, .step = scalar.step});
    return Result<void>();
  };
  const auto leave_out = [&](const ScalarRow& scalar) {
    failures.push_back({.code = Code::kUnsupported, .detail = scalar.unfit->detail});
  };
  const auto read = each_scalar(source, record, {.take = take, .leave_out = leave_out});
  if (!read) failures.push_back(read.error());
  parts.add(scalars);
}

}  // namespace

std::optional<PartCounts> count_parts(const RecordStore& store, DamageReporter& damage, Reporter& reporter) {
  struct OfChunk {
    PartCounts parts;
    std::vector<Error> failures;
  };
  if (!has_parts(store)) {
    report_none(store.name(), kNoParts, reporter);
    return std::nullopt;
  }
  PartCounts sum;
  const auto scalars = scalars_of(store);
  const auto count = [&](const RequestContext& request, const IndexedChunk& indexed) -> OrderedResult {
    const auto counted = std::make_shared<OfChunk>();
    const auto chunk = store.chunks().decode_ahead(request, indexed.chunk);
    if (!chunk) counted->failures.push_back(chunk.error());
    for (std::uint64_t i = 0; chunk && i < (*chunk)->layout().records(); ++i) {
      const Extent extent = (*chunk)->layout().extent(i);
      if (extent.size > store.schema().largest_record_with_parts) {
        counted->failures.push_back(
            {Code::kLimit, indexed.chunk.begin,
             fmt::format("record {} of the chunk: {} bytes, too large to count its parts", i, extent.size)});
        continue;
      }
      const Error* const why = (*chunk)->layout().failure(i);
      const auto record =
          why != nullptr ? Result<Slice>(*why) : store.chunks().read(request, **chunk, extent.begin, extent.size);
      if (record && scalars) {
        add_scalars(*scalars, record->bytes, counted->parts, counted->failures);
      } else if (record) {
        counted->parts.add(store.schema(), record->bytes);
      } else {
        counted->failures.push_back(record.error());
      }
    }
    return [&sum, &store, &reporter, counted] {
      sum.add(counted->parts);
      for (const Error& why : counted->failures) reporter.report(store, why);
      return true;
    };
  };
  const auto end = damage.read({.store = store}, {.threads = reporter.threads()}, count);
  return end ? std::optional(std::move(sum)) : std::nullopt;
}

std::optional<PartCounts> parts_of(SetReader& reader, Reporter& reporter) {
  std::optional<PartCounts> sum;
  bool has_scalars = false;
  std::optional<std::string> other;  // the path of the first one without parts
  for (std::size_t shard = 0; shard < reader.set().size(); ++shard) {
    if (reader.set().failure(shard)) continue;
    const auto member = reader.member(shard, 0);
    if (!member) continue;
    has_scalars = has_scalars || scalars_of(*member->store);
    if (has_parts(*member->store)) {
      add_parts(member->path, *member->store, reporter, sum);
    } else if (!other) {
      other = member->path;
    }
  }
  if (other) report_none(*other, has_scalars ? "no scalars, so no tags" : kNoParts, reporter);
  return sum;
}

PartCounts parts_of(const database::Database& database, const std::string& directory, const OpenPath& open,
                    Reporter& reporter) {
  using database::FileKind;
  std::optional<PartCounts> sum = PartCounts();
  for (const database::File& file : database.files()) {
    const bool has_writes = file.kind == FileKind::kTable || file.kind == FileKind::kLog;
    if (!has_writes || file.state != database::File::State::kLive) continue;
    const std::string path = fmt::format("{}/{}", directory, file.name);
    if (const auto store = open(path)) add_parts(path, *store, reporter, sum);
  }
  return std::move(*sum);
}

JsonObject::List parts_list(const PartCounts& parts) {
  JsonObject::List list;
  const auto add = [&](std::string_view part, std::string_view type, const PartCounts::Count& count) {
    JsonObject& row = list.emplace_back();
    row.set("part", part);
    if (!type.empty()) row.set("type", type);
    row.set("records", count.records);
    row.set("entries", count.entries);
    if (count.first_step) {
      row.set("first_step", *count.first_step);
      row.set("last_step", *count.last_step);
    }
  };
  for (const auto& [row, count] : parts.rows()) add(row.first, row.second, count);
  if (parts.others().entries > 0) add("all others", {}, parts.others());
  return list;
}

}  // namespace recordfs
