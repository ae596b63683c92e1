#include "core/database/lost_partition.h"

#include <algorithm>
#include <optional>
#include <string>

#include "core/base/buffer.h"
#include "core/formats/leveldb_table/salvage.h"
#include "core/formats/leveldb_table/seek.h"

namespace recordfs::database {
namespace {

using leveldb_table::BlockList;
using leveldb_table::BlockPlace;
using leveldb_table::Dialect;
using leveldb_table::kTrailerSize;

class BlockSearch {
 public:
  BlockSearch(const Source& source, const LostExtent& extent, Dialect dialect, const Limits& limits)
      : source_(source), extent_(extent), dialect_(std::move(dialect)), limits_(limits) {}

  Result<BlockList> run(const RequestContext& context) {
    for (Position at = extent_.begin; at < extent_.end;) {
      TRY(context.spend(0));
      ASSIGN_OR_RETURN(const auto place, next_block(context, at));
      if (!place) break;
      TRY(take(context, *place));
      at = place->begin + place->size + kTrailerSize;
    }
    return std::move(found_);
  }

 private:
  // Each search after damage may pass over the rest of the extent.
  static constexpr int kMostSearches = 64;

  Result<std::optional<BlockPlace>> next_block(const RequestContext& context, Position at) {
    const std::uint64_t most = std::min(extent_.end - at, leveldb_table::kMostHashed);
    ASSIGN_OR_RETURN(const auto found, find_end(context, source_, at, extent_.end, {}, most, dialect_, limits_));
    if (found.place || !can_find_after_damage(dialect_) || searches_ == kMostSearches) return found.place;
    ++searches_;
    for (Position from = at + 1; from < extent_.end; from += leveldb_table::kResyncStride) {
      TRY(context.spend(0));
      ASSIGN_OR_RETURN(const auto later, find_block(context, source_, from, extent_.end, dialect_, limits_));
      if (later) return later;
    }
    return std::optional<BlockPlace>{};
  }

  Result<void> take(const RequestContext& context, const BlockPlace& place) {
    ASSIGN_OR_RETURN(const auto kind, kind_of_block(context, source_, place, dialect_, limits_));
    if (kind != leveldb_table::Kind::kData) return {};
    auto content = read_block(context, source_, place, dialect_, limits_);
    if (!content) return is_permanent(content.error().code) ? Result<void>() : std::move(content).error();
    if (const auto last = last_key_of(content->view(), dialect_)) found_.add(as_bytes(*last), place);
    return {};
  }

  const Source& source_;
  const LostExtent extent_;
  const Dialect dialect_;
  const Limits limits_;
  BlockList found_;
  int searches_ = 0;
};

}  // namespace

Result<BlockList> find_data_blocks(const RequestContext& context, const Source& source, const LostExtent& extent,
                                   const Dialect& dialect, const Limits& limits) {
  return BlockSearch(source, extent, dialect, limits).run(context);
}

}  // namespace recordfs::database
