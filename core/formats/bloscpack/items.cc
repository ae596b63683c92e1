// Items of the proposal whose offsets do not ascend, or not all of which point to an item. An item depends only on
// its own offset and on those that point into it, so scan and locate agree.
#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/formats/bloscpack/order.h"

namespace recordfs::bloscpack {
namespace {

using Entry = Offsets::Entry;

// An item is rejected if more offsets than this point into it, even if none of them points to an item.
constexpr std::size_t kMostInside = 64;

class Items final : public ChunkOrder {
 public:
  Items(const Source& source, const Survey& survey, std::vector<Entry> entries)
      : source_(source),
        survey_(survey),
        offsets_(source, survey.offsets_begin, survey.offsets),
        entries_(std::move(entries)) {}

  ChunkKey first() const override { return {offsets_.begin(), 0}; }
  bool is_seekable() const override { return true; }
  bool is_file_order() const override { return false; }

  Result<Step> scan(const RequestContext& context, ChunkKey at) const override {
    Step step;
    if (at.state >= offsets_.count()) return step;
    ASSIGN_OR_RETURN(const auto item, item_of(context, at.state));
    step.chunk = item.info;
    if (item.why) step.damage.push_back(region_of(step.chunk->begin, step.chunk->end, *item.why, 1));
    if (at.state + 1 < offsets_.count()) step.next = ChunkKey{offsets_.place_of(at.state + 1), at.state + 1};
    return step;
  }

  Result<std::optional<ChunkInfo>> locate(const RequestContext& context, Position at) const override;

 private:
  struct Item {
    ChunkInfo info;
    std::optional<Error> why;  // set if unreadable; the item is then the 8 bytes of its offset
  };

  Result<Look> look(const RequestContext& context, Position at) const {
    return look_at(context, source_, at, survey_.header.digest_bytes());
  }
  Result<Item> item_of(const RequestContext& context, std::uint64_t index) const;
  Result<std::optional<Error>> find_fault(const RequestContext& context, std::uint64_t index, Position at,
                                          Look& seen) const;
  Result<bool> reaches_into_another(const RequestContext& context, const Entry* after, Position end) const;

  const Source& source_;
  const Survey& survey_;
  const Offsets offsets_;
  const std::vector<Entry> entries_;  // offsets that point to possible items, sorted by position
};

// Returns whether an item that ends at `end` overlaps one of those from `after` on.
Result<bool> Items::reaches_into_another(const RequestContext& context, const Entry* after, Position end) const {
  const Entry* const all = entries_.data() + entries_.size();
  for (std::size_t i = 0; after != all && after->position < end; ++after, ++i) {
    if (i == kMostInside) return true;
    ASSIGN_OR_RETURN(const auto seen, look(context, after->position));
    if (seen.header) return true;
  }
  return false;
}

Result<std::optional<Error>> Items::find_fault(const RequestContext& context, std::uint64_t index, Position at,
                                               Look& seen) const {
  const auto fault = [&](std::string why) {
    return std::optional(Error{Code::kDamage, offsets_.place_of(index), std::move(why)});
  };
  if (at == kUnset) return fault("an item without an offset");
  const auto own = std::ranges::lower_bound(entries_, Entry{at, 0});
  if (own == entries_.end() || own->position != at) {
    return fault(fmt::format("offset {} is not a valid item position", static_cast<std::int64_t>(at)));
  }
  if (own->index != index) return fault(fmt::format("item {} has the same offset of {}", own->index, at));
  ASSIGN_OR_RETURN(auto there, look(context, at));
  seen = std::move(there);
  if (!seen.header) return fault(fmt::format("no item at byte {}: {}", at, seen.why.detail));
  auto after = own;
  while (after != entries_.end() && after->position == at) ++after;
  ASSIGN_OR_RETURN(const auto reaches,
                   reaches_into_another(context, entries_.data() + (after - entries_.begin()), seen.end));
  if (reaches) return fault(fmt::format("the item at byte {} overlaps another one", at));
  return std::optional<Error>{};
}

Result<Items::Item> Items::item_of(const RequestContext& context, std::uint64_t index) const {
  ASSIGN_OR_RETURN(const auto offset, offsets_.at(context, index));
  Look seen;
  ASSIGN_OR_RETURN(auto why, find_fault(context, index, offset, seen));
  if (!why) return Item{describe(offset, index, seen), std::nullopt};
  const Position place = offsets_.place_of(index);
  return Item{describe_lost(survey_, place, place + kOffsetSize, index, 1), std::move(why)};
}

Result<std::optional<ChunkInfo>> Items::locate(const RequestContext& context, Position at) const {
  std::optional<std::uint64_t> index;
  if (at < survey_.first_chunk) {
    if (at >= offsets_.begin() && at < offsets_.place_of(offsets_.count()))
      index = (at - offsets_.begin()) / kOffsetSize;
  } else {
    auto after = std::ranges::upper_bound(entries_, at, {}, &Entry::position);
    for (std::size_t i = 0; after != entries_.begin() && i <= kMostInside; ++i) {
      --after;
      ASSIGN_OR_RETURN(const auto seen, look(context, after->position));
      if (!seen.header) continue;
      index = std::ranges::lower_bound(entries_, Entry{after->position, 0})->index;
      break;
    }
  }
  if (!index) return std::optional<ChunkInfo>{};
  ASSIGN_OR_RETURN(const auto item, item_of(context, *index));
  if (at < item.info.begin || at >= item.info.end) return std::optional<ChunkInfo>{};
  return std::optional(item.info);
}

}  // namespace

Result<std::unique_ptr<ChunkOrder>> make_items(const RequestContext& context, const Source& source,
                                               const Survey& survey) {
  if (source.size() < kBloscHeaderSize)
    return std::unique_ptr<ChunkOrder>(std::make_unique<Items>(source, survey, std::vector<Entry>{}));
  const Offsets offsets(source, survey.offsets_begin, survey.offsets);
  ASSIGN_OR_RETURN(auto entries, offsets.sorted(context, survey.first_chunk, source.size() - kBloscHeaderSize));
  return std::unique_ptr<ChunkOrder>(std::make_unique<Items>(source, survey, std::move(entries)));
}

}  // namespace recordfs::bloscpack
