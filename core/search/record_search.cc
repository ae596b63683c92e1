#include "core/search/record_search.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace recordfs {
namespace {

constexpr std::uint64_t kWhole = 8u << 20;  // payloads up to this size are read at once

// Returns whether exactly the records with the matcher's literal text are selected.
bool has_literal(const Search& wanted) {
  return wanted.matcher != nullptr && !wanted.matcher->literal().empty() && !wanted.is_inverted;
}

bool matches(const Search& wanted, std::string_view text) {
  return wanted.matcher == nullptr || wanted.matcher->matches(text);
}

// Appends where a text matches. `before`: bytes of other texts before it.
void append_matches(std::vector<Match>& matches, std::string_view text, std::size_t before, const Search& wanted) {
  if (!wanted.wants_matches || wanted.is_inverted || wanted.matcher == nullptr) return;
  for (const Match& match : wanted.matcher->find_all(text)) matches.push_back({before + match.begin, match.size});
}

// Returns a selected record.
FoundRecord found_record(std::uint64_t index, std::string_view record, const Search& wanted) {
  FoundRecord found{index};
  append_matches(found.matches, record, 0, wanted);
  return found;
}

// Searches the records of a decoded chunk.
class ChunkSearch {
 public:
  ChunkSearch(const RequestContext& context, const RecordStore& store, const ChunkInfo& info, const Chunk& chunk,
              const Search& wanted)
      : context_(context), store_(store), info_(info), chunk_(chunk), wanted_(wanted) {
    if (chunk.payload_size() > kWhole) return;
    if (auto whole = chunk.read(context, 0, chunk.payload_size())) payload_ = std::move(*whole);
  }

  SearchResult run() {
    const bool by_text = has_literal(wanted_) && !wanted_.texts_of && !wanted_.selects && wanted_.indices.begin == 0 &&
                         wanted_.indices.end >= chunk_.layout().records();
    if (payload_ && by_text && !chunk_.layout().has_failures()) {
      select_by_text();
    } else {
      const std::uint64_t end = std::min(wanted_.indices.end, chunk_.layout().records());
      for (std::uint64_t i = wanted_.indices.begin; i < end && wants_more(); ++i) {
        look_at(i);
        if (wanted_.ends_at_failure && !found_.failures.empty()) break;
      }
    }
    return std::move(found_);
  }

 private:
  bool wants_more() const { return found_.records.size() < wanted_.most; }

  // Searches the whole payload at once, because records follow each other directly.
  void select_by_text() {
    const std::string_view all = as_text(payload_->bytes);
    const std::string_view text = wanted_.matcher->literal();
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
    if (!record) {
      found_.failures.push_back({index, record.error()});
      return;
    }
    if (wanted_.selects) {
      const auto is_selected = wanted_.selects(info_, record->bytes);
      if (!is_selected) found_.failures.push_back({index, is_selected.error()});
      if (!is_selected || !*is_selected) return;
    }
    if (wanted_.texts_of && wanted_.matcher != nullptr) return look_at_texts(index, record->bytes);
    const std::string_view text = as_text(record->bytes);
    if (matches(wanted_, text) != wanted_.is_inverted) add(index, text);
  }

  void look_at_texts(std::uint64_t index, Bytes record) {
    FoundRecord found{index};
    bool is_match = false;
    auto looked = wanted_.texts_of(info_, record, [&](std::string_view text) {
      if ((is_match && !wanted_.wants_matches) || !wanted_.matcher->matches(text)) return;
      is_match = true;
      append_matches(found.matches, text, found.text.size(), wanted_);
      if (wanted_.wants_matches) found.text += text;
    });
    if (!looked) {
      found_.failures.push_back({index, std::move(looked).error()});
    } else if (*looked && is_match != wanted_.is_inverted) {
      found_.records.push_back(std::move(found));
    }
  }

  Result<Slice> read(std::uint64_t index) const {
    const Layout& layout = chunk_.layout();
    const Extent extent = layout.extent(index);
    if (payload_ && layout.failure(index) == nullptr) {
      return Slice{
          payload_->bytes.subspan(static_cast<std::size_t>(extent.begin), static_cast<std::size_t>(extent.size)),
          payload_->owner};
    }
    if (layout.failure(index) == nullptr && extent.size > wanted_.largest_record) {
      return Error{
          Code::kLimit, info_.begin,
          fmt::format("record {} of the chunk: {} bytes, too large to search (see --max-chunk)", index, extent.size)};
    }
    return store_.records().read(context_, chunk_, index, 0, UINT64_MAX);
  }

  void add(std::uint64_t index, std::string_view record) {
    found_.records.push_back(found_record(index, record, wanted_));
  }

  const RequestContext& context_;
  const RecordStore& store_;
  const ChunkInfo& info_;
  const Chunk& chunk_;
  const Search& wanted_;
  std::optional<Slice> payload_;
  SearchResult found_;
};

// Searches records that were read together.
class BatchSearch {
 public:
  BatchSearch(const RecordBatch& batch, const Search& wanted)
      : records_(batch.records), window_(batch.window.bytes), wanted_(wanted) {}

  std::vector<FoundRecord> run() {
    const bool by_text = has_literal(wanted_);
    for (std::size_t i = 0; i < records_.size() && wants_more();) {
      const std::size_t end = by_text ? end_of_area(i) : i + 1;
      if (end > i + 1) {
        select_by_text(i, end);
      } else if (matches(wanted_, as_text(records_[i])) != wanted_.is_inverted) {
        add(i);
      }
      i = end;
    }
    return std::move(found_);
  }

 private:
  bool wants_more() const { return found_.size() < wanted_.most; }

  bool is_in_window(Bytes record) const {
    return !record.empty() && !std::less<>()(record.data(), window_.data()) &&
           std::less<>()(record.data(), window_.data() + window_.size());
  }

  // Returns the end of the records that follow `first` in the same memory, so that they can be searched at once.
  std::size_t end_of_area(std::size_t first) const {
    const bool in_window = is_in_window(records_[first]);
    std::size_t end = first + 1;
    while (end < records_.size() &&
           (in_window ? is_in_window(records_[end])
                      : records_[end].data() == records_[end - 1].data() + records_[end - 1].size())) {
      ++end;
    }
    return end;
  }

  // There may be bytes of the file between two records. A match must be in one record.
  void select_by_text(std::size_t first, std::size_t end) {
    const auto* const begin = records_[first].data();
    const std::string_view area(reinterpret_cast<const char*>(begin),
                                static_cast<std::size_t>(records_[end - 1].data() + records_[end - 1].size() - begin));
    const std::string_view text = wanted_.matcher->literal();
    const auto offset = [&](std::size_t index) { return static_cast<std::size_t>(records_[index].data() - begin); };
    std::size_t at = 0;
    while (wants_more() && (at = find_text(area, text, at)) != std::string_view::npos) {
      const auto after = std::upper_bound(records_.begin() + static_cast<std::ptrdiff_t>(first),
                                          records_.begin() + static_cast<std::ptrdiff_t>(end), at,
                                          [&](std::size_t value, const Bytes& record) {
                                            return value < static_cast<std::size_t>(record.data() - begin);
                                          });
      const auto index = static_cast<std::size_t>(after - records_.begin()) - 1;
      const std::size_t record_end = offset(index) + records_[index].size();
      if (at + text.size() > record_end) {
        ++at;
        continue;
      }
      add(index);
      at = record_end;
    }
  }

  void add(std::size_t index) { found_.push_back(found_record(index, as_text(records_[index]), wanted_)); }

  const std::vector<Bytes>& records_;
  const Bytes window_;
  const Search& wanted_;
  std::vector<FoundRecord> found_;
};

}  // namespace

std::vector<Error> SearchResult::take_errors() {
  std::vector<Error> errors;
  for (FailedRecord& failure : failures) errors.push_back(std::move(failure.why));
  return errors;
}

SearchResult search_chunk(const RequestContext& context, const RecordStore& store, const ChunkInfo& info,
                          const Chunk& chunk, const Search& wanted) {
  return ChunkSearch(context, store, info, chunk, wanted).run();
}

std::vector<FoundRecord> search_batch(const RecordBatch& batch, const Search& wanted) {
  return BatchSearch(batch, wanted).run();
}

}  // namespace recordfs
