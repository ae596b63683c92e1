#include "core/store/header_prediction.h"

#include <algorithm>

namespace recordfs {
namespace {

constexpr std::uint64_t kFar = 512u << 10;    // bytes from one header to the next
constexpr std::uint64_t kHeader = 4u << 10;   // bytes, as much as formats read
constexpr std::uint64_t kLeastEqual = 4;      // steps before the next one is predicted
constexpr std::uint64_t kMostPredicted = 16;  // headers

}  // namespace

void HeaderPrediction::note(Position at) {
  if (!is_used_) return;
  const std::uint64_t gap = at > last_ ? at - last_ : 0;
  equal_ = gap == gap_ && gap >= kFar ? equal_ + 1 : 0;
  gap_ = gap;
  last_ = at;
  if (equal_ < kLeastEqual) {
    until_ = 0;
    return;
  }
  // As many headers as were found to be equally far apart, since each wrong one costs a request.
  const std::uint64_t most = std::min(equal_, kMostPredicted);
  if (until_ <= at) until_ = at + gap_;
  for (; until_ <= at + most * gap_ && until_ < source_.size(); until_ += gap_) {
    source_.will_need(until_, std::min(source_.size(), until_ + kHeader));
  }
}

}  // namespace recordfs
