#include "fusefs/commands/split.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "core/base/read_window.h"
#include "fusefs/options.h"

namespace recordfs {
std::optional<Split> parse_split(const std::string& text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string::npos) return std::nullopt;
  const std::string_view begin = std::string_view(text).substr(0, colon);
  const std::string_view end = std::string_view(text).substr(colon + 1);
  const auto first = begin.empty() ? std::optional<Position>(0) : parse_number<Position>(begin);
  const auto last = end.empty() ? std::optional<Position>(UINT64_MAX) : parse_number<Position>(end);
  if (!first || !last) return std::nullopt;
  return Split{*first, *last};
}

Result<std::optional<IndexedChunk>> start_of(const Split& split, const RecordStore& store) {
  if (!store.traits().has_seek_structure || store.source().size() == 0) return std::optional<IndexedChunk>{};
  const Position at = std::min(split.begin, store.source().size() - 1);
  // Damage may leave bytes without a chunk. Steps back in doubling distances.
  for (std::uint64_t back = 0; back <= at; back = back * 2 + 1) {
    auto found = store.index().chunk_covering({}, at - back);
    if (found) return std::optional(IndexedChunk{.chunk = std::move(*found), .before = {}});
    const Code code = found.error().code;
    if (code != Code::kNotFound && code != Code::kPending) return std::move(found).error();
  }
  return std::optional<IndexedChunk>{};
}

Result<SplitContent> content_of(const Split& split, const RecordStore& store) {
  ReadWindow window({}, store.source());
  SplitContent content;
  for (Scanner scanner = store.index().scanner(ScanDetail::kCounts); !scanner.at_end();) {
    TRY(scanner.step(RequestContext().with(window)));
    if (scanner.chunk() && split.owns(scanner.chunk()->chunk.begin)) content.chunks.push_back(*scanner.chunk());
    for (const DamageRow& row : scanner.damage()) {
      if (split.owns(row.region.begin)) content.damage.push_back(row.region);
    }
  }
  std::ranges::sort(content.chunks, {}, [](const IndexedChunk& indexed) { return indexed.chunk.begin; });
  std::ranges::sort(content.damage, {}, &DamagedRegion::begin);
  return content;
}

}  // namespace recordfs
