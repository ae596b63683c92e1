#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/base/limits.h"
#include "core/base/source.h"
#include "core/formats/container.h"
#include "core/formats/proio/bulk.h"
#include "core/formats/proio/event.h"
#include "core/formats/proio/format.h"
#include "core/formats/proio/framing.h"
#include "core/formats/proio/metadata.h"
#include "core/formats/proio/payload.h"
#include "core/formats/proio/unpack.h"
#include "core/formats/proio/wire.h"

namespace recordfs::proio {
namespace {

constexpr int kStepsToFirstBucket = 4;

bool is_plain(const ChunkInfo& chunk) { return compression_of(chunk) == kCompressionNone; }

Error about(const ChunkInfo& chunk, Code code, std::string detail) { return {code, chunk.begin, std::move(detail)}; }

constexpr int kBidOnName = 1;
// A low bid: a valid bucket far from the start may be inside a record of another format, which then bids higher.
constexpr int kBidOnSearch = 24;
// The fewest bytes of a magic to accept in a file that ends inside its first magic.
constexpr std::size_t kLeastOfAMagic = 8;

Result<int> bid_on_head(const RequestContext& context, const Source& source, const Limits& limits) {
  WindowedReader window(source, kHeaderWindow);
  ASSIGN_OR_RETURN(const auto head, window.from(context, 0, kMagic.size()));
  const std::size_t there = std::min(head.size(), kMagic.size());
  if (there < kLeastOfAMagic || !std::ranges::equal(head.first(there), Bytes(kMagic).first(there))) return 0;
  ASSIGN_OR_RETURN(const auto reading, read_header(context, window, 0, limits));
  return reading.verdict == HeaderReading::Verdict::kBroken ? 0 : 8 * static_cast<int>(there);
}

Result<int> bid_on_stream(const RequestContext& context, const Source& source, ProbeDepth depth, const Limits& limits) {
  auto bid = bid_on_head(context, source, limits);
  if (!bid || *bid > 0 || depth == ProbeDepth::kHead) return bid;
  ASSIGN_OR_RETURN(const auto found, Framing(source, limits).search(context, 0));
  return found.kind == Framing::Found::Kind::kFound ? kBidOnSearch : 0;
}

Result<int> probe(const RequestContext& context, const Source& source, std::string_view file_name, ProbeDepth depth) {
  if (source.size() == 0) return file_name.ends_with(".proio") ? kBidOnName : 0;
  return bid_on_stream(context, source, depth, Limits{});
}

// An open proio stream. Its chunks are the buckets, its records the events.
class Stream final : public Container, private Metadata {
 public:
  Stream(std::shared_ptr<const Source> source, const Limits& limits)
      : source_(std::move(source)),
        limits_(limits),
        framing_(*source_, limits_),
        bulk_(limits_),
        folds_(*source_, limits_),
        descriptor_sets_(limits_),
        traits_{.format = kFormat.name, .index_fits_in_chunk = false, .headers_have_checksums = false},
        schema_{.value = [this](Bytes event, ValueForm form) { return value_of_event(event, limits_, form); },
                .parts = RecordSchema::Parts::kRequired,
                .largest_record_with_parts = limits_.stored_chunk,
                .may_be_message = false} {}

  const ContainerTraits& traits() const override { return traits_; }
  Result<Step> scan(const RequestContext& context, ChunkKey at) const override { return framing_.scan(context, at); }

  Result<Layout> layout(const RequestContext& context, const ChunkInfo& chunk) const override {
    if (is_plain(chunk)) return event_layout(context, *source_, chunk);
    return Container::layout(context, chunk);
  }

  Result<Verification> verify(const RequestContext& context, const ChunkInfo& chunk) const override {
    ASSIGN_OR_RETURN(const auto layout, this->layout(context, chunk));
    if (const Error* const failure = layout.first_failure()) return *failure;
    return !is_plain(chunk) && layout.has_checksum() ? Verification::kVerified : Verification::kNoChecksum;
  }

  Result<std::shared_ptr<const Chunk>> decode(const RequestContext& context, const ChunkInfo& chunk) const override {
    if (chunk.records == 0u) return make_chunk(context, chunk, {}, true);
    TRY(check_size(chunk));
    ASSIGN_OR_RETURN(auto stored, view_exactly(context, *source_, payload_begin(chunk), chunk.stored_size));
    if (is_plain(chunk)) return make_chunk(context, chunk, std::move(stored), false);
    auto unpacked = unpack(context, compression_of(chunk), stored.bytes, limits_);
    if (!unpacked) return about(chunk, unpacked.error().code, unpacked.error().detail);
    const bool has_checksum = is_checksummed(compression_of(chunk), stored.bytes);
    return make_chunk(context, chunk, owned(std::move(*unpacked)), has_checksum);
  }

  Result<std::shared_ptr<const Chunk>> open_in_place(const RequestContext& context,
                                                     const ChunkInfo& chunk) const override {
    if (!is_plain(chunk)) return std::shared_ptr<const Chunk>{};
    return proio::open_in_place(context, source_, chunk);
  }

  const Metadata* metadata() const override { return this; }
  const BulkReader* bulk() const override { return &bulk_; }
  const RecordSchema& schema() const override { return schema_; }

 private:
  Result<std::vector<Attribute>> attributes(const RequestContext& context, const ChunkInfo* last) const override {
    std::optional<ChunkInfo> first;
    std::optional<ChunkKey> key = traits_.first;
    for (int i = 0; last == nullptr && !first && key && i < kStepsToFirstBucket; ++i) {
      ASSIGN_OR_RETURN(const auto step, scan(context, *key));
      first = step.chunk;
      key = step.next;
    }
    if (last == nullptr && !first) return std::vector<Attribute>{};
    ASSIGN_OR_RETURN(const auto fold, folds_.at(context, last == nullptr ? *first : *last));
    std::vector<Attribute> attributes = fold->metadata();
    std::string descriptors = fold->file_descriptor_set(limits_);
    if (!descriptors.empty()) {
      attributes.push_back({"file_descriptor_set", "google.protobuf.FileDescriptorSet", std::move(descriptors)});
    }
    return attributes;
  }

  bool varies() const override { return true; }

  Result<std::vector<Attribute>> attributes_at(const RequestContext& context, const ChunkInfo& chunk) const override {
    ASSIGN_OR_RETURN(const auto fold, folds_.at(context, chunk));
    return fold->metadata();
  }

  Result<ShortAttributes> short_attributes_at(const RequestContext& context, const ChunkInfo& chunk,
                                              std::uint64_t most_bytes) const override {
    ASSIGN_OR_RETURN(const auto fold, folds_.at(context, chunk));
    return fold->short_metadata(most_bytes);
  }

  bool has_descriptors() const override { return true; }

  Result<std::shared_ptr<const std::string>> descriptors(const RequestContext& context,
                                                         const ChunkInfo& chunk) const override {
    ASSIGN_OR_RETURN(const auto fold, folds_.at(context, chunk));
    return descriptor_sets_.of(fold);
  }

  Result<void> check_size(const ChunkInfo& chunk) const {
    if (chunk.stored_size > limits_.stored_chunk) {
      return about(chunk, Code::kLimit,
                   fmt::format("{} bytes stored in one bucket exceed the limit", chunk.stored_size));
    }
    if (is_plain(chunk) && chunk.stored_size > limits_.decoded_chunk) {
      return about(chunk, Code::kLimit, fmt::format("{} bytes in one bucket exceed the limit", chunk.stored_size));
    }
    return {};
  }

  const std::shared_ptr<const Source> source_;
  const Limits limits_;
  const Framing framing_;
  const BucketBulkReader bulk_;
  const FoldWalk folds_;
  const DescriptorSets descriptor_sets_;
  const ContainerTraits traits_;
  const RecordSchema schema_;
};

Result<std::unique_ptr<Container>> open(const RequestContext& context, std::shared_ptr<const Source> source,
                                        const Limits& limits) {
  if (source->size() > kLargestFile) {
    return Error{.code = Code::kLimit,
                 .detail = fmt::format("the stream of {} bytes exceeds the limit", source->size())};
  }
  if (source->size() > 0) {
    ASSIGN_OR_RETURN(const auto bid, bid_on_stream(context, *source, ProbeDepth::kSearch, limits));
    if (bid == 0) return Error{.code = Code::kNoContainer, .detail = "no bucket of a proio stream was found"};
  }
  return std::unique_ptr<Container>(std::make_unique<Stream>(std::move(source), limits));
}

}  // namespace

const Format kFormat = {.name = "proio", .probe = probe, .open = open, .suffixes = ".proio"};

}  // namespace recordfs::proio
