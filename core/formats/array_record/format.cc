#include "core/formats/array_record/format.h"

#include <memory>
#include <utility>

#include "core/formats/array_record/container.h"
#include "core/formats/array_record/ending.h"
#include "core/formats/riegeli/container.h"

namespace recordfs::array_record {
namespace {

constexpr int kBid = kBeyondDoubt + 64;  // bits of evidence: the magic, or the hash of a self-describing footer

Result<int> probe(const Source& source, std::string_view, ProbeDepth) {
  ASSIGN_OR_RETURN(const auto ending, find_ending(source, Limits{}));
  return ending ? kBid : 0;
}

Result<std::unique_ptr<Container>> open(std::shared_ptr<const Source> source, const Limits& limits) {
  ASSIGN_OR_RETURN(auto ending, find_ending(*source, limits));
  if (!ending)
    return Error{Code::kNoContainer, 0, "neither the postscript nor the footer of an ArrayRecord file was found"};
  auto riegeli = riegeli::RiegeliContainer::open(source, limits);
  if (!riegeli) return riegeli;
  return std::unique_ptr<Container>(
      std::make_unique<ArrayRecordContainer>(std::move(*riegeli), std::move(source), limits, std::move(*ending)));
}

}  // namespace

const Format kFormat = {.name = "array-record", .probe = probe, .open = open, .built_on = "riegeli"};

}  // namespace recordfs::array_record
