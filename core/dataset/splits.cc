#include "core/dataset/splits.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include <fmt/format.h>

#include "core/base/parse_number.h"
#include "core/base/read_window.h"
#include "core/base/storage.h"
#include "core/dataset/path_errors.h"
#include "core/hash/highway.h"
#include "core/store/wait_ticket.h"

namespace recordfs {
namespace {

// Smaller splits end only at chunks, which requires reading headers. Larger ones are computed.
constexpr std::uint64_t kSmallSplit = 1u << 20;

std::optional<Split> parse_split(std::string_view text, char separator) {
  // A shard's name may contain the separator.
  const std::size_t middle = text.rfind(separator);
  if (middle == std::string_view::npos) return std::nullopt;
  const std::size_t before = middle == 0 ? std::string_view::npos : text.rfind(separator, middle - 1);
  const std::size_t from = before == std::string_view::npos ? 0 : before + 1;
  const std::string_view begin = text.substr(from, middle - from);
  const std::string_view end = text.substr(middle + 1);
  const auto first = begin.empty() ? std::optional<Position>(0) : parse_number<std::uint64_t>(begin);
  const auto last = end.empty() ? std::optional<Position>(UINT64_MAX) : parse_number<std::uint64_t>(end);
  if (!first || !last || before == 0) return std::nullopt;
  return Split{*first, *last, from == 0 ? std::string() : std::string(text.substr(0, before))};
}

// Cuts a container.
class Cutter {
 public:
  Cutter(SplitSize size, const TakeSplit& take) : size_(size), take_(take) {}

  bool goes_on() const { return goes_on_; }

  void cut_by_bytes(std::uint64_t file_size) {
    while (file_size - begin_ > size_.amount && goes_on_) end_at(begin_ + size_.amount);
  }

  // Called for each chunk, in the order of their positions.
  void at_chunk(Position begin, std::uint64_t records) {
    if (begin > begin_ && (counts_records() ? records_ : begin - begin_) >= size_.amount) end_at(begin);
    records_ += records;
  }

  // Called instead for the first chunk of each split but the first. `ordinal` is that of its first record.
  void at_split(Position begin, std::uint64_t ordinal) {
    records_ = ordinal - first_ordinal_;
    first_ordinal_ = ordinal;
    end_at(begin);
  }

  // Ends the last split. `records`: of the whole container, if at_split() was called.
  void finish(std::uint64_t file_size, std::optional<std::uint64_t> records = {}) {
    if (records) records_ = *records - first_ordinal_;
    if (file_size > begin_ && goes_on_) end_at(file_size);
  }

  // The last split ends at the end of the file, and its records were not counted.
  void give_up(std::uint64_t file_size) {
    is_counted_ = false;
    finish(file_size);
  }

 private:
  bool counts_records() const { return size_.unit == SplitSize::Unit::kRecords; }

  void end_at(Position end) {
    ContainerSplit split{.begin = begin_, .end = end};
    if (counts_records() && is_counted_) split.records = records_;
    goes_on_ = take_(split);
    begin_ = end;
    records_ = 0;
  }

  const SplitSize size_;
  const TakeSplit& take_;
  bool goes_on_ = true;
  bool is_counted_ = true;
  Position begin_ = 0;
  std::uint64_t records_ = 0;        // since begin_
  std::uint64_t first_ordinal_ = 0;  // of at_split()
};

// Cuts at chunks that a scan finds.
Result<void> cut_by_scan(const RequestContext& context, const RecordStore& store, ScanDetail detail, Cutter& cutter) {
  ReadWindow window(context, store.source());
  const bool is_in_file_order = store.traits().is_in_file_order;
  std::vector<std::pair<Position, std::uint64_t>> others;
  for (Scanner scanner = store.index().scanner(detail); !scanner.at_end() && cutter.goes_on();) {
    TRY(scanner.step(context.with(window)));
    if (!scanner.chunk()) continue;
    const ChunkInfo& chunk = scanner.chunk()->chunk;
    if (is_in_file_order) {
      cutter.at_chunk(chunk.begin, chunk.records.value_or(0));
    } else {
      others.emplace_back(chunk.begin, chunk.records.value_or(0));
    }
  }
  std::ranges::sort(others);
  for (const auto& [begin, records] : others) {
    if (cutter.goes_on()) cutter.at_chunk(begin, records);
  }
  return {};
}

// Returns the chunk that has an ordinal; nullopt if there are too few records.
Result<std::optional<IndexedChunk>> chunk_of(const RequestContext& context, const RecordStore& store,
                                             std::uint64_t ordinal) {
  auto found = wait_for(context, [&] { return store.index().find(context, SearchKey::kRecords, ordinal); });
  if (found) return std::optional(std::move(*found));
  if (found.error().code == Code::kNotFound) return std::optional<IndexedChunk>();
  return std::move(found).error();
}

// Cuts at chunks that the catalog finds, so that a saved index spares the scan. Returns the number of all records.
// REQUIRES: the container is in file order.
Result<std::uint64_t> cut_by_catalog(const RequestContext& context, const RecordStore& store, std::uint64_t records,
                                     Cutter& cutter) {
  for (std::uint64_t first = 0; cutter.goes_on() && records <= kLargestSum - first;) {
    ASSIGN_OR_RETURN(const auto last, chunk_of(context, store, first + records - 1));
    if (!last) break;
    ASSIGN_OR_RETURN(const auto next, chunk_of(context, store, last->after().records));
    if (!next) break;
    first = next->before.records;
    cutter.at_split(next->chunk.begin, first);
  }
  ASSIGN_OR_RETURN(const auto totals, wait_for(context, [&] { return store.index().totals(ScanDetail::kCounts); }));
  return totals.records;
}

Result<std::uint64_t> size_of(const std::string& path) {
  const auto file = status_of({}, path);
  if (!file) return with_path(path, file.error().code, file.error().detail, file.error().os_error);
  if (!file->is_file()) return with_path(path, Code::kIo, "not a regular file", EINVAL);
  return file->size;
}

}  // namespace

std::optional<Split> parse_split(std::string_view text) {
  const auto split = parse_split(text, '\t');
  return split ? split : parse_split(text, ':');
}

std::string split_id(std::string_view shard, Position begin, Position end) {
  return fmt::format("{}:{}:{}", shard, begin, end);
}

Result<void> for_each_split(const RequestContext& context, const RecordStore& store, SplitSize size,
                            const TakeSplit& take) {
  const std::uint64_t file_size = store.source().size();
  Cutter cutter(size, take);
  std::optional<std::uint64_t> records;
  Result<void> cut;
  if (size.unit == SplitSize::Unit::kRecords && store.traits().is_in_file_order) {
    auto counted = cut_by_catalog(context, store, size.amount, cutter);
    if (counted) records = *counted;
    if (!counted) cut = std::move(counted).error();
  } else if (size.unit == SplitSize::Unit::kRecords) {
    cut = cut_by_scan(context, store, ScanDetail::kCounts, cutter);
  } else if (size.amount < kSmallSplit) {
    cut = cut_by_scan(context, store, ScanDetail::kHeaders, cutter);
  } else {
    cutter.cut_by_bytes(file_size);
  }
  if (cut) {
    cutter.finish(file_size, records);
  } else {
    cutter.give_up(file_size);
  }
  return cut;
}

Result<std::optional<IndexedChunk>> start_of(const RequestContext& context, const Split& split,
                                             const RecordStore& store) {
  if (!store.traits().has_seek_structure || store.source().size() == 0) return std::optional<IndexedChunk>{};
  const Position at = std::min(split.begin, store.source().size() - 1);
  // Damage may leave bytes without a chunk. Steps back in doubling distances.
  for (std::uint64_t back = 0; back <= at; back = back * 2 + 1) {
    auto found = store.index().chunk_covering(context, at - back);
    if (found) return std::optional(IndexedChunk{.chunk = std::move(*found), .before = {}});
    const Code code = found.error().code;
    if (code != Code::kNotFound && code != Code::kPending) return std::move(found).error();
  }
  return std::optional<IndexedChunk>{};
}

Result<SplitContent> content_of(const RequestContext& context, const Split& split, const RecordStore& store) {
  ReadWindow window(context, store.source());
  SplitContent content;
  for (Scanner scanner = store.index().scanner(ScanDetail::kCounts); !scanner.at_end();) {
    TRY(scanner.step(context.with(window)));
    if (scanner.chunk() && split.owns(scanner.chunk()->chunk.begin)) content.chunks.push_back(*scanner.chunk());
    for (const DamageRow& row : scanner.damage()) {
      if (split.owns(row.region.begin)) content.damage.push_back(row.region);
    }
  }
  std::ranges::sort(content.chunks, {}, [](const IndexedChunk& indexed) { return indexed.chunk.begin; });
  std::ranges::sort(content.damage, {}, &DamagedRegion::begin);
  return content;
}

std::optional<SetPart> parse_part(std::string_view text) {
  constexpr std::size_t kCheckDigits = 16;
  SetPart part;
  if (const std::size_t at = text.find('@'); at != std::string_view::npos) {
    if (text.size() - at - 1 != kCheckDigits) return std::nullopt;
    part.check = parse_number<std::uint64_t>(text.substr(at + 1), 16);
    if (!part.check) return std::nullopt;
    text = text.substr(0, at);
  }
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  const auto number = parse_number<std::uint64_t>(text.substr(0, slash));
  const auto count = parse_number<std::uint64_t>(text.substr(slash + 1));
  if (!number || !count || *number >= *count) return std::nullopt;
  part.number = *number;
  part.count = *count;
  return part;
}

std::string part_id(const SetPart& part) {
  std::string id = fmt::format("{}/{}", part.number, part.count);
  if (part.check) id += fmt::format("@{:016x}", *part.check);
  return id;
}

Result<std::vector<std::uint64_t>> shard_sizes(const DataSet& set) {
  std::vector<std::uint64_t> sizes;
  std::uint64_t total = 0;
  for (std::size_t i = 0; i < set.size(); ++i) {
    const Shard& shard = set.shard(i);
    ASSIGN_OR_RETURN(const auto size, shard.is_missing ? Result<std::uint64_t>(0) : size_of(shard.path));
    if (size > kLargestSum - total) return with_path(shard.path, Code::kLimit, "the data set is too large");
    total += size;
    sizes.push_back(size);
  }
  return sizes;
}

std::uint64_t check_of(const DataSet& set, std::span<const std::uint64_t> sizes) {
  RiegeliHasher hasher;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    hasher.append(as_bytes(fmt::format("{}{}{}{}", set.name(i), '\0', sizes[i], '\0')));
  }
  return hasher.finish();
}

std::vector<ShardRange> ranges_of(const SetPart& part, std::span<const std::uint64_t> sizes) {
  std::uint64_t total = 0;
  for (const std::uint64_t size : sizes) total += size;
  const auto begin_of = [&](std::uint64_t number) {
    return total / part.count * number + std::min(total % part.count, number);
  };
  const std::uint64_t begin = begin_of(part.number);
  const std::uint64_t end = begin_of(part.number + 1);
  std::vector<ShardRange> ranges;
  std::uint64_t before = 0;
  for (std::size_t i = 0; i < sizes.size() && before < end; before += sizes[i], ++i) {
    const ShardRange range{i, std::max(begin, before) - before, std::min(end - before, sizes[i])};
    if (range.begin < range.end) ranges.push_back(range);
  }
  return ranges;
}

}  // namespace recordfs
