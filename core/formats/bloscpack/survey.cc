#include "core/formats/bloscpack/survey.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/base/counted.h"
#include "core/base/cursor.h"
#include "core/formats/bloscpack/wire.h"

namespace recordfs::bloscpack {
namespace {

// Returns whether a chunk may begin at `at`. Fails only as Source does. Any thread.
Result<bool> is_chunk(const RequestContext& context, const Source& source, const Survey& survey, Position at) {
  ASSIGN_OR_RETURN(const auto seen, look_at(context, source, survey, at));
  return seen.header.has_value();
}

// Returns whether the bytes of an offset can be the start of a Blosc header.
bool may_begin_blosc(std::uint64_t offset) { return (offset & 0xFFFF) == kBloscVersions; }

// Works once, in one thread.
class ChunkFinder {
 public:
  // `found` has the headers, which end at `at`. Both must outlive this.
  ChunkFinder(const Source& source, Position at, Survey& found) : source_(source), at_(at), found_(found) {}

  // Completes the survey. Fails only as Source does.
  Result<void> run(const RequestContext& context) {
    const FileHeader& header = found_.header;
    bool has_offsets = header.has_offsets;
    if (header.dialect == Dialect::kVariable && !has_offsets && header.chunks != 0) {
      // The proposal requires offsets, so a missing option may be a mistake.
      ASSIGN_OR_RETURN(const auto chunk, is_chunk(context, source_, found_, at_));
      has_offsets = !chunk;
    }
    if (!has_offsets) {
      use_sequential_order(at_);
      return {};
    }
    found_.offsets_begin = at_;
    room_ = std::min((source_.size() - at_) / kOffsetSize, kMostOffsets);
    ASSIGN_OR_RETURN(const auto unset, find_unset(context));
    if (unset) return {};
    return header.dialect == Dialect::kVariable ? find_items(context) : find_anchors(context);
  }

 private:
  void use_sequential_order(Position first) {
    found_.order = Order::kChain;
    found_.first_chunk = first;
    // The short headers end with the count.
    const Position field_end = std::min<Position>(found_.header.size, kChunksField + 8);
    const Position field = field_end - std::min<Position>(field_end, 8);
    if (found_.header.chunks >= 0) {
      found_.count = static_cast<std::uint64_t>(found_.header.chunks);
    } else if (found_.header.chunks != kUnknown) {
      found_.report(field, field_end, DamageClass::kDamage, 0,
                    fmt::format("invalid number of chunks: {}", found_.header.chunks));
    }
    const bool is_missing = found_.count && *found_.count > 0 && first == source_.size();
    if (is_missing) {
      found_.report(field, field_end, DamageClass::kUnfinished, found_.count, "the file ends before its first chunk");
    }
  }

  // Detects offsets that were never written because the writer was interrupted.
  Result<bool> find_unset(const RequestContext& context) {
    ASSIGN_OR_RETURN(const auto unset, Offsets(source_, at_, room_).leading_unset(context));
    if (unset == 0) return false;
    const Position after = at_ + unset * kOffsetSize;
    ASSIGN_OR_RETURN(const auto chunk, is_chunk(context, source_, found_, after));
    if (!chunk && after != source_.size()) return false;
    use_sequential_order(after);
    return true;
  }

  // If `offset` points to a chunk after the offsets, returns how many offsets precede that chunk.
  Result<std::optional<std::uint64_t>> offsets_before(const RequestContext& context, std::uint64_t offset) const {
    if (offset <= at_ || offset >= source_.size() || (offset - at_) % kOffsetSize != 0)
      return std::optional<std::uint64_t>{};
    ASSIGN_OR_RETURN(const auto chunk, is_chunk(context, source_, found_, offset));
    return chunk ? std::optional((offset - at_) / kOffsetSize) : std::nullopt;
  }

  // Real files: the first chunk directly follows the offsets, so the first offset gives their number.
  Result<void> find_anchors(const RequestContext& context) {
    const auto declared = found_.header.declared_offsets();
    std::optional<std::uint64_t> there;
    if (room_ > 0) {
      ASSIGN_OR_RETURN(const auto first, Offsets(source_, at_, room_).at(context, 0));
      ASSIGN_OR_RETURN(const auto before, offsets_before(context, first));
      there = before;
    }
    if (!there && (!declared || *declared > (source_.size() - at_) / kOffsetSize)) {
      found_.refuse(declared ? Code::kUnfinished : Code::kDamage, at_,
                    "the file does not contain the offsets that its header declares");
      return {};
    }
    if (there && declared && *there != *declared) {
      found_.report(
          kChunksField, kLargestHeader, DamageClass::kDamage, 0,
          fmt::format("the header declares {} offsets, but the first one leaves room for {}", *declared, *there));
    }
    found_.first_chunk = at_ + there.value_or(declared.value_or(0)) * kOffsetSize;
    return count_anchors(context, (found_.first_chunk - at_) / kOffsetSize);
  }

  Result<void> count_anchors(const RequestContext& context, std::uint64_t offsets) {
    if (offsets > kMostOffsets) {
      use_sequential_order(found_.first_chunk);
      return {};
    }
    const Offsets all(source_, at_, offsets);
    ASSIGN_OR_RETURN(const auto agrees, count_agrees(context, all));
    ASSIGN_OR_RETURN(const auto count, agrees ? Result<std::uint64_t>(static_cast<std::uint64_t>(found_.header.chunks))
                                              : all.ascending(context, found_.first_chunk));
    if (!agrees) report_count(count, offsets);
    return trust_ascending(context, count, agrees);
  }

  // Returns whether the last chunk counted by the header has an offset and the next one has none.
  Result<bool> count_agrees(const RequestContext& context, const Offsets& all) const {
    if (found_.header.chunks < 1 || static_cast<std::uint64_t>(found_.header.chunks) > all.count()) return false;
    const auto count = static_cast<std::uint64_t>(found_.header.chunks);
    ASSIGN_OR_RETURN(const auto last, all.at(context, count - 1));
    if (last == kUnset || count == all.count()) return last != kUnset;
    ASSIGN_OR_RETURN(const auto after, all.at(context, count));
    return after == kUnset;
  }

  void report_count(std::uint64_t count, std::uint64_t offsets) {
    if (found_.header.chunks == kUnknown) return;
    const auto declared = static_cast<std::uint64_t>(found_.header.chunks);
    const auto lost = found_.header.chunks > 0 && declared > count && declared <= offsets
                          ? std::optional(declared - count)
                          : std::nullopt;
    if (!found_.damage.empty() && found_.damage.back().begin == kChunksField) found_.damage.pop_back();
    found_.report(kChunksField, kChunksField + 8, DamageClass::kDamage, lost,
                  fmt::format("the header counts {}, but the offsets point to {}", found_.header.chunks,
                              counted(count, "chunk")));
  }

  // Uses the first `count` offsets as anchors if they ascend. Offsets past the end of the file are not anchors.
  Result<void> trust_ascending(const RequestContext& context, std::uint64_t count, bool rest_is_slack) {
    const Offsets all(source_, at_, count);
    ASSIGN_OR_RETURN(auto run, all.ascending(context, found_.first_chunk));
    ASSIGN_OR_RETURN(const auto first, count > 0 ? all.at(context, 0) : Result<std::uint64_t>(found_.first_chunk));
    if (first != found_.first_chunk) run = 0;
    found_.count = count;
    if (run < count) {
      found_.order = Order::kChain;
      found_.rest_is_slack = rest_is_slack;
      found_.report(all.place_of(run), all.place_of(run + 1), DamageClass::kDamage, 0,
                    "the offsets do not ascend from here on and are ignored");
      return {};
    }
    return use_anchors(context, all);
  }

  // REQUIRES: they ascend.
  Result<void> use_anchors(const RequestContext& context, const Offsets& all) {
    ASSIGN_OR_RETURN(const auto there, all.first_above(context, source_.size() - 1));
    found_.order = Order::kAnchored;
    found_.offsets = there;
    if (all.count() > 0 && found_.first_chunk >= source_.size()) {
      found_.order = Order::kNone;
      found_.report(all.place_of(0), all.place_of(all.count()), DamageClass::kUnfinished, all.count(),
                    "the file ends before its first chunk");
    }
    return {};
  }

  // --- the proposal: items are anywhere after the offsets
  Result<void> find_items(const RequestContext& context) {
    ASSIGN_OR_RETURN(const auto there, offsets_of_items(context));
    if (there == kMostOffsets) {
      found_.refuse(Code::kLimit, at_, fmt::format("more than {} item offsets", kMostOffsets));
      return {};
    }
    const Offsets all(source_, at_, there);
    ASSIGN_OR_RETURN(const auto written, all.without_trailing_unset(context));
    const bool knows = found_.header.chunks >= 0;
    const auto declared = knows ? static_cast<std::uint64_t>(found_.header.chunks) : written;
    const bool is_missing = !knows && found_.header.chunks != kUnknown;
    if (is_missing || declared > there || written > declared) {
      found_.report(kChunksField, kChunksField + 8, DamageClass::kDamage, std::nullopt,
                    fmt::format("the header counts {} items, but {} have an offset", found_.header.chunks, written));
    } else {
      found_.report(all.place_of(written), all.place_of(declared), DamageClass::kUnfinished, declared - written,
                    "no offset: these items were never finished");
    }
    found_.first_chunk = all.place_of(there);
    found_.gaps_are_slack = true;
    found_.count = written;
    found_.offsets = written;
    return order_items(context, Offsets(source_, at_, written));
  }

  Result<void> order_items(const RequestContext& context, const Offsets& all) {
    ASSIGN_OR_RETURN(const auto run, all.ascending(context, found_.first_chunk));
    found_.order = Order::kItems;
    if (run < all.count()) return {};
    ASSIGN_OR_RETURN(const auto there, all.first_above(context, source_.size() - 1));
    if (there == all.count()) found_.order = Order::kAnchored;
    return {};
  }

  // Returns, for each possible offset and the position after them, whether a Blosc header may begin there.
  Result<std::vector<bool>> marked_beginnings(const RequestContext& context) const {
    std::vector<bool> marks(static_cast<std::size_t>(room_ + 1), true);
    TRY(Offsets(source_, at_, room_).each(context, [&](std::uint64_t index, std::uint64_t offset) {
      marks[static_cast<std::size_t>(index)] = may_begin_blosc(offset);
      return true;
    }));
    return marks;
  }

  // Returns the number of offsets: the header's, unless an offset points to a chunk before the last of them, or the
  // value after the last one is an offset too.
  Result<std::uint64_t> offsets_of_items(const RequestContext& context) const {
    const Offsets all(source_, at_, room_);
    std::int64_t declared = found_.header.chunks;
    if (declared == 0 && room_ > 0) {
      ASSIGN_OR_RETURN(const auto first, all.at(context, 0));
      ASSIGN_OR_RETURN(const auto before, offsets_before(context, first));
      if (before) declared = kUnknown;
    }
    // Most possible chunks among the offsets are ruled out by the offsets' own bytes, in one pass. That pass is made
    // only when needed, since in a valid file its reads are wasted.
    std::vector<bool> may_begin;
    std::uint64_t limit = declared < 0 ? room_ : std::min(room_, static_cast<std::uint64_t>(declared));
    std::uint64_t least = kUnset;
    std::optional<Error> failure;
    const auto see = [&](std::uint64_t index, std::uint64_t offset) {
      if (index >= limit) return false;
      if (offset >= least || offset <= at_ || (offset - at_) / kOffsetSize > room_) return true;
      if ((offset - at_) % kOffsetSize != 0) return true;
      const auto place = static_cast<std::size_t>((offset - at_) / kOffsetSize);
      if (!may_begin.empty() && !may_begin[place]) return true;
      auto before = offsets_before(context, offset);
      if (before && !*before && may_begin.empty()) {
        auto marked = marked_beginnings(context);
        if (marked) {
          may_begin = std::move(*marked);
        } else {
          before = std::move(marked).error();
        }
      }
      if (!before) failure = before.error();
      if (before && !*before) may_begin[place] = false;
      if (!before || !*before || **before <= index) return before.has_value();
      least = offset;
      limit = std::min(limit, **before);
      return true;
    };
    TRY(all.each(context, see));
    if (failure) return std::move(*failure);
    if (declared < 0 || least == kUnset || (least - at_) / kOffsetSize <= limit) return limit;
    // If the value after the counted offsets points to an item, there are more than the header counts. Otherwise the
    // first item begins there, and its header is broken.
    ASSIGN_OR_RETURN(const auto after, all.at(context, limit));
    ASSIGN_OR_RETURN(const auto leads, is_chunk(context, source_, found_, after));
    return leads ? (least - at_) / kOffsetSize : limit;
  }

  const Source& source_;
  const Position at_;  // end of the headers
  Survey& found_;
  std::uint64_t room_ = 0;  // maximal number of offsets
};

// How far after damaged metadata to search for offsets.
constexpr std::uint64_t kSearched = 4 << 20;

DamageClass class_of(Code code) {
  if (code == Code::kUnfinished) return DamageClass::kUnfinished;
  return code == Code::kUnsupported || code == Code::kLimit ? DamageClass::kUnsupported : DamageClass::kDamage;
}

// Reads the headers. Makes one survey, in one thread.
class Surveyor {
 public:
  explicit Surveyor(const Source& source) : source_(source) { found_.file_size = source.size(); }

  // Fails only as Source does. Call once.
  Result<Survey> run(const RequestContext& context) {
    auto done = read_headers(context);
    if (done && !found_.refusal) done = ChunkFinder(source_, at_, found_).run(context);
    if (!done) return std::move(done).error();
    if (found_.refusal) report_refusal();
    std::ranges::sort(found_.damage, {}, &DamagedRegion::begin);
    return std::move(found_);
  }

 private:
  void report_refusal() {
    const Error& why = *found_.refusal;
    found_.order = Order::kNone;
    found_.damage.clear();
    if (source_.size() == 0) return;
    found_.damage.push_back({0, source_.size(), class_of(why.code), 0, std::nullopt, why.detail});
  }

  Result<void> read_headers(const RequestContext& context) {
    ASSIGN_OR_RETURN(const auto head, read_up_to(context, source_, 0, kLargestHeader + kBloscHeaderSize));
    auto header = parse_file_header(head.view(), source_.size());
    if (!header) {
      found_.refusal = std::move(header).error();
      return {};
    }
    found_.header = *header;
    at_ = header->size;
    report_nonsense();
    if (!header->has_metadata) return {};
    return header->dialect == Dialect::kVariable ? plain_metadata() : read_metadata_header(context);
  }

  // Reports sizes that no writer produces, although readers do not need them.
  void report_nonsense() {
    const FileHeader& header = found_.header;
    if (header.chunk_size < kUnknown) {
      found_.report(kChunkSizeField, kChunkSizeField + 4, DamageClass::kDamage, 0,
                    fmt::format("invalid chunk size {}", header.chunk_size));
    }
    const bool too_large =
        header.dialect == Dialect::kVersion3 && header.chunk_size >= 0 && header.last_chunk > header.chunk_size;
    if (header.last_chunk < kUnknown || too_large) {
      found_.report(
          kChunkSizeField + 4, kChunkSizeField + 8, DamageClass::kDamage, 0,
          fmt::format("a last chunk of {} bytes, but a chunk size of {}", header.last_chunk, header.chunk_size));
    }
    if (header.spare_offsets < 0) {
      found_.report(kSpareField, kSpareField + 8, DamageClass::kDamage, 0,
                    fmt::format("invalid number of spare offsets: {}", header.spare_offsets));
    }
  }

  Result<void> plain_metadata() {
    const std::int32_t size = found_.header.metadata_size;
    if (size < 0) {
      found_.refuse(Code::kDamage, kSpareField, fmt::format("invalid metadata size {}", size));
    } else if (static_cast<std::uint64_t>(size) > source_.size() - at_) {
      found_.refuse(Code::kUnfinished, kSpareField, "the file ends inside its metadata");
    } else {
      found_.metadata_begin = at_;
      const auto bytes = static_cast<std::uint32_t>(size);
      found_.metadata = MetadataHeader{true, std::nullopt, 0, bytes, bytes, bytes};
      at_ += bytes;
    }
    return {};
  }

  Result<void> read_metadata_header(const RequestContext& context) {
    ASSIGN_OR_RETURN(const auto head, read_up_to(context, source_, at_, kMetadataHeaderSize));
    auto header = parse_metadata_header(head.view());
    if (!header) return pass_metadata(context, header.error().code, header.error().detail);
    const std::uint64_t section = std::uint64_t{header->room} + (header->digest ? digest_size(*header->digest) : 0);
    if (section > source_.size() - at_ - kMetadataHeaderSize) {
      return pass_metadata(context, Code::kUnfinished, "the file ends inside its metadata");
    }
    found_.metadata_begin = at_ + kMetadataHeaderSize;
    found_.metadata = *header;
    at_ = found_.metadata_begin + section;
    return {};
  }

  // Continues after metadata of unknown length, at the offsets, the first of which points directly after them.
  // Without such offsets the rest cannot be interpreted.
  Result<void> pass_metadata(const RequestContext& context, Code code, const std::string& why) {
    ASSIGN_OR_RETURN(const auto offsets, search_offsets(context));
    if (offsets == 0) {
      found_.refuse(code, at_, why);
      return {};
    }
    found_.report(at_, offsets, DamageClass::kDamage, 0, "metadata: " + why);
    at_ = offsets;
    return {};
  }

  // Returns the begin of the offsets after the metadata; 0 if they are not found.
  Result<Position> search_offsets(const RequestContext& context) const {
    const auto declared = found_.header.declared_offsets();
    if (!found_.header.has_offsets || !declared || *declared == 0 || *declared > kMostOffsets) return Position{0};
    ASSIGN_OR_RETURN(const auto bytes, read_up_to(context, source_, at_, kSearched));
    for (Position at = at_; at + kOffsetSize <= at_ + bytes.size(); ++at) {
      const Bytes here = bytes.view().subspan(static_cast<std::size_t>(at - at_));
      const std::uint64_t first = Cursor(here).u64_le();
      if (first != at + *declared * kOffsetSize) continue;
      ASSIGN_OR_RETURN(const auto chunk, is_chunk(context, source_, found_, first));
      if (chunk) return at;
    }
    return Position{0};
  }

  const Source& source_;
  Survey found_;
  Position at_ = 0;  // end of the headers
};

}  // namespace

void Survey::report(Position begin, Position end, DamageClass damage_class, std::optional<std::uint64_t> lost,
                    std::string why) {
  end = std::min(end, file_size);
  if (begin < end) damage.push_back({begin, end, damage_class, 0, lost, std::move(why)});
}

Result<Look> look_at(const RequestContext& context, const Source& source, const Survey& survey, Position at) {
  Look look;
  if (at >= source.size()) {
    look.why = {Code::kUnfinished, at, "no chunk within the file"};
    return look;
  }
  ASSIGN_OR_RETURN(const auto head, read_up_to(context, source, at, kBloscHeaderSize));
  auto header = parse_blosc_header(head.view());
  if (!header) {
    look.why = {header.error().code, at, header.error().detail};
    return look;
  }
  const std::uint64_t size = std::uint64_t{header->stored_size} + survey.header.digest_bytes();
  if (size > source.size() - at) {
    look.why = {Code::kUnfinished, at, "the file ends inside a chunk"};
    return look;
  }
  look.end = at + size;
  look.header = *header;
  return look;
}

Result<Survey> survey(const RequestContext& context, const Source& source) { return Surveyor(source).run(context); }

}  // namespace recordfs::bloscpack
