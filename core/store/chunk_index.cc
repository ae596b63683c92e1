#include "core/store/chunk_index.h"

#include <utility>

#include <fmt/format.h>

namespace recordfs {
namespace {

constexpr int kStepsToFirstRecord = 16;

Catalog::Bounds with_settings(Catalog::Bounds bounds, const StoreResources& services) {
  bounds.remote = services.remote_scans;
  bounds.reports_ahead = services.reports_ahead;
  return bounds;
}

}  // namespace

ChunkIndex::ChunkIndex(const StoredFile& file, DamageLog& log, Catalog::Bounds bounds, const ChunkIndex* shorter)
    : file_(file),
      log_(log),
      bounds_(with_settings(bounds, file.services)),
      catalog_(
          *file.container, *file.source, ScanDetail::kCounts, bounds_,
          [&log](const DamageRow& row) { log.report(row.region); },
          shorter != nullptr ? nullptr : saved(ScanDetail::kCounts), file.layout_maker(),
          shorter != nullptr ? Catalog::OnScanned{} : log.scan_logger("headers"),
          shorter != nullptr ? shorter->catalog_.snapshot() : std::nullopt, file.services.reads_whole_files) {
  if (shorter == nullptr) return;
  knows_counts_ = shorter->state().complete;
  const Catalog* const made = shorter->sizes_if_made();
  if (auto snapshot = made != nullptr ? made->snapshot() : std::nullopt) {
    sizes_ = new_sizes(std::move(snapshot));
    knows_sizes_ = true;
  }
}

Result<ChunkInfo> ChunkIndex::chunk_at(const RequestContext& context, Position begin) const {
  auto found = chunk_covering(context, begin);
  if (found && found->begin != begin) return Error{Code::kNotFound, begin, "no chunk begins here"};
  return found;
}

Result<ChunkInfo> ChunkIndex::chunk_covering(const RequestContext& context, Position at) const {
  if (at >= file_.source->size()) return Error{Code::kNotFound, at, "past the end of the file"};
  const ContainerTraits& traits = file_.container->traits();
  // The catalog can search by position only in file order.
  if (traits.is_in_file_order) {
    auto indexed = find(context, SearchKey::kPosition, at);
    if (indexed) return indexed->chunk;
    if (indexed.error().code == Code::kNotFound || !traits.has_seek_structure) return std::move(indexed).error();
  }
  const auto covers = [at](const ChunkInfo& chunk) { return at < chunk.end; };
  if (const auto known = located_.find_last_until(at, covers)) return *known;
  ASSIGN_OR_RETURN(auto chunk, log_.reported(context, file_.container->locate(context.filling_unreadable(), at)));
  if (!chunk) return Error{Code::kNotFound, at, "no chunk covers this byte"};
  // Measured, because the result must not depend on whether the catalog has reached the chunk.
  TRY(log_.reported(context, measure(context, file_.layout_maker(), ScanDetail::kCounts, *chunk)));
  return located_.add(chunk->begin, *chunk);
}

Result<IndexedChunk> ChunkIndex::find(const RequestContext& context, SearchKey search_key, std::uint64_t value) const {
  if (search_key == SearchKey::kRecords) {
    // Readers of consecutive records ask for one chunk many times.
    const std::lock_guard lock(recent_mutex_);
    if (recent_ && value - recent_->before.records < recent_->chunk.records) return *recent_;
  }
  const bool needs_sizes = search_key == SearchKey::kBytes || search_key == SearchKey::kLines;
  auto found = (needs_sizes ? sizes() : catalog_).find(context, search_key, value);
  const bool may_be_located = search_key == SearchKey::kRecords && !found && found.error().code == Code::kPending;
  if (may_be_located) found = locate_record(context, value, std::move(found).error());
  if (!found) return log_.reported(context, std::move(found));
  if (search_key == SearchKey::kRecords) {
    const std::lock_guard lock(recent_mutex_);
    recent_ = *found;
  }
  return found;
}

// Asks the format's seek structure. Fails with `pending` if that does not tell.
Result<IndexedChunk> ChunkIndex::locate_record(const RequestContext& context, std::uint64_t ordinal,
                                               Error pending) const {
  ASSIGN_OR_RETURN(auto located, file_.container->locate_record(context.filling_unreadable(), ordinal));
  if (!located) return pending;
  TRY(measure(context, file_.layout_maker(), ScanDetail::kCounts, located->chunk));
  if (ordinal - located->first_ordinal >= located->chunk.records.value_or(0)) return pending;
  return IndexedChunk{.chunk = located->chunk, .before = {.records = located->first_ordinal}};
}

Result<IndexedChunk> ChunkIndex::place_of(const RequestContext& context, const ChunkInfo& chunk) const {
  if (file_.container->traits().is_in_file_order) return find(context, SearchKey::kPosition, chunk.begin);
  // If each chunk has one record, its number is an ordinal, which the seek structure finds without a scan.
  auto found = find(context, SearchKey::kRecords, chunk.key.state);
  if (!found || found->chunk.begin != chunk.begin) found = find(context, SearchKey::kChunks, chunk.key.state);
  if (found && found->chunk.begin != chunk.begin) return Error{Code::kNotFound, chunk.begin, "no chunk begins here"};
  return found;
}

Result<std::optional<ChunkInfo>> ChunkIndex::first_with_records(const RequestContext& context) const {
  Scanner scanner = this->scanner(ScanDetail::kCounts);
  for (int i = 0; i < kStepsToFirstRecord && !scanner.at_end(); ++i) {
    TRY(scanner.step(context));
    if (scanner.chunk() && scanner.chunk()->chunk.records.value_or(0) > 0) return std::optional(scanner.chunk()->chunk);
  }
  return std::optional<ChunkInfo>{};
}

// Asks the catalog first, which usually reads nothing. If it has not reached the chunk, scans from the chunk.
std::optional<ChunkInfo> ChunkIndex::next_with_records(const RequestContext& context, const ChunkInfo& chunk) const {
  Result<IndexedChunk> at = Error{.code = Code::kPending, .detail = {}};
  if (file_.container->traits().is_in_file_order) at = catalog_.find(context, SearchKey::kPosition, chunk.begin);
  for (int i = 0; at && i < kStepsToFirstRecord; ++i) {
    at = catalog_.find(context, SearchKey::kChunks, at->before.chunks + 1);
    if (at && at->chunk.records != 0u) return at->chunk;
  }
  if (at || at.error().code != Code::kPending) return std::nullopt;
  Scanner scanner(*file_.container, file_.source->size(), ScanDetail::kHeaders, chunk.key, {});
  for (int i = 0; i <= kStepsToFirstRecord && !scanner.at_end(); ++i) {
    if (!scanner.step(context)) return std::nullopt;
    const auto& indexed = scanner.chunk();
    if (indexed && indexed->chunk.begin != chunk.begin && indexed->chunk.records != 0u) return indexed->chunk;
  }
  return std::nullopt;
}

bool ChunkIndex::is_scanning() const {
  const Catalog* made = sizes_if_made();
  return catalog_.state().is_scanning || (made != nullptr && made->state().is_scanning);
}

Result<void> ChunkIndex::catch_up() const {
  if (knows_counts_) {
    TRY(totals(ScanDetail::kCounts));
  }
  if (knows_sizes_) {
    TRY(sizes_if_made()->totals());
  }
  return {};
}

Result<PrefixSums> ChunkIndex::totals(ScanDetail detail) const {
  return log_.reported({}, (detail == ScanDetail::kSizes ? sizes() : catalog_).totals());
}

Result<Catalog::Counted> ChunkIndex::counted(ScanDetail detail) const {
  ASSIGN_OR_RETURN(auto found, log_.reported({}, catalog_.counted()));
  if (detail == ScanDetail::kSizes) {
    ASSIGN_OR_RETURN(const auto sized, log_.reported({}, sizes().counted()));
    found.totals = sized.totals;
  }
  return found;
}

Result<std::shared_ptr<const std::vector<DamageRow>>> ChunkIndex::damage() const {
  return log_.reported({}, catalog_.damage());
}

Scanner ChunkIndex::scanner(ScanDetail detail, const std::optional<IndexedChunk>& from, MakeLayout make_layout) const {
  if (!make_layout) make_layout = file_.layout_maker();
  const ChunkKey begin = from ? from->chunk.key : file_.container->traits().first;
  Scanner scanner(*file_.container, file_.source->size(), detail, begin, from ? from->before : PrefixSums(), {},
                  std::move(make_layout));
  scanner.name_unreadable(*file_.source);
  return scanner;
}

std::unique_ptr<SavedIndex> ChunkIndex::saved(ScanDetail detail) const {
  if (!file_.services.index) return nullptr;
  IndexLocation location = *file_.services.index;
  if (file_.is_followed) location.settings += " followed";  // a scan that ends before the unfinished part
  return std::make_unique<SavedIndex>(std::move(location), *file_.source, file_.container->traits().format, detail,
                                      bounds_, [&file = file_](Severity severity, const std::string& text) {
                                        file.services.log(severity, fmt::format("{}: {}", file.name, text));
                                      });
}

std::optional<CatalogSnapshot> ChunkIndex::snapshot(ScanDetail detail) const {
  if (detail == ScanDetail::kCounts) return catalog_.snapshot();
  const Catalog* const made = sizes_if_made();
  return made == nullptr ? std::nullopt : made->snapshot();
}

void ChunkIndex::invalidate() const {
  {
    const std::lock_guard lock(recent_mutex_);
    recent_.reset();
  }
  catalog_.invalidate();
  if (Catalog* made = sizes_if_made()) made->invalidate();
}

Catalog& ChunkIndex::sizes() const {
  if (catalog_.state().sizes_known) return catalog_;
  const std::lock_guard lock(mutex_);
  if (!sizes_) sizes_ = new_sizes({});
  return *sizes_;
}

Catalog* ChunkIndex::sizes_if_made() const {
  const std::lock_guard lock(mutex_);
  return sizes_.get();
}

std::unique_ptr<Catalog> ChunkIndex::new_sizes(std::optional<CatalogSnapshot> shorter) const {
  auto index = shorter ? nullptr : saved(ScanDetail::kSizes);
  auto on_scanned = shorter ? Catalog::OnScanned{} : log_.scan_logger("sizes");
  return std::make_unique<Catalog>(*file_.container, *file_.source, ScanDetail::kSizes, bounds_, Catalog::OnDamage{},
                                   std::move(index), file_.layout_maker(), std::move(on_scanned), std::move(shorter),
                                   file_.services.reads_whole_files);
}

}  // namespace recordfs
