#include <algorithm>
#include <array>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/base/limits.h"
#include "core/base/source.h"
#include "core/formats/container.h"
#include "core/formats/riegeli/bulk.h"
#include "core/formats/riegeli/format.h"
#include "core/formats/riegeli/framing.h"
#include "core/formats/riegeli/locate.h"
#include "core/formats/riegeli/metadata.h"
#include "core/formats/riegeli/simple.h"
#include "core/formats/riegeli/stored.h"
#include "core/formats/riegeli/transposed/decode.h"

namespace recordfs::riegeli {
namespace {

constexpr Position kBehindSignature = 64;

std::shared_ptr<const Chunk> to_chunk(Buffer payload, Layout layout = Layout()) {
  return std::make_shared<BufferChunk>(std::move(payload), std::move(layout));
}

Result<std::shared_ptr<const Chunk>> to_chunk(Result<transposed::Decoded> decoded, const ChunkInfo& chunk) {
  if (!decoded) return at_chunk(std::move(decoded).error(), chunk);
  return to_chunk(std::move(decoded->payload), std::move(decoded->layout));
}

// Bits of evidence for the format: a complete signature; one half of it, or a block header with a valid hash and
// pointer.
constexpr int kWholeSignature = 200;
constexpr int kOneHash = 60;
constexpr std::size_t kShortestPrefix = 8;
// How far to search for a valid block header.
constexpr Position kSearched = 4 << 20;

Result<int> bid_on_head(const RequestContext& context, const Source& source) {
  const Bytes signature = file_signature();
  std::array<std::byte, 64> bytes{};
  ASSIGN_OR_RETURN(const auto got, source.read_at(context, 0, bytes));
  const Bytes head = Bytes(bytes).first(got);
  if (got >= kShortestPrefix && std::ranges::equal(head, signature.first(got))) {
    return got == signature.size() ? kWholeSignature : static_cast<int>(8 * std::min<std::size_t>(got, 24));
  }
  if (got < signature.size()) return 0;
  const bool sound = parse_block_header(head.first(kBlockHeaderSize)) ||
                     parse_chunk_header(head.subspan(kBlockHeaderSize, kChunkHeaderSize));
  return sound ? kOneHash : 0;
}

// Returns whether the chunk that a block header names, or the next one, has a valid header.
Result<bool> leads_to_chunk(const RequestContext& context, const Framing& framing, Position size, Position block,
                            const BlockHeader& header) {
  if (header.next_chunk > size - block) return true;
  const Position end = block + header.next_chunk;
  if (end == size) return true;
  if (header.previous_chunk <= block) {
    auto sound = framing.is_chunk(context, block - header.previous_chunk, end);
    if (!sound || *sound) return sound;
  }
  ASSIGN_OR_RETURN(const auto after, framing.scan(context, {end, 0}));
  return after.chunk.has_value();
}

Result<int> bid_on_blocks(const RequestContext& context, const Source& source, const Limits& limits) {
  const Framing framing(source, limits);
  const Position searched = std::min({source.size(), kSearched, limits.scan_bytes});
  for (Position block = kBlockSize; block < searched; block += kBlockSize) {
    ASSIGN_OR_RETURN(const auto header, framing.block_header(context, block));
    if (!header) continue;
    ASSIGN_OR_RETURN(const auto sound, leads_to_chunk(context, framing, source.size(), block, *header));
    if (sound) return kOneHash;
  }
  return 0;
}

// Bids on a file whose beginning was cut off, if a scan without a signature finds a chunk.
Result<int> bid_on_chunks(const RequestContext& context, const Source& source) {
  Limits limits;
  limits.scan_bytes = 0;
  const Framing framing(source, limits);
  std::optional<ChunkKey> key = ChunkKey{};
  do {
    ASSIGN_OR_RETURN(const auto step, framing.scan(context, *key));
    if (step.chunk) return kOneHash;
    key = step.next;
  } while (key && Framing::is_searching(*key) && Framing::searched(*key) < kSearched);
  if (!key || Framing::is_searching(*key)) return 0;
  ASSIGN_OR_RETURN(const auto found, framing.scan(context, *key));
  return found.chunk ? kOneHash : 0;
}

Result<int> bid_on_file(const RequestContext& context, const Source& source, std::string_view file_name,
                        ProbeDepth depth) {
  if (source.size() == 0) return file_name.ends_with(".riegeli") ? 1 : 0;
  auto bid = bid_on_head(context, source);
  if (!bid || *bid > 0 || depth == ProbeDepth::kHead) return bid;
  bid = bid_on_blocks(context, source, Limits{});
  if (!bid || *bid > 0) return bid;
  return bid_on_chunks(context, source);
}

Result<std::unique_ptr<Container>> open_file(const RequestContext& context, std::shared_ptr<const Source> source,
                                             const Limits& limits) {
  if (source->size() > 0) {
    ASSIGN_OR_RETURN(const auto bid, bid_on_file(context, *source, {}, ProbeDepth::kSearch));
    if (bid == 0) return Error{.code = Code::kNoContainer, .detail = "not a Riegeli/records file"};
  }
  return open(context, std::move(source), limits);
}

// One open file.
class RiegeliContainer final : public Container, private Metadata {
 public:
  RiegeliContainer(std::shared_ptr<const Source> source, const Limits& limits)
      : source_(std::move(source)),
        limits_(limits),
        framing_(*source_, limits_),
        bulk_(limits),
        traits_{.format = kFormat.name, .has_seek_structure = true} {}

  // Reads at most the first three chunk headers, for the facts. Call once, before all others. Fails as Source does.
  Result<void> learn_facts(const RequestContext& context) {
    Limits narrow = limits_;
    narrow.scan_bytes = 0;
    const Framing framing(*source_, narrow);
    ASSIGN_OR_RETURN(const auto head, framing.scan(context, {}));
    const bool has_signature = head.chunk && head.chunk->key == ChunkKey{};
    traits_.facts.push_back({"signature", has_signature});
    ASSIGN_OR_RETURN(const auto metadata, metadata_chunk(context, framing));
    traits_.facts.push_back({"metadata", metadata.has_value()});
    if (!has_signature) return {};
    ASSIGN_OR_RETURN(const auto first, framing.declared(context, metadata ? metadata->end : kBehindSignature));
    if (first && first->records.value_or(0) > 0) {
      traits_.facts.push_back({"encoding", std::string(first->kind.word())});
      traits_.facts.push_back({"codec", std::string(first->codec)});
    }
    return {};
  }

  const ContainerTraits& traits() const override { return traits_; }
  Result<Step> scan(const RequestContext& context, ChunkKey at) const override { return framing_.scan(context, at); }

  Result<std::optional<ChunkInfo>> locate(const RequestContext& context, Position at) const override {
    if (at >= source_->size()) return std::optional<ChunkInfo>{};
    return find_chunk(context, *source_, limits_, at);
  }

  Result<Layout> layout(const RequestContext& context, const ChunkInfo& chunk) const override {
    if (chunk.kind.as<ChunkType>() != ChunkType::kSimple) return Container::layout(context, chunk);
    TRY(check_type(chunk));
    if (!chunk.decoded_size) return too_large(chunk);
    return simple_layout(context, source_, chunk, limits_);
  }

  Result<Verification> verify(const RequestContext& context, const ChunkInfo& chunk) const override {
    TRY(check_type(chunk));
    TRY(verify_data(context, *source_, chunk));
    return Verification::kVerified;
  }

  Result<std::shared_ptr<const Chunk>> decode(const RequestContext& context, const ChunkInfo& chunk) const override {
    TRY(check_decodable(chunk));
    const auto type = chunk.kind.as<ChunkType>();
    if (type == ChunkType::kSignature || type == ChunkType::kPadding || type == ChunkType::kUnknown) {
      TRY(verify_data(context, *source_, chunk));
      return to_chunk(Buffer());
    }
    if (type == ChunkType::kMetadata) {
      ASSIGN_OR_RETURN(auto message, decode_metadata(context, chunk));
      return to_chunk(std::move(message));
    }
    ASSIGN_OR_RETURN(auto data, read_verified(context, *source_, chunk));
    if (type == ChunkType::kSimple) return decode_simple(context, chunk, std::move(data));
    return to_chunk(transposed::decode(context, data.view(), *chunk.records, *chunk.decoded_size, limits_), chunk);
  }

  Result<std::shared_ptr<const Chunk>> decode_fields(const RequestContext& context, const ChunkInfo& chunk,
                                                     const FieldProjection& fields) const override {
    if (chunk.kind.as<ChunkType>() != ChunkType::kTransposed) return decode(context, chunk);
    TRY(check_decodable(chunk));
    ASSIGN_OR_RETURN(const auto data, read_verified(context, *source_, chunk));
    return to_chunk(
        transposed::decode_fields(context, data.view(), *chunk.records, *chunk.decoded_size, limits_, fields), chunk);
  }

  Result<std::shared_ptr<const Chunk>> open_in_place(const RequestContext& context,
                                                     const ChunkInfo& chunk) const override {
    if (chunk.kind.as<ChunkType>() != ChunkType::kSimple) return std::shared_ptr<const Chunk>{};
    TRY(check_type(chunk));
    if (!chunk.decoded_size) return too_large(chunk);
    return open_simple_in_place(context, source_, chunk, limits_);
  }

  const Metadata* metadata() const override { return this; }
  const BulkReader* bulk() const override { return &bulk_; }

 private:
  // The record type and its descriptors, from the file metadata.
  struct Described {
    std::string type;
    bool states_type = false;
    std::shared_ptr<const std::string> descriptors;
  };

  Result<std::vector<Attribute>> attributes(const RequestContext& context, const ChunkInfo*) const override {
    ASSIGN_OR_RETURN(const auto chunk, metadata_chunk(context, framing_));
    if (!chunk) return std::vector<Attribute>{};
    TRY(check_decodable(*chunk));
    ASSIGN_OR_RETURN(const auto message, decode_metadata(context, *chunk));
    auto attributes = parse_metadata(message.view(), limits_);
    if (!attributes) return at_chunk(std::move(attributes).error(), *chunk);
    return attributes;
  }

  Result<std::string_view> record_type(const RequestContext& context) const override {
    auto described = this->described(context);
    if (described) return std::string_view((*described)->type);
    if (is_permanent(described.error().code)) return std::string_view();
    return std::move(described).error();
  }

  // A stated record type is always a message type.
  Result<std::string_view> record_media_type(const RequestContext& context) const override {
    ASSIGN_OR_RETURN(const auto described, this->described(context));
    return std::string_view(described->states_type ? "application/x-protobuf" : "");
  }

  bool has_descriptors() const override { return true; }

  Result<std::shared_ptr<const std::string>> descriptors(const RequestContext& context,
                                                         const ChunkInfo&) const override {
    ASSIGN_OR_RETURN(const auto described, this->described(context));
    return described->descriptors;
  }

  // Returns the metadata chunk directly after the signature, if the file has one.
  static Result<std::optional<ChunkInfo>> metadata_chunk(const RequestContext& context, const Framing& framing) {
    // Read only the chunk header first: a scan would check all block headers of a large chunk that may not be metadata.
    ASSIGN_OR_RETURN(const auto declared, framing.declared(context, kBehindSignature));
    if (!declared || declared->kind.as<ChunkType>() != ChunkType::kMetadata) return std::optional<ChunkInfo>{};
    ASSIGN_OR_RETURN(const auto step, framing.scan(context, {kBehindSignature, 0}));
    if (!step.chunk || step.chunk->kind.as<ChunkType>() != ChunkType::kMetadata) return std::optional<ChunkInfo>{};
    return step.chunk;
  }

  // Returns the message of a metadata chunk. Fails as decode().
  Result<Buffer> decode_metadata(const RequestContext& context, const ChunkInfo& chunk) const {
    if (decoded_data_size(chunk) > limits_.metadata_bytes) {
      return chunk_error(Code::kLimit, chunk,
                         fmt::format("{} bytes of file metadata exceed the limit", decoded_data_size(chunk)));
    }
    ASSIGN_OR_RETURN(const auto data, read_verified(context, *source_, chunk));
    // The message is a transposed chunk with one record, whatever the header's count is.
    auto decoded = transposed::decode(context, data.view(), 1, decoded_data_size(chunk), limits_);
    if (!decoded) return at_chunk(std::move(decoded).error(), chunk);
    return std::move(decoded->payload);
  }

  // Returns the parsed metadata, which is read once and cached. Fails as attributes().
  Result<const Described*> described(const RequestContext& context) const {
    const std::scoped_lock lock(mutex_);
    if (!described_) {
      auto attributes = this->attributes(context, nullptr);
      if (!attributes && !is_permanent(attributes.error().code)) return std::move(attributes).error();
      if (attributes) {
        Described described;
        for (Attribute& attribute : *attributes) {
          if (attribute.key == kRecordTypeKey) {
            described.type = std::move(attribute.value);
            described.states_type = true;
          }
          if (attribute.key == kDescriptorsKey) {
            described.descriptors = std::make_shared<const std::string>(std::move(attribute.value));
          }
        }
        described_.emplace(std::move(described));
      } else {
        described_.emplace(std::move(attributes).error());
      }
    }
    if (!*described_) return described_->error();
    return &**described_;
  }

  // Fails if the chunk violates the rules of its type.
  static Result<void> check_type(const ChunkInfo& chunk) {
    const auto type = chunk.kind.as<ChunkType>();
    if (!keeps_type_rules(header_of(chunk))) {
      if (type == ChunkType::kUnknown) {
        return chunk_error(Code::kUnsupported, chunk, "records in a chunk of an unknown type");
      }
      return chunk_error(Code::kDamage, chunk,
                         fmt::format("a {} chunk declares more than it can hold", chunk.kind.word()));
    }
    return {};
  }

  // As check_type(); also fails with kLimit if the limits do not allow decoding the chunk as a whole.
  Result<void> check_decodable(const ChunkInfo& chunk) const {
    TRY(check_type(chunk));
    if (chunk.stored_size > limits_.stored_chunk) {
      return chunk_error(Code::kLimit, chunk,
                         fmt::format("{} bytes stored in one chunk, more than the limit of {}", chunk.stored_size,
                                     limits_.stored_chunk));
    }
    if (chunk.decoded_size.value_or(UINT64_MAX) > limits_.decoded_chunk) return too_large(chunk);
    return {};
  }

  Error too_large(const ChunkInfo& chunk) const {
    return chunk_error(Code::kLimit, chunk,
                       fmt::format("{} bytes in one decoded chunk, more than the limit of {}", decoded_data_size(chunk),
                                   limits_.decoded_chunk));
  }

  const std::shared_ptr<const Source> source_;
  const Limits limits_;
  const Framing framing_;
  const SimpleBulkReader bulk_;
  ContainerTraits traits_;  // written before the container is shared
  mutable std::mutex mutex_;
  mutable std::optional<Result<Described>> described_;  // guarded by mutex_; never changes once set
};

}  // namespace

Result<std::unique_ptr<Container>> open(const RequestContext& context, std::shared_ptr<const Source> source,
                                        const Limits& limits) {
  auto container = std::make_unique<RiegeliContainer>(std::move(source), limits);
  TRY(container->learn_facts(context));
  return std::unique_ptr<Container>(std::move(container));
}

const Format kFormat = {.name = "riegeli", .probe = bid_on_file, .open = open_file, .suffixes = ".riegeli"};

}  // namespace recordfs::riegeli
