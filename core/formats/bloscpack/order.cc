#include "core/formats/bloscpack/order.h"

#include <algorithm>
#include <utility>

namespace recordfs::bloscpack {
namespace {

constexpr std::uint64_t kLost = 1;  // ChunkInfo::detail: whether the chunk is lost, and its number

// Consecutive chunks without usable offsets.
class Chain final : public ChunkOrder {
 public:
  Chain(const Source& source, const Survey& survey) : source_(source), survey_(survey) {}

  ChunkKey first() const override { return {survey_.first_chunk, 0}; }

  Result<Step> scan(const RequestContext& context, ChunkKey at) const override {
    if (survey_.count && at.state >= *survey_.count) return rest(at.position);
    if (at.position >= source_.size()) return Step{};
    ASSIGN_OR_RETURN(const auto look, look_at(context, source_, at.position, survey_.header.digest_bytes()));
    Step step;
    if (!look.header) {
      // A record can hold such a file, and its bytes look like the begin of a chunk, so nothing is searched for.
      step.damage.push_back(region_of(at.position, source_.size(), look.why, left(at.state)));
      return step;
    }
    step.chunk = describe(at.position, at.state, look);
    if (look.end < source_.size()) {
      step.next = ChunkKey{look.end, at.state + 1};
    } else if (left(at.state + 1).value_or(0) > 0) {
      const Error why{Code::kUnfinished, look.end, "the file ends before the chunks that follow"};
      step.damage.push_back(region_of(look.end - 1, look.end, why, left(at.state + 1)));
      step.damage.back().records_before = 1;
    }
    return step;
  }

 private:
  std::optional<std::uint64_t> left(std::uint64_t index) const {
    return survey_.count ? std::optional(*survey_.count - index) : std::nullopt;
  }

  Step rest(Position begin) const {
    Step step;
    if (begin < source_.size() && !survey_.rest_is_slack) {
      const Error why{Code::kDamage, begin, "bytes after the last chunk that the header counts"};
      step.damage.push_back(region_of(begin, source_.size(), why, std::nullopt));
    }
    return step;
  }

  const Source& source_;
  const Survey& survey_;
};

}  // namespace

std::uint64_t declared_size(const Survey& survey, std::uint64_t index) {
  const FileHeader& header = survey.header;
  if (header.dialect == Dialect::kVariable) return 1;
  const bool is_last = survey.count && index + 1 == *survey.count;
  return static_cast<std::uint64_t>(std::max(is_last ? header.last_chunk : header.chunk_size, 1));
}

std::uint64_t most_decoded(std::uint64_t stored) {
  constexpr std::uint64_t kMostRatio = 65536;
  constexpr std::uint64_t kMost = std::uint64_t{1} << 62;
  return std::min(stored, kMost / kMostRatio) * kMostRatio;
}

ChunkInfo describe(Position begin, std::uint64_t index, const Look& look) {
  ChunkInfo info;
  info.key = {begin, index};
  info.begin = begin;
  info.end = look.end;
  info.kind = "chunk";
  info.codec = look.header->codec();
  info.records = 1;
  info.decoded_size = look.header->size;
  info.stored_size = look.header->stored_size;
  info.detail = {0, index};
  return info;
}

ChunkInfo describe_lost(const Survey& survey, Position begin, Position end, std::uint64_t index,
                        std::uint64_t records) {
  ChunkInfo info;
  info.key = {begin, index};
  info.begin = begin;
  info.end = end;
  info.kind = "lost";
  info.codec = "-";
  info.records = records;
  info.stored_size = end - begin;
  const std::uint64_t size = declared_size(survey, index);
  const std::uint64_t last = declared_size(survey, index + records - 1);
  const std::uint64_t most = std::max({most_decoded(info.stored_size), Limits{}.decoded_chunk, last});
  if (records - 1 <= (most - last) / size) info.decoded_size = (records - 1) * size + last;
  info.detail = {kLost, index};
  return info;
}

bool is_lost(const ChunkInfo& chunk) { return chunk.detail[0] == kLost; }

std::uint64_t index_of(const ChunkInfo& chunk) { return chunk.detail[1]; }

DamagedRegion region_of(Position begin, Position end, const Error& why, std::optional<std::uint64_t> lost) {
  const bool unfinished = why.code == Code::kUnfinished;
  return {begin, end, unfinished ? DamageClass::kUnfinished : DamageClass::kDamage, 0, lost, why.detail};
}

Result<std::unique_ptr<ChunkOrder>> order_of(const RequestContext& context, const Source& source,
                                             const Survey& survey) {
  switch (survey.order) {
    case Order::kNone:
    case Order::kChain: break;
    case Order::kAnchored: return make_anchored(source, survey);
    case Order::kItems: return make_items(context, source, survey);
  }
  return std::unique_ptr<ChunkOrder>(std::make_unique<Chain>(source, survey));
}

}  // namespace recordfs::bloscpack
