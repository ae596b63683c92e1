#include "core/codec/member_stream.h"

#include <fmt/format.h>

#include "core/base/counted.h"

namespace recordfs {

Result<std::size_t> MemberStream::read(const RequestContext&, MutableBytes out) {
  std::size_t filled = 0;
  while (!failed_ && !ended_ && filled < out.size()) {
    auto given = advance(out.subspan(filled));
    if (!given) {
      failed_ = true;
      return given;
    }
    filled += *given;
  }
  if (failed_) return broken("the stream is corrupt before this point");
  return filled;
}

Result<std::size_t> MemberStream::advance(MutableBytes out) {
  ASSIGN_OR_RETURN(const auto done, step(rest_, out));
  rest_ = rest_.subspan(done.taken);
  if (done.ended) {
    TRY(end_member());
  } else if (done.taken == 0 && done.given == 0) {
    return broken("truncated stream");
  }
  return done.given;
}

Result<void> MemberStream::end_member() {
  ended_ = rest_.empty() || !next_member(rest_);
  if (ended_ && !rest_.empty() && tail_ == Tail::kDamage) {
    return broken(counted(rest_.size(), "byte") + " after the end of the stream");
  }
  return {};
}

bool MemberStream::next_member(Bytes) { return false; }

Error MemberStream::broken(std::string_view why) const { return {Code::kDamage, 0, fmt::format("{}: {}", name_, why)}; }

Error MemberStream::no_memory() const { return {Code::kOutOfMemory, 0, fmt::format("no memory for {}", name_)}; }

}  // namespace recordfs
