#include "core/formats/wandb/container.h"

#include <algorithm>
#include <string>
#include <utility>

#include "core/formats/leveldb_log/container.h"
#include "core/formats/wandb/format.h"

namespace recordfs::wandb {
namespace {

leveldb_log::Head head_of(const leveldb_log::Wire& wire) {
  leveldb_log::Head head;
  head.session.wire = wire;
  return head;
}

}  // namespace

RunFile::RunFile(const std::shared_ptr<const Source>& source, const Limits& limits, std::optional<Ident> ident,
                 const leveldb_log::Wire& wire)
    : ForwardingContainer(std::make_unique<leveldb_log::LogContainer>(source, limits, head_of(wire))),
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

Result<std::string_view> RunFile::record_type() const { return ident_ ? ident_->record_type : std::string_view(); }

// The first step covers the ident.
Result<Step> RunFile::scan(ChunkKey at) const {
  if (at.position >= kIdentSize) return below().scan(at);
  Step step;
  if (size_ > kIdentSize) {
    ASSIGN_OR_RETURN(auto after, below().scan({kIdentSize, 0}));
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

}  // namespace recordfs::wandb
