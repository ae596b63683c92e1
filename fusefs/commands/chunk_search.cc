#include "fusefs/commands/chunk_search.h"

#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace recordfs {
namespace {

constexpr std::uint64_t kWhole = 8u << 20;  // payloads up to this size are read at once

// One search of a chunk.
class ChunkSearch {
 public:
  ChunkSearch(const RecordStore& store, const ChunkInfo& info, const Chunk& chunk, const Matcher& matcher,
              const SearchRules& rules, const std::function<void(const Error&)>& fail)
      : store_(store), info_(info), chunk_(chunk), matcher_(matcher), rules_(rules), fail_(fail) {
    if (chunk.payload_size() > kWhole) return;
    if (auto whole = chunk.read(0, chunk.payload_size())) payload_ = std::move(*whole);
  }

  std::vector<FoundRecord> run() {
    if (payload_ && !matcher_.literal().empty() && !rules_.is_inverted && !chunk_.layout().has_failures()) {
      select_by_text();
    } else {
      for (std::uint64_t i = 0; i < chunk_.layout().records() && wants_more(); ++i) look_at(i);
    }
    return std::move(selected_);
  }

 private:
  bool wants_more() const { return selected_.size() < rules_.most; }

  // Searches the whole payload at once, because records follow each other directly.
  void select_by_text() {
    const std::string_view all = as_text(payload_->bytes);
    const std::string_view text = matcher_.literal();
    const Layout& layout = chunk_.layout();
    std::size_t at = layout.records() == 0 ? all.size() : static_cast<std::size_t>(layout.first_begin());
    while (wants_more() && (at = find_text(all, text, at)) != std::string_view::npos) {
      const std::uint64_t index = layout.index_at(at);
      if (index >= layout.records()) return;
      const Extent extent = layout.extent(index);
      const std::uint64_t end = extent.begin + extent.size;
      if (at < extent.begin || text.size() > end - at) {
        ++at;  // crosses the bounds of a record
        continue;
      }
      add(index, as_text(payload_->bytes.subspan(static_cast<std::size_t>(extent.begin),
                                                 static_cast<std::size_t>(extent.size))));
      at = static_cast<std::size_t>(end);
    }
  }

  void look_at(std::uint64_t index) {
    const auto record = read(index);
    if (!record) return fail_(record.error());
    const std::string_view text = as_text(record->bytes);
    if (matcher_.matches(text) != rules_.is_inverted) add(index, text);
  }

  Result<Slice> read(std::uint64_t index) const {
    const Layout& layout = chunk_.layout();
    const Extent extent = layout.extent(index);
    if (payload_ && layout.failure(index) == nullptr) {
      return Slice{
          payload_->bytes.subspan(static_cast<std::size_t>(extent.begin), static_cast<std::size_t>(extent.size)),
          payload_->owner};
    }
    if (layout.failure(index) == nullptr && extent.size > rules_.largest_record) {
      return Error{
          Code::kLimit, info_.begin,
          fmt::format("record {} of the chunk: {} bytes, too large to search (see --max-chunk)", index, extent.size)};
    }
    return store_.records().read(chunk_, index, 0, UINT64_MAX);
  }

  void add(std::uint64_t index, std::string_view record) {
    selected_.push_back({index});
    if (!rules_.wants_matches || rules_.is_inverted) return;
    std::size_t at = 0;
    while (at <= record.size()) {
      const auto match = matcher_.find(record, at);
      if (!match) return;
      if (match->size > 0) selected_.back().matches.push_back(*match);
      at = match->begin + std::max<std::size_t>(match->size, 1);
    }
  }

  const RecordStore& store_;
  const ChunkInfo& info_;
  const Chunk& chunk_;
  const Matcher& matcher_;
  const SearchRules& rules_;
  const std::function<void(const Error&)>& fail_;
  std::optional<Slice> payload_;
  std::vector<FoundRecord> selected_;
};

}  // namespace

std::vector<FoundRecord> search_chunk(const RecordStore& store, const ChunkInfo& info, const Chunk& chunk,
                                      const Matcher& matcher, const SearchRules& rules,
                                      const std::function<void(const Error&)>& fail) {
  return ChunkSearch(store, info, chunk, matcher, rules, fail).run();
}

}  // namespace recordfs
