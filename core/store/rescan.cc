#include "core/store/rescan.h"

#include <algorithm>
#include <utility>

#include "core/base/read_window.h"

namespace recordfs {

Result<std::shared_ptr<const Interval>> Rescan::interval(const Anchor& from, const PrefixSums& until,
                                                         std::vector<CachedSizes> cached_sizes) const {
  const Error changed{Code::kChanged, from.key.position, "the file's chunks have changed"};
  auto found = std::make_shared<Interval>();
  IndexedChunks& chunks = found->chunks;
  chunks.reserve(static_cast<std::size_t>(std::min(until.chunks - from.before.chunks, chunks_per_anchor)));
  const ReadWindow window(source);
  Scanner scanner(container, source.size(), detail, from.key, from.before, std::move(cached_sizes), make_layout);
  while (scanner.totals().chunks < until.chunks) {
    if (scanner.at_end()) return changed;
    TRY(scanner.step());
    if (scanner.chunk()) chunks.push_back(*scanner.chunk());
  }
  const PrefixSums& now = scanner.totals();
  if (now.records != until.records || now.bytes != until.bytes || now.rows != until.rows) return changed;
  return std::shared_ptr<const Interval>(std::move(found));
}

bool Rescan::can_continue_from(const CatalogSnapshot& snapshot) const {
  const std::vector<Anchor>& anchors = snapshot.anchors;
  if (anchors.size() < 2 || !container.traits().is_in_file_order) return false;
  // Recovery from damage may have depended on where the file ended.
  const Anchor& last = anchors.back();
  const bool is_sound =
      std::ranges::all_of(snapshot.damage, [&](const DamageRow& row) { return row.region.begin >= last.key.position; });
  if (!is_sound) return false;
  const Anchor& from = anchors[anchors.size() - 2];
  auto cached_sizes = cached_sizes_between(snapshot.cached_sizes, from.before.chunks, last.before.chunks);
  return interval(from, last.before, std::move(cached_sizes)).has_value();
}

// Returns whether a scan from one anchor reaches the other with the same sums.
bool Rescan::leads_to(const Anchor& from, const Anchor& to, std::vector<CachedSizes> cached_sizes) const {
  const ReadWindow window(source);
  Scanner scanner(container, source.size(), detail, from.key, from.before, std::move(cached_sizes), make_layout);
  while (!scanner.at_end() && scanner.next() != to.key && scanner.next().position <= to.key.position) {
    if (!scanner.step()) return false;
  }
  const PrefixSums& now = scanner.totals();
  return !scanner.at_end() && scanner.next() == to.key && now.chunks == to.before.chunks &&
         now.records == to.before.records && now.bytes == to.before.bytes && now.rows == to.before.rows;
}

// Returns whether all intervals with damage give the same sums. Recovery from damage may depend on where the file ends.
bool Rescan::has_same_damage(const CatalogSnapshot& snapshot) const {
  const std::vector<Anchor>& anchors = snapshot.anchors;
  const Anchor* seen = nullptr;
  for (const DamageRow& row : snapshot.damage) {
    const auto next = std::ranges::upper_bound(anchors, row.region.begin, {},
                                               [](const Anchor& anchor) { return anchor.key.position; });
    if (&*next == seen) continue;
    seen = &*next;
    const Anchor from = next == anchors.begin() ? Anchor{container.traits().first, {}} : *(next - 1);
    auto cached_sizes = cached_sizes_between(snapshot.cached_sizes, from.before.chunks, next->before.chunks);
    if (!leads_to(from, *next, std::move(cached_sizes))) return false;
  }
  return true;
}

bool Rescan::cut_back(CatalogSnapshot& snapshot) const {
  if (!container.traits().is_in_file_order) return false;
  std::vector<DamageRow>& damage = snapshot.damage;
  while (!snapshot.anchors.empty()) {
    const Position end = snapshot.anchors.back().key.position;
    const bool is_crossed = std::ranges::any_of(
        damage, [end](const DamageRow& row) { return row.region.begin < end && row.region.end > end; });
    if (!is_crossed) break;
    snapshot.anchors.pop_back();
  }
  if (snapshot.anchors.empty()) return false;
  const Position end = snapshot.anchors.back().key.position;
  std::erase_if(damage, [end](const DamageRow& row) { return row.region.begin >= end; });
  return has_same_damage(snapshot);
}

}  // namespace recordfs
