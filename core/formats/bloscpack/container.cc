#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/base/counted.h"
#include "core/base/limits.h"
#include "core/codec/codec.h"
#include "core/formats/bloscpack/bulk.h"
#include "core/formats/bloscpack/decode.h"
#include "core/formats/bloscpack/format.h"
#include "core/formats/bloscpack/npy.h"
#include "core/formats/bloscpack/order.h"
#include "core/formats/bloscpack/survey.h"
#include "core/formats/bloscpack/wire.h"
#include "core/formats/container.h"

namespace recordfs::bloscpack {
namespace {

// An object with more members than this is shown only as a whole.
constexpr std::size_t kMostMembers = 65536;

Error damaged(const Survey& survey, std::string why) {
  return {Code::kDamage, survey.metadata_begin, "metadata: " + std::move(why)};
}

Result<void> verify_metadata(const RequestContext& context, const Source& source, const Survey& survey, Bytes stored) {
  const MetadataHeader& header = *survey.metadata;
  if (!header.digest) return {};
  Digester digester(*header.digest);
  digester.append(stored);
  const Digest digest = digester.finish();
  ASSIGN_OR_RETURN(const auto due, read_exactly(context, source, survey.metadata_begin + header.room, digest.size));
  if (!std::ranges::equal(digest.view(), due.view())) return damaged(survey, "the checksum does not match");
  return {};
}

// Returns the decoded bytes; empty if the file has none. Fails with kDamage, kUnsupported and kLimit, and as Source
// does.
Result<Buffer> read_metadata(const RequestContext& context, const Source& source, const Survey& survey,
                             const Limits& limits) {
  if (!survey.metadata) return Buffer();
  const MetadataHeader& header = *survey.metadata;
  if (!header.is_json) return damaged(survey, "unknown format");
  if (header.codec > 1) {
    return Error{Code::kUnsupported, survey.metadata_begin, fmt::format("metadata: unknown codec {}", header.codec)};
  }
  if (header.stored_size > header.room) return damaged(survey, "stored size exceeds the reserved size");
  if (std::max(header.stored_size, header.size) > limits.metadata_bytes) {
    return Error{Code::kLimit, survey.metadata_begin,
                 fmt::format("{} bytes of metadata exceed the limit", header.size)};
  }
  ASSIGN_OR_RETURN(const auto stored, read_exactly(context, source, survey.metadata_begin, header.stored_size));
  TRY(verify_metadata(context, source, survey, stored.view()));
  auto decoded = decompress(context, header.codec == 1 ? CodecId::kZlib : CodecId::kNone, stored.view(), header.size,
                            limits.metadata_bytes);
  // The size is a hint that other readers ignore; the checksum verifies the stored bytes.
  if (!decoded) decoded.error().position = survey.metadata_begin;
  return decoded;
}

// Returns the whole as "metadata.json", and each member of its object. If it is not JSON, returns only "metadata".
std::vector<Attribute> attributes_of(Bytes metadata, const Limits& limits) {
  std::vector<Attribute> attributes;
  if (metadata.empty()) return attributes;
  const std::string whole(as_text(metadata));
  auto json = read_json(metadata, limits.nesting_depth, kMostMembers);
  if (!json) {
    attributes.push_back({"metadata", "", whole});
    return attributes;
  }
  attributes.push_back({"metadata.json", std::string(to_string(json->type)), whole});
  for (JsonMember& member : json->members) {
    attributes.push_back({std::move(member.key), std::string(to_string(member.type)), std::move(member.value)});
  }
  return attributes;
}

// ChunkKey::state of the step that reports damage in the headers, before any chunk.
constexpr std::uint64_t kHeaders = std::uint64_t{1} << 63;
// Metadata up to this size is read at open, since descriptions of arrays are short.
constexpr std::uint64_t kShortMetadata = 1 << 20;
constexpr std::size_t kMostArrayMembers = 1024;

std::string dialect_name(const FileHeader& header) {
  switch (header.dialect) {
    case Dialect::kVersion0: return "0";
    case Dialect::kVersion1: return "1";
    case Dialect::kVersion2: return "2";
    case Dialect::kVersion3: return "3";
    case Dialect::kVariable: break;
  }
  return fmt::format("{}, variable length", header.version);
}

void add_size(std::vector<Fact>& facts, const char* name, std::int64_t size) {
  if (size >= 0) facts.push_back({name, static_cast<std::uint64_t>(size)});
}

// Returns the metadata if it is short and readable. Reports broken metadata as a region.
Result<Buffer> short_metadata(const RequestContext& context, const Source& source, const Limits& limits,
                              Survey& survey) {
  if (survey.refusal || !survey.metadata || survey.metadata->size > kShortMetadata) return Buffer();
  auto metadata = read_metadata(context, source, survey, limits);
  if (metadata || !is_permanent(metadata.error().code)) return metadata;
  if (metadata.error().code != Code::kLimit) {
    const MetadataHeader& header = *survey.metadata;
    const std::uint64_t digest = header.digest ? digest_size(*header.digest) : 0;
    survey.damage.push_back(region_of(survey.metadata_begin - kMetadataHeaderSize,
                                      survey.metadata_begin + header.room + digest, metadata.error(), 0));
    std::ranges::sort(survey.damage, {}, &DamagedRegion::begin);
  }
  return Buffer();
}

constexpr int kBid = 32;  // bits of the magic

Result<bool> has_magic(const RequestContext& context, const Source& source) {
  ASSIGN_OR_RETURN(const auto head, read_up_to(context, source, 0, magic().size()));
  return std::ranges::equal(head.view(), as_bytes(magic()));
}

// Only the magic identifies a Bloscpack file with certainty. The rest of its header may be damaged or too new; the
// container then opens and reports that.
Result<int> probe(const RequestContext& context, const Source& source, std::string_view, ProbeDepth) {
  ASSIGN_OR_RETURN(const auto found, has_magic(context, source));
  return found ? kBid : 0;
}

// An open Bloscpack file. Its chunks are the file's chunks, and each is one record.
class BloscpackContainer final : public Container, private Metadata {
 public:
  // Reads the headers, the offsets and the metadata. Fails as Format::open does.
  static Result<std::unique_ptr<Container>> open(const RequestContext& context, std::shared_ptr<const Source> source,
                                                 const Limits& limits) {
    ASSIGN_OR_RETURN(const auto is_one, has_magic(context, *source));
    if (!is_one) return Error{Code::kNoContainer, 0, "not a Bloscpack file"};
    ASSIGN_OR_RETURN(auto found, survey(context, *source));
    ASSIGN_OR_RETURN(const auto metadata, short_metadata(context, *source, limits, found));
    std::unique_ptr<BloscpackContainer> container(new BloscpackContainer(std::move(source), limits, std::move(found)));
    ASSIGN_OR_RETURN(auto order, order_of(context, *container->source_, container->survey_));
    container->order_ = std::move(order);
    container->set_traits(container->find_array(metadata.view()));
    return std::unique_ptr<Container>(std::move(container));
  }

  const ContainerTraits& traits() const override { return traits_; }

  Result<Step> scan(const RequestContext& context, ChunkKey at) const override {
    if (at.state != kHeaders) return order_->scan(context, at);
    Step step;
    step.damage = survey_.damage;
    if (survey_.order != Order::kNone) step.next = order_->first();
    return step;
  }

  Result<std::optional<ChunkInfo>> locate(const RequestContext& context, Position at) const override {
    return order_->locate(context, at);
  }

  Result<Layout> layout(const RequestContext& context, const ChunkInfo& chunk) const override {
    Layout layout;
    if (!is_lost(chunk)) {
      // A reader never reads an empty record, so damage in it is reported here.
      const bool is_empty = *chunk.decoded_size == 0;
      TRY(is_empty ? verify_chunk(context, stored(chunk)) : Result<void>());
      layout.add(context, *chunk.decoded_size);
      return layout;
    }
    const Error why = why_lost(context, chunk);
    if (why.code != Code::kDamage || *chunk.records > limits_.records_per_chunk || !chunk.decoded_size) return why;
    const std::uint64_t before_last = *chunk.records - 1;
    layout.add_failed(context, before_last, declared_size(survey_, index_of(chunk)), why);
    layout.add_failed(context, declared_size(survey_, index_of(chunk) + before_last), why);
    return layout;
  }

  Result<Verification> verify(const RequestContext& context, const ChunkInfo& chunk) const override {
    if (is_lost(chunk)) return why_lost(context, chunk);
    TRY(verify_chunk(context, stored(chunk)));
    return survey_.header.digest ? Verification::kVerified : Verification::kNoChecksum;
  }

  Result<std::shared_ptr<const Chunk>> decode(const RequestContext& context, const ChunkInfo& chunk) const override {
    if (is_lost(chunk)) return why_lost(context, chunk);
    return decode_chunk(context, stored(chunk), limits_);
  }

  Result<std::shared_ptr<const Chunk>> open_in_place(const RequestContext& context,
                                                     const ChunkInfo& chunk) const override {
    if (is_lost(chunk)) return why_lost(context, chunk);
    return bloscpack::open_in_place(context, stored(chunk), limits_);
  }

  const Metadata* metadata() const override { return this; }
  const BulkReader* bulk() const override {
    const bool is_possible = survey_.order == Order::kChain || survey_.order == Order::kAnchored;
    return is_possible ? &bulk_ : nullptr;
  }

 private:
  BloscpackContainer(std::shared_ptr<const Source> source, const Limits& limits, Survey survey)
      : source_(std::move(source)), limits_(limits), survey_(std::move(survey)), bulk_(*source_, survey_, limits_) {}

  Result<std::vector<Attribute>> attributes(const RequestContext& context, const ChunkInfo*) const override {
    ASSIGN_OR_RETURN(const auto metadata, read_metadata(context, *source_, survey_, limits_));
    return attributes_of(metadata.view(), limits_);
  }

  // Returns nullopt if the metadata describes none, or one that cannot be offered. Every byte of the array needs a
  // fixed place, whatever is damaged. So the sizes in the header are required, and must fit the metadata.
  std::optional<DenseArray> find_array(Bytes metadata) {
    const FileHeader& header = survey_.header;
    if (header.dialect != Dialect::kVersion3) return std::nullopt;
    const auto json = read_json(metadata, limits_.nesting_depth, kMostArrayMembers);
    if (!json || !claims_array(*json)) return std::nullopt;
    const auto array = bloscpack::find_array(*json, limits_.nesting_depth);
    if (!array) {
      why_no_array_ = "the type, shape or order of the array is not supported";
      return std::nullopt;
    }
    dtype_ = array->dtype;
    if (header.chunks < 1 || header.chunk_size < 0 || header.last_chunk < 0) {
      why_no_array_ = "the header does not declare the chunk size";
      return std::nullopt;
    }
    const auto chunk_size = static_cast<std::uint64_t>(header.chunk_size);
    const auto whole_chunks = static_cast<std::uint64_t>(header.chunks - 1);
    const auto last = static_cast<std::uint64_t>(header.last_chunk);
    const std::uint64_t before_last = array->bytes - std::min(array->bytes, last);
    const bool fits = before_last + last == array->bytes &&
                      (whole_chunks == 0 ? before_last == 0
                                         : last <= chunk_size && chunk_size > 0 && before_last % chunk_size == 0 &&
                                               before_last / chunk_size == whole_chunks);
    if (!fits) {
      why_no_array_ = fmt::format(
          "an array of {} bytes does not match {} of {} bytes and a last one of {}; an append "
          "does not update the shape",
          array->bytes, counted(whole_chunks, "chunk"), chunk_size, last);
      return std::nullopt;
    }
    if (!could_be_read(array->bytes, most_decoded(source_->size()), limits_)) {
      why_no_array_ = fmt::format("an array of {} bytes is more than the file could hold", array->bytes);
      return std::nullopt;
    }
    std::string prefix = npy_header(*array);
    const std::uint64_t size = prefix.size() + array->bytes;
    return DenseArray{"array.npy", std::move(prefix), whole_chunks == 0 ? last : chunk_size, size};
  }

  void set_traits(std::optional<DenseArray> array) {
    traits_ = {.format = kFormat.name,
               .first = survey_.damage.empty() ? order_->first() : ChunkKey{0, kHeaders},
               .is_in_file_order = order_->is_file_order(),
               .grows_by_appending = false,  // the writer completes offsets and header at the end
               .has_seek_structure = order_->is_seekable(),
               .records_have_checksums = survey_.header.digest.has_value(),
               .begin_tells_count = true,
               .array = std::move(array)};
    std::vector<Fact>& facts = traits_.facts;
    if (survey_.refusal) {
      facts.push_back({"damage", to_string(*survey_.refusal)});
      return;
    }
    const FileHeader& header = survey_.header;
    facts.push_back({"version", dialect_name(header)});
    add_size(facts, "chunks", header.chunks);
    add_size(facts, "chunk_size", header.chunk_size);
    add_size(facts, "last_chunk_size", header.last_chunk);
    if (header.dialect >= Dialect::kVersion2) facts.push_back({"typesize", std::uint64_t{header.typesize}});
    facts.push_back({"checksum", header.digest ? std::string(to_string(*header.digest)) : "none"});
    facts.push_back({"offsets", survey_.order == Order::kAnchored || survey_.order == Order::kItems});
    if (traits_.array) facts.push_back({"array", traits_.array->name});
    if (dtype_) {
      facts.push_back({"dtype", dtype_->description});
      facts.push_back({"itemsize", dtype_->size});
    }
    if (!why_no_array_.empty()) facts.push_back({"no_array", why_no_array_});
  }

  Stored stored(const ChunkInfo& chunk) const { return {source_, chunk, survey_.header.digest}; }

  // Returns why a lost chunk cannot be read, or the error of Source that prevents an answer now.
  Error why_lost(const RequestContext& context, const ChunkInfo& chunk) const {
    ASSIGN_OR_RETURN(const auto step, order_->scan(context, chunk.key));
    for (const DamagedRegion& region : step.damage) {
      if (region.begin == chunk.begin) return {Code::kDamage, chunk.begin, region.reason};
    }
    return {Code::kDamage, chunk.begin, "no chunk where one should be"};
  }

  const std::shared_ptr<const Source> source_;
  const Limits limits_;
  const Survey survey_;
  const BloscpackBulkReader bulk_;
  std::unique_ptr<const ChunkOrder> order_;  // this and the rest are set before the container is shared
  ContainerTraits traits_{};
  std::string why_no_array_;    // set if the metadata describes an array that cannot be offered
  std::optional<Dtype> dtype_;  // of the array that the metadata describes
};

}  // namespace

const Format kFormat = {.name = "bloscpack", .probe = probe, .open = BloscpackContainer::open, .suffixes = ".blp"};

}  // namespace recordfs::bloscpack
