// An open run file: an ident followed by a log.
#pragma once

#include <memory>
#include <optional>

#include "core/base/limits.h"
#include "core/formats/container.h"
#include "core/formats/leveldb_log/wire.h"
#include "core/formats/wandb/ident.h"

namespace recordfs::wandb {

class RunFile final : public ForwardingContainer, private Metadata {
 public:
  // `ident` is nullopt if it is damaged or cut off.
  RunFile(const std::shared_ptr<const Source>& source, const Limits& limits, std::optional<Ident> ident,
          const leveldb_log::Wire& wire);

  const ContainerTraits& traits() const override { return traits_; }
  Result<Step> scan(const RequestContext& context, ChunkKey at) const override;
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

}  // namespace recordfs::wandb
