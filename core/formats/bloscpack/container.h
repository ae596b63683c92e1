// An open Bloscpack file. Its chunks are the file's chunks, and each is one record.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/limits.h"
#include "core/formats/bloscpack/decode.h"
#include "core/formats/bloscpack/order.h"
#include "core/formats/bloscpack/survey.h"
#include "core/formats/container.h"

namespace recordfs::bloscpack {

class BloscpackContainer final : public Container, private Metadata {
 public:
  // Reads the headers, the offsets and the metadata. Fails as Format::open does.
  static Result<std::unique_ptr<Container>> open(const RequestContext& context, std::shared_ptr<const Source> source,
                                                 const Limits& limits);

  const ContainerTraits& traits() const override { return traits_; }
  Result<Step> scan(const RequestContext& context, ChunkKey at) const override;
  Result<std::optional<ChunkInfo>> locate(const RequestContext& context, Position at) const override {
    return order_->locate(context, at);
  }
  Result<Layout> layout(const RequestContext& context, const ChunkInfo& chunk) const override;
  Result<Verification> verify(const RequestContext& context, const ChunkInfo& chunk) const override;
  Result<std::shared_ptr<const Chunk>> decode(const RequestContext& context, const ChunkInfo& chunk) const override;
  Result<std::shared_ptr<const Chunk>> open_in_place(const RequestContext& context,
                                                     const ChunkInfo& chunk) const override;
  const Metadata* metadata() const override { return this; }
  const DenseArray* array() const override { return array_ ? &*array_ : nullptr; }

 private:
  BloscpackContainer(std::shared_ptr<const Source> source, const Limits& limits, Survey survey)
      : source_(std::move(source)), limits_(limits), survey_(std::move(survey)) {}

  Result<std::vector<Attribute>> attributes(const RequestContext& context, const ChunkInfo* last) const override;
  void find_array(Bytes metadata);
  void set_traits();
  Stored stored(const ChunkInfo& chunk) const { return {source_, chunk, survey_.header.digest}; }
  // Returns why a lost chunk cannot be read, or the error of Source that prevents an answer now.
  Error why_lost(const RequestContext& context, const ChunkInfo& chunk) const;

  const std::shared_ptr<const Source> source_;
  const Limits limits_;
  const Survey survey_;
  std::unique_ptr<const ChunkOrder> order_;  // this and the rest are set before the container is shared
  ContainerTraits traits_{};
  std::optional<DenseArray> array_;
  std::string why_no_array_;  // set if the metadata describes an array that cannot be offered
};

}  // namespace recordfs::bloscpack
