#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "core/base/limits.h"
#include "core/formats/container.h"
#include "core/formats/leveldb_log/container.h"
#include "core/formats/leveldb_log/wire.h"
#include "core/formats/wandb/format.h"
#include "core/formats/wandb/ident.h"

namespace recordfs::wandb {
namespace {

leveldb_log::Head head_of(const leveldb_log::Wire& wire) {
  leveldb_log::Head head;
  head.session.wire = wire;
  return head;
}

constexpr int kBidOnName = 1;
constexpr int kBidOnIdent = 48;
constexpr int kBidOnFragment = 30;
constexpr int kBits = 8;

bool is_name(std::string_view name) { return name.ends_with(".wandb") || name.ends_with(".swanlab"); }

// Uses the default of Limits: the result must not change with the limits.
constexpr std::uint64_t kSearched = Limits().scan_bytes;

Result<int> bid_on(const RequestContext& context, const Source& source, ProbeDepth depth) {
  ASSIGN_OR_RETURN(const auto head, read_up_to(context, source, 0, kIdentSize));
  if (parse_ident(head.view())) return kBidOnIdent;
  if (const std::size_t cut = cut_ident(head.view()); cut > 0) return kBits * static_cast<int>(cut);
  if (depth == ProbeDepth::kHead) return 0;
  ASSIGN_OR_RETURN(const auto found, has_fragment(context, source, kSearched));
  return found ? kBidOnFragment : 0;
}

Result<int> probe(const RequestContext& context, const Source& source, std::string_view file_name, ProbeDepth depth) {
  if (source.size() == 0) return is_name(file_name) ? kBidOnName : 0;
  return bid_on(context, source, depth);
}

// An open run file: an ident followed by a log.
class RunFile final : public ForwardingContainer, private Metadata {
 public:
  // `ident` is nullopt if it is damaged or cut off.
  RunFile(const std::shared_ptr<const Source>& source, const Limits& limits, std::optional<Ident> ident,
          const leveldb_log::Wire& wire)
      : ForwardingContainer(leveldb_log::open_log(source, limits, head_of(wire))),
        size_(source->size()),
        ident_(ident),
        traits_(below().traits()) {
    traits_.format = kFormat.name;
    traits_.facts.clear();
    if (ident_) {
      traits_.facts.push_back({"writer", std::string(ident_->writer)});
      traits_.facts.push_back({"version", std::to_string(ident_->version)});
    }
    traits_.facts.push_back({"ident_in_first_block", wire.origin == 0});
  }

  const ContainerTraits& traits() const override { return traits_; }

  // The first step covers the ident.
  Result<Step> scan(const RequestContext& context, ChunkKey at) const override {
    if (at.position >= kIdentSize) return below().scan(context, at);
    Step step;
    if (size_ > kIdentSize) {
      ASSIGN_OR_RETURN(auto after, below().scan(context, {kIdentSize, 0}));
      step = std::move(after);
    }
    if (ident_ || size_ == 0) return step;
    DamagedRegion region;
    region.end = std::min<Position>(size_, kIdentSize);
    region.records_lost = 0;
    region.damage_class = size_ < kIdentSize ? DamageClass::kUnfinished : DamageClass::kDamage;
    region.reason = size_ < kIdentSize ? "the file ends inside its identifier" : "invalid file identifier";
    step.damage.insert(step.damage.begin(), std::move(region));
    return step;
  }

  const Metadata* metadata() const override { return this; }

 private:
  Result<std::vector<Attribute>> attributes(const RequestContext&, const ChunkInfo*) const override {
    return std::vector<Attribute>{};
  }
  Result<std::string_view> record_type(const RequestContext& context) const override;

  const std::uint64_t size_;
  const std::optional<Ident> ident_;
  ContainerTraits traits_;
};

Result<std::unique_ptr<Container>> open(const RequestContext& context, std::shared_ptr<const Source> source,
                                        const Limits& limits) {
  if (source->size() > 0) {
    ASSIGN_OR_RETURN(const auto bid, bid_on(context, *source, ProbeDepth::kSearch));
    if (bid == 0)
      return Error{.code = Code::kNoContainer,
                   .detail = "neither the identifier nor a fragment of a run file was found"};
  }
  ASSIGN_OR_RETURN(const auto head, read_up_to(context, *source, 0, kIdentSize));
  ASSIGN_OR_RETURN(const auto wire, find_wire(context, *source, kSearched));
  const auto ident = parse_ident(head.view());
  return std::unique_ptr<Container>(std::make_unique<RunFile>(source, limits, ident, wire));
}

Result<std::string_view> RunFile::record_type(const RequestContext&) const {
  return ident_ ? ident_->record_type : std::string_view();
}

}  // namespace

const Format kFormat = {.name = "wandb", .probe = probe, .open = open};

}  // namespace recordfs::wandb
