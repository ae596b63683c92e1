// Consecutive chunks without usable offsets.
#include "core/formats/bloscpack/order.h"

namespace recordfs::bloscpack {
namespace {

class Chain final : public ChunkOrder {
 public:
  Chain(const Source& source, const Survey& survey) : source_(source), survey_(survey) {}

  ChunkKey first() const override { return {survey_.first_chunk, 0}; }

  Result<Step> scan(ChunkKey at) const override {
    if (survey_.count && at.state >= *survey_.count) return rest(at.position);
    if (at.position >= source_.size()) return Step{};
    ASSIGN_OR_RETURN(const auto look, look_at(source_, at.position, survey_.header.digest_bytes()));
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

std::unique_ptr<ChunkOrder> make_chain(const Source& source, const Survey& survey) {
  return std::make_unique<Chain>(source, survey);
}

}  // namespace recordfs::bloscpack
