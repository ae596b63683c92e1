#include "core/formats/bloscpack/format.h"

#include <algorithm>

#include "core/formats/bloscpack/container.h"
#include "core/formats/bloscpack/wire.h"

namespace recordfs::bloscpack {
namespace {

constexpr int kBid = 32;  // bits of the magic

Result<bool> has_magic(const Source& source) {
  ASSIGN_OR_RETURN(const auto head, read_up_to(source, 0, magic().size()));
  return std::ranges::equal(head.view(), as_bytes(magic()));
}

// Only the magic identifies a Bloscpack file with certainty. The rest of its header may be damaged or too new; the
// container then opens and reports that.
Result<int> probe(const Source& source, std::string_view, ProbeDepth) {
  ASSIGN_OR_RETURN(const auto found, has_magic(source));
  return found ? kBid : 0;
}

Result<std::unique_ptr<Container>> open(std::shared_ptr<const Source> source, const Limits& limits) {
  ASSIGN_OR_RETURN(const auto found, has_magic(*source));
  if (!found) return Error{Code::kNoContainer, 0, "not a Bloscpack file"};
  return BloscpackContainer::open(std::move(source), limits);
}

}  // namespace

const Format kFormat = {.name = "bloscpack", .probe = probe, .open = open};

}  // namespace recordfs::bloscpack
