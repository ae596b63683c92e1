#include "fusefs/commands/split.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "core/base/read_window.h"

namespace recordfs {
namespace {

bool parse_bound(std::string_view text, Position& bound) {
  if (text.empty()) return true;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), bound);
  return parsed.ec == std::errc{} && parsed.ptr == text.data() + text.size();
}

}  // namespace

std::optional<Split> parse_split(const std::string& text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string::npos) return std::nullopt;
  Split split;
  const std::string_view all = text;
  if (!parse_bound(all.substr(0, colon), split.begin) || !parse_bound(all.substr(colon + 1), split.end)) {
    return std::nullopt;
  }
  return split;
}

Result<std::optional<IndexedChunk>> start_of(const Split& split, const RecordStore& store) {
  if (!store.traits().has_seek_structure || store.source().size() == 0) return std::optional<IndexedChunk>{};
  const Position at = std::min(split.begin, store.source().size() - 1);
  // Damage may leave bytes without a chunk. Steps back in doubling distances.
  for (std::uint64_t back = 0; back <= at; back = back * 2 + 1) {
    auto found = store.index().chunk_covering(at - back);
    if (found) return std::optional(IndexedChunk{.chunk = std::move(*found), .before = {}});
    const Code code = found.error().code;
    if (code != Code::kNotFound && code != Code::kPending) return std::move(found).error();
  }
  return std::optional<IndexedChunk>{};
}

Result<SplitContent> content_of(const Split& split, const RecordStore& store) {
  const ReadWindow window(store.source());
  SplitContent content;
  for (Scanner scanner = store.index().scanner(ScanDetail::kCounts); !scanner.at_end();) {
    TRY(scanner.step());
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
