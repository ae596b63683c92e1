#include "core/formats/leveldb_log/timestamp_sizes.h"

#include "core/base/cursor.h"

namespace recordfs::leveldb_log {

Result<void> read_timestamp_sizes(const RequestContext& context, const Source& log, const Session& session,
                                  Position begin, Position end, TimestampSizes& sizes) {
  constexpr std::size_t kMostFamilies = 65536;
  ItemReader items(log, session);
  for (Position at = begin; at < end;) {
    ASSIGN_OR_RETURN(const auto item, items.next(context, at));
    at = item.end;
    const bool states_sizes = item.fragment.type == kTimestampSizes || item.fragment.type == kRecyclableTimestampSizes;
    if (item.kind != Item::Kind::kSkipped || item.fragment.role != Role::kControl || !states_sizes) continue;
    for (Cursor cursor(item.payload); !cursor.at_end() && sizes.size() < kMostFamilies;) {
      const std::uint32_t family = cursor.u32_le();
      const std::uint16_t size = cursor.u16_le();
      if (cursor.ok() && size > 0) sizes[family] = size;
    }
  }
  return {};
}

}  // namespace recordfs::leveldb_log
