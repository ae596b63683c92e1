#include "core/store/record_store.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "core/base/counted.h"
#include "core/base/request_context.h"

namespace recordfs {
namespace {

constexpr std::size_t kLocatedChunks = 256;
constexpr std::size_t kReportedPlaces = 1024;
constexpr std::uint64_t kRegion = UINT64_MAX;        // Reported::thing: damage begins here
constexpr std::uint64_t kShortage = UINT64_MAX - 1;  // Reported::thing: lack of memory, logged once per file
constexpr int kStepsToFirstRecord = 16;
constexpr std::uint64_t kLargeChunk = 8u << 20;
// Bytes that a record needs during decoding: its end in the output, and in the layout.
constexpr std::uint64_t kMemoryOfAPlace = 8 + 4;

// Returns a size that is not 0, for unreadable records: the kernel does not send reads for empty files.
std::uint64_t at_least_one(std::uint64_t size) { return std::max<std::uint64_t>(size, 1); }

// Returns whether reading or decoding so many bytes needs permission for slow work.
bool is_slow(std::uint64_t bytes) { return bytes >= LargeAllocations::kLarge; }

// Fails if the decoded chunk does not match the scan. Ordinals and offsets would be wrong then.
Result<void> check_counts(const ChunkInfo& chunk, const Layout& layout) {
  const bool same = chunk.records.value_or(layout.records()) == layout.records() &&
                    chunk.decoded_size.value_or(layout.total()) == layout.total();
  if (same) return {};
  return Error{Code::kChanged, chunk.begin, "the chunk's records no longer match its header"};
}

}  // namespace

DecodeBudgets& Services::budgets_of(std::uint64_t filesystem) {
  const std::lock_guard lock(budgets_mutex);
  const auto found = budgets.find(filesystem);
  if (found != budgets.end()) return found->second;
  const auto forget_excess = [this] {
    chunks.forget_excess();
    layouts.forget_excess();
  };
  return budgets
      .emplace(std::piecewise_construct, std::forward_as_tuple(filesystem),
               std::forward_as_tuple(chunks.capacity() + layouts.capacity(), forget_excess))
      .first->second;
}

std::string damage_line(const DamagedRegion& region) {
  const std::string lost =
      region.records_lost ? counted(*region.records_lost, "record") + " lost" : "records may be lost";
  return fmt::format("bytes {} to {}: {}: {}; {}", region.begin, region.end, to_string(region.damage_class),
                     region.reason, lost);
}

RecordStore::~RecordStore() {
  read_ahead_.reset();
  services_.chunks.forget(id_);
  services_.layouts.forget(id_);
}

void RecordStore::report(const Error& error, std::uint64_t thing) const {
  if (error.code == Code::kPending || error.code == Code::kInterrupted || RequestContext::was_refused()) return;
  const Reported what = error.code == Code::kOutOfMemory ? Reported{0, kShortage, false}
                                                         : Reported{error.position, thing, is_permanent(error.code)};
  report(Severity::kWarning, what, to_string(error));
}

void RecordStore::report(const DamagedRegion& region) const {
  const bool is_end = region.damage_class == DamageClass::kUnfinished || region.damage_class == DamageClass::kStale;
  report(is_end ? Severity::kInfo : Severity::kWarning, {region.begin, kRegion}, damage_line(region));
}

void RecordStore::report(Severity severity, Reported what, const std::string& text) const {
  bool is_last = false;
  {
    const std::lock_guard lock(mutex_);
    if (reported_.size() >= kReportedPlaces || !reported_.insert(what).second) return;
    is_last = reported_.size() == kReportedPlaces;
  }
  services_.log(severity, fmt::format("{}: {}", name_, text));
  if (is_last)
    services_.log(Severity::kWarning, fmt::format("{}: too many failures; further ones are not logged", name_));
}

Catalog::OnScanned RecordStore::scan_logger(std::string_view of_what) const {
  return [this, of_what](const PrefixSums& totals, std::chrono::steady_clock::duration scanned) {
    services_.log(Severity::kDetail, fmt::format("{}: scanned its {} in {} ms: {}, {}", name_, of_what,
                                                 std::chrono::duration_cast<std::chrono::milliseconds>(scanned).count(),
                                                 counted(totals.chunks, "chunk"), counted(totals.records, "record")));
  };
}

void RecordStore::log_growth() const {
  if (is_followed_ || logged_growth_.exchange(true)) return;
  services_.log(
      Severity::kInfo,
      fmt::format("{}: the file has grown since it was opened; this snapshot does not show what was added", name_));
}

Result<std::optional<ChunkInfo>> RecordStore::first_record_chunk() const {
  Scanner scanner(*container_, source_->size(), ScanDetail::kCounts, layouts_in_turn());
  for (int i = 0; i < kStepsToFirstRecord && !scanner.at_end(); ++i) {
    TRY(scanner.step());
    if (scanner.chunk() && scanner.chunk()->chunk.records.value_or(0) > 0) return std::optional(scanner.chunk()->chunk);
  }
  return std::optional<ChunkInfo>{};
}

Result<ChunkInfo> RecordStore::chunk_at(Position begin) const {
  auto found = chunk_covering(begin);
  if (found && found->begin != begin) return Error{Code::kNotFound, begin, "no chunk begins here"};
  return found;
}

Result<ChunkInfo> RecordStore::chunk_covering(Position at) const {
  if (at >= source_->size()) return Error{Code::kNotFound, at, "past the end of the file"};
  // The catalog can search by position only in file order.
  if (container_->traits().is_in_file_order) {
    auto indexed = reported(catalog_.find(SearchKey::kPosition, at));
    if (indexed) return indexed->chunk;
    if (indexed.error().code == Code::kNotFound || !container_->traits().has_seek_structure)
      return std::move(indexed).error();
  }
  {
    const std::lock_guard lock(mutex_);
    const auto after = located_.upper_bound(at);
    if (after != located_.begin() && at < std::prev(after)->second.end) return std::prev(after)->second;
  }
  ASSIGN_OR_RETURN(auto chunk, reported(container_->locate(at)));
  if (!chunk) return Error{Code::kNotFound, at, "no chunk covers this byte"};
  // Measured, because the result must not depend on whether the catalog has reached the chunk.
  TRY(reported(measure(layouts_in_turn(), ScanDetail::kCounts, *chunk)));
  const std::lock_guard lock(mutex_);
  if (located_.size() >= kLocatedChunks) located_.clear();
  located_.emplace(chunk->begin, *chunk);
  return *chunk;
}

Result<std::uint64_t> RecordStore::address(const ChunkInfo& chunk, std::uint64_t index) const {
  // Every address within the chunk's bytes belongs to it, because record_at() looks for the chunk that covers the
  // address. So a few index bits suffice in a large file.
  const std::uint64_t room = (chunk.end - chunk.begin) << index_bits_;
  if (index >= room) {
    Error why{Code::kLimit, chunk.begin, "too many records in the chunk to address them"};
    return reported(Result<std::uint64_t>(std::move(why)));
  }
  return (chunk.begin << index_bits_) + index;
}

Result<RecordRef> RecordStore::record_at(std::uint64_t address) const {
  ASSIGN_OR_RETURN(const auto chunk, chunk_covering(address >> index_bits_));
  return RecordRef{chunk, address - (chunk.begin << index_bits_)};
}

Result<IndexedChunk> RecordStore::chunk_by_number(std::uint64_t number) const {
  return reported(catalog_.find(SearchKey::kChunks, number));
}

Result<IndexedChunk> RecordStore::chunk_by_ordinal(std::uint64_t ordinal) const {
  return reported(catalog_.find(SearchKey::kRecords, ordinal));
}

Result<IndexedChunk> RecordStore::place_of(const ChunkInfo& chunk) const {
  if (container_->traits().is_in_file_order) return reported(catalog_.find(SearchKey::kPosition, chunk.begin));
  for (std::uint64_t number = 0;; ++number) {
    auto indexed = chunk_by_number(number);
    if (!indexed || indexed->chunk.begin == chunk.begin) return indexed;
  }
}

std::unique_ptr<SavedIndex> RecordStore::saved(ScanDetail detail) const {
  if (!services_.index) return nullptr;
  IndexLocation location = *services_.index;
  if (is_followed_) location.settings += " followed";  // a scan that ends before the unfinished part
  const IndexBounds bounds{bounds_.anchors, bounds_.chunks_per_anchor, bounds_.damage_rows, bounds_.cached_sizes};
  return std::make_unique<SavedIndex>(std::move(location), *source_, container_->traits().format, detail, bounds,
                                      [this](Severity severity, const std::string& text) {
                                        services_.log(severity, fmt::format("{}: {}", name_, text));
                                      });
}

Catalog& RecordStore::sizes() const {
  if (catalog_.state().sizes_known) return catalog_;
  const std::lock_guard lock(mutex_);
  if (!sizes_) sizes_ = new_sizes({});
  return *sizes_;
}

// Called if a chunk does not match the catalog.
void RecordStore::invalidate() const {
  catalog_.invalidate();
  if (Catalog* made = sizes_if_made()) made->invalidate();
}

Result<PrefixSums> RecordStore::size_totals() const { return reported(sizes().totals()); }

Result<PrefixSums> RecordStore::record_totals() const { return reported(catalog_.totals()); }

Result<std::shared_ptr<const std::vector<DamageRow>>> RecordStore::damage() const {
  return reported(catalog_.damage());
}

Result<std::uint64_t> RecordStore::records_in(const ChunkInfo& chunk) const {
  if (chunk.records) return *chunk.records;
  ASSIGN_OR_RETURN(const auto known, layout(chunk));
  return known->records();
}

Result<Layout> RecordStore::layout_in_turn(const ChunkInfo& chunk) const {
  const DecodeBudget::Turn turn(budgets_.slow);
  return container_->layout(chunk);
}

MakeLayout RecordStore::layouts_in_turn() const {
  return [this](const ChunkInfo& chunk) { return layout_in_turn(chunk); };
}

Result<std::shared_ptr<const Layout>> RecordStore::layout_of_decoded(const ChunkInfo& info) const {
  ASSIGN_OR_RETURN(auto decoded, chunk(info));
  return std::shared_ptr<const Layout>(decoded, &decoded->layout());
}

Result<std::shared_ptr<const Layout>> RecordStore::layout(const ChunkInfo& info) const {
  if (info.layout_cost == LayoutCost::kDecode) return layout_of_decoded(info);
  if (auto decoded = services_.chunks.peek(cache_key(info)); decoded && *decoded) {
    const Layout& of_decoded = (**decoded)->layout();
    if (check_counts(info, of_decoded)) return std::shared_ptr<const Layout>(**decoded, &of_decoded);
  }
  auto known = services_.layouts.get(cache_key(info), [&]() -> Result<std::shared_ptr<const Layout>> {
    ASSIGN_OR_RETURN(auto made, layout_in_turn(info));
    return std::make_shared<const Layout>(std::move(made));
  });
  if (known) {
    if (auto same = check_counts(info, **known); !same) {
      services_.layouts.forget(cache_key(info));
      invalidate();
      known = std::move(same).error();
    }
  }
  if (!known) report(known.error());
  return known;
}

bool RecordStore::wants_parts(const ChunkInfo& chunk) const {
  const std::uint64_t size = std::max(chunk.stored_size, chunk.decoded_size.value_or(0));
  return size > std::min(kLargeChunk, services_.chunks.capacity() / 4);
}

Result<std::shared_ptr<const Chunk>> RecordStore::decode(const ChunkInfo& chunk) const {
  auto decoded = decode_in_turn(chunk);
  if (decoded) services_.decoded_bytes.fetch_add((*decoded)->payload_size(), std::memory_order_relaxed);
  return decoded;
}

Result<std::shared_ptr<const Chunk>> RecordStore::decode_in_turn(const ChunkInfo& chunk) const {
  const bool is_large = wants_parts(chunk);
  if (is_large) {
    const DecodeBudget::Turn turn(budgets_.slow);
    auto by_parts = container_->open_in_place(chunk);
    if (!by_parts || *by_parts) return by_parts;
  }
  if (is_large && chunk.decoded_size) {
    const std::uint64_t places = chunk.records.value_or(0) * kMemoryOfAPlace;
    const std::uint64_t bytes = std::max(chunk.stored_size, *chunk.decoded_size) + places;
    if (is_slow(bytes)) {
      TRY(RequestContext::permit_slow_work());
    }
    const DecodeBudget::Share share(is_slow(bytes) ? budgets_.slow : budgets_.small, bytes);
    TRY(RequestContext::spend(0));
    if (is_slow(bytes)) return container_->decode(chunk);
    const DecodeBudget::Turn turn(budgets_.slow);  // for decoding that needs more than declared
    return container_->decode(chunk);
  }
  const DecodeBudget::Turn turn(budgets_.slow);
  return container_->decode(chunk);
}

// Reading a chunk on demand may decode.
Result<Slice> RecordStore::read_payload(const Chunk& chunk, std::uint64_t offset, std::uint64_t length) const {
  const DecodeBudget::Turn turn(budgets_.slow);
  return chunk.read(offset, length);
}

Result<Slice> RecordStore::read_bytes(const Chunk& chunk, std::uint64_t offset, std::uint64_t length) const {
  return reported(read_payload(chunk, offset, length));
}

// The cached chunk may come from a caller with less information about it.
Result<std::shared_ptr<const Chunk>> RecordStore::cached(const ChunkInfo& info) const {
  ASSIGN_OR_RETURN(auto decoded, services_.chunks.get(cache_key(info), [&]() -> Result<std::shared_ptr<const Chunk>> {
    auto made = decode(info);
    if (source_->has_grown()) log_growth();
    return made;
  }));
  if (auto same = check_counts(info, decoded->layout()); !same) {
    services_.chunks.forget(cache_key(info));
    invalidate();
    return std::move(same).error();
  }
  return decoded;
}

Result<std::shared_ptr<const Chunk>> RecordStore::chunk(const ChunkInfo& info) const {
  auto decoded = cached(info);
  if (decoded) {
    if (!wants_parts(info)) read_ahead_->was_read(info);
  } else {
    report(decoded.error());  // includes failures that read-ahead found
  }
  return decoded;
}

// Asks the catalog first, which usually reads nothing. If it has not reached the chunk, scans from the chunk.
std::optional<ChunkInfo> RecordStore::next_with_records(const ChunkInfo& chunk) const {
  Result<IndexedChunk> at = Error{.code = Code::kPending, .detail = {}};
  if (container_->traits().is_in_file_order) at = catalog_.find(SearchKey::kPosition, chunk.begin);
  for (int i = 0; at && i < kStepsToFirstRecord; ++i) {
    at = catalog_.find(SearchKey::kChunks, at->before.chunks + 1);
    if (at && at->chunk.records != 0u) return at->chunk;
  }
  if (at || at.error().code != Code::kPending) return std::nullopt;
  Scanner scanner(*container_, source_->size(), ScanDetail::kHeaders, chunk.key, {});
  for (int i = 0; i <= kStepsToFirstRecord && !scanner.at_end(); ++i) {
    if (!scanner.step()) return std::nullopt;
    const auto& indexed = scanner.chunk();
    if (indexed && indexed->chunk.begin != chunk.begin && indexed->chunk.records != 0u) return indexed->chunk;
  }
  return std::nullopt;
}

std::unique_ptr<ReadAhead> RecordStore::new_read_ahead() const {
  const ReadAhead::Work work{
      .next = [this](const ChunkInfo& chunk) -> std::optional<ChunkInfo> {
        auto next = next_with_records(chunk);
        if (next && wants_parts(*next)) next.reset();
        return next;
      },
      // A chunk may postpone work to its first read, so read it here.
      .decode =
          [this](const ChunkInfo& chunk) {
            if (auto ahead = cached(chunk))
              static_cast<void>(read_bytes(**ahead, 0, (*ahead)->payload_size()).has_value());
          },
      .may = source_->filesystem() == 0 ? RequestContext::Work::kNonBlocking : RequestContext::Work::kMayBlock};
  const ReadAhead::Bounds bounds{.chunks = std::size_t{2} * services_.executor.threads(),
                                 .bytes = services_.chunks.capacity() / 4};
  return std::make_unique<ReadAhead>(services_.executor, work, bounds);
}

Result<std::uint64_t> RecordStore::record_size(const RecordRef& record) const {
  // A reader that asks for the size of a record usually reads it next. Decoding now avoids reading the chunk twice.
  auto known = wants_parts(record.chunk) ? layout(record.chunk) : layout_of_decoded(record.chunk);
  const bool is_readable = known.has_value();
  // The layout of an undecodable chunk may still tell the declared sizes, as listings show them.
  if (!known && is_permanent(known.error().code)) known = layout(record.chunk);
  if (!known) {
    if (is_permanent(known.error().code)) return 1;
    return std::move(known).error();
  }
  if (record.index >= (*known)->records()) {
    return Error{Code::kNotFound, record.chunk.begin, "the chunk has no such record"};
  }
  const std::uint64_t size = (*known)->extent(record.index).size;
  if (!is_readable || (*known)->failure(record.index) != nullptr) return at_least_one(size);
  if (size > 0 || !wants_parts(record.chunk)) return size;
  // A record that is empty by its layout may be unreadable, which no read would show, because the kernel sends none.
  const auto decoded = chunk(record.chunk);
  if (!decoded && !is_permanent(decoded.error().code)) return decoded.error();
  const bool is_empty = decoded && (*decoded)->layout().failure(record.index) == nullptr;
  return std::uint64_t{is_empty ? 0u : 1u};
}

Result<Slice> RecordStore::read_record(const RecordRef& record, std::uint64_t offset, std::uint64_t length) const {
  ASSIGN_OR_RETURN(const auto decoded, chunk(record.chunk));
  if (record.index >= decoded->layout().records()) {
    return Error{Code::kNotFound, record.chunk.begin, "the chunk has no such record"};
  }
  return read_record(*decoded, record.index, offset, length);
}

Result<Slice> RecordStore::read_record(const Chunk& chunk, std::uint64_t index, std::uint64_t offset,
                                       std::uint64_t length) const {
  const Layout& layout = chunk.layout();
  TRY(check_readable(layout, index));
  const Extent extent = layout.extent(index);
  if (offset >= extent.size) return Slice{};
  return read_bytes(chunk, extent.begin + offset, std::min(length, extent.size - offset));
}

Scanner RecordStore::scanner(ScanDetail detail, const std::optional<IndexedChunk>& from) const {
  if (!from) return {*container_, source_->size(), detail, layouts_in_turn()};
  return {*container_, source_->size(), detail, from->chunk.key, from->before, {}, layouts_in_turn()};
}

Result<std::shared_ptr<const Chunk>> RecordStore::decode_ahead(const ChunkInfo& info) const {
  ASSIGN_OR_RETURN(auto decoded, decode(info));
  TRY(check_counts(info, decoded->layout()));
  // A chunk may postpone work to its first read. If that fails, each unreadable record reports it later.
  if (!wants_parts(info)) {
    static_cast<void>(read_payload(*decoded, 0, decoded->payload_size()).has_value());
  }
  return decoded;
}

Result<std::shared_ptr<const Chunk>> RecordStore::decode_uncached(const ChunkInfo& info) const {
  auto decoded = decode_ahead(info);
  if (!decoded) report(decoded.error());
  return decoded;
}

void RecordStore::for_each_following(const RecordRef& record,
                                     const std::function<bool(const RecordRef&, Bytes)>& take) const {
  RecordRef at{record.chunk, record.index + 1};
  for (;;) {
    if (wants_parts(at.chunk)) return;
    const auto decoded = cached(at.chunk);
    if (!decoded) return;
    read_ahead_->was_read(at.chunk);
    const Layout& layout = (*decoded)->layout();
    for (; at.index < layout.records(); ++at.index) {
      if (layout.failure(at.index) != nullptr) continue;
      const Extent extent = layout.extent(at.index);
      const auto slice = read_bytes(**decoded, extent.begin, extent.size);
      if (!slice || !take(at, slice->bytes)) return;
    }
    const auto next = next_with_records(at.chunk);
    if (!next) return;
    at = {*next, 0};
  }
}

Result<Parts> RecordStore::parts(const RecordRef& record) const {
  // The format does not know the record's position.
  const auto fail = [&](Code code, std::string_view why) {
    Error failure{.code = code,
                  .position = record.chunk.begin,
                  .detail = fmt::format("record {} of the chunk: {}", record.index, why)};
    report(failure, record.index + 1);
    return failure;
  };
  ASSIGN_OR_RETURN(const auto size, record_size(record));
  if (size > schema().largest_record_with_parts) {
    return fail(Code::kLimit, fmt::format("{} bytes, too large to split into parts", size));
  }
  ASSIGN_OR_RETURN(const auto bytes, read_record(record, 0, kEverything));
  auto parts = schema().parts(bytes.bytes);
  if (!parts) return fail(parts.error().code, parts.error().detail);
  return parts;
}

Result<Slice> RecordStore::read_value(const FoundKey& key, std::uint64_t offset, std::uint64_t length) const {
  ASSIGN_OR_RETURN(const auto record, record_at(key.record));
  const auto fail = [&](Code code, std::string_view why) {
    Error failure{code, record.chunk.begin, fmt::format("record {} of the chunk: {}", record.index, why)};
    report(failure, record.index + 1);
    return failure;
  };
  if (key.state == FoundKey::State::kTwice) return fail(Code::kDamage, "two keys have the same hash");
  if (key.state == FoundKey::State::kUnknown) {
    return fail(Code::kUnsupported, "value not stored in this file (merge operand or external blob)");
  }
  if (offset >= key.value.size) return Slice{};
  const std::uint64_t wanted = std::min(length, key.value.size - offset);
  auto slice = read_record(record, key.value.begin + offset, wanted);
  if (slice && slice->bytes.size() != wanted) return fail(Code::kChanged, "the key's value is no longer in the record");
  return slice;
}

Result<std::uint64_t> RecordStore::payload_size(const ChunkInfo& info) const {
  auto decoded = chunk(info);
  if (decoded) return (*decoded)->payload_size();
  if (is_permanent(decoded.error().code)) return at_least_one(counted_size(info));
  return std::move(decoded).error();
}

Result<std::shared_ptr<const std::vector<Attribute>>> RecordStore::attributes() const {
  {
    const std::lock_guard lock(mutex_);
    if (attributes_) return attributes_;
  }
  const Metadata* const metadata = container_->metadata();
  std::optional<IndexedChunk> last;
  if (metadata != nullptr && metadata->varies()) {
    ASSIGN_OR_RETURN(const auto known, record_totals());
    if (known.chunks > 0) {
      ASSIGN_OR_RETURN(const auto indexed, chunk_by_number(known.chunks - 1));
      last = indexed;
    }
  }
  auto values = metadata == nullptr ? std::vector<Attribute>{} : metadata->attributes(last ? &last->chunk : nullptr);
  if (!values) {
    report(values.error());
    return std::move(values).error();
  }
  const std::lock_guard lock(mutex_);
  if (!attributes_) attributes_ = std::make_shared<const std::vector<Attribute>>(std::move(*values));
  return attributes_;
}

}  // namespace recordfs
