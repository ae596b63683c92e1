#include "core/formats/riegeli/container.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "core/formats/riegeli/format.h"
#include "core/formats/riegeli/metadata.h"
#include "core/formats/riegeli/seek.h"
#include "core/formats/riegeli/simple.h"
#include "core/formats/riegeli/stored.h"
#include "core/formats/riegeli/transposed/decode.h"

namespace recordfs::riegeli {
namespace {

constexpr Position kBehindSignature = 64;

std::shared_ptr<const Chunk> to_chunk(Buffer payload, Layout layout = Layout()) {
  return std::make_shared<BufferChunk>(std::move(payload), std::move(layout));
}

}  // namespace

RiegeliContainer::RiegeliContainer(std::shared_ptr<const Source> source, const Limits& limits)
    : source_(std::move(source)),
      limits_(limits),
      framing_(*source_, limits_),
      traits_{.format = kFormat.name, .has_seek_structure = true} {}

Result<std::unique_ptr<Container>> RiegeliContainer::open(std::shared_ptr<const Source> source, const Limits& limits) {
  std::unique_ptr<RiegeliContainer> container(new RiegeliContainer(std::move(source), limits));
  TRY(container->learn_facts());
  return std::unique_ptr<Container>(std::move(container));
}

Result<void> RiegeliContainer::learn_facts() {
  Limits narrow = limits_;
  narrow.scan_bytes = 0;
  const Framing framing(*source_, narrow);
  ASSIGN_OR_RETURN(const auto head, framing.scan({}));
  const bool has_signature = head.chunk && head.chunk->key == ChunkKey{};
  traits_.facts.push_back({"signature", has_signature});
  ASSIGN_OR_RETURN(const auto metadata, metadata_chunk(framing));
  traits_.facts.push_back({"metadata", metadata.has_value()});
  if (!has_signature) return {};
  ASSIGN_OR_RETURN(const auto first, framing.declared(metadata ? metadata->end : kBehindSignature));
  if (first && first->records.value_or(0) > 0) {
    traits_.facts.push_back({"encoding", std::string(first->kind)});
    traits_.facts.push_back({"codec", std::string(first->codec)});
  }
  return {};
}

Result<std::optional<ChunkInfo>> RiegeliContainer::metadata_chunk(const Framing& framing) {
  // Read only the chunk header first: a scan would check all block headers of a large chunk that may not be metadata.
  ASSIGN_OR_RETURN(const auto declared, framing.declared(kBehindSignature));
  if (!declared || type_of(declared->kind) != ChunkType::kMetadata) return std::optional<ChunkInfo>{};
  ASSIGN_OR_RETURN(const auto step, framing.scan({kBehindSignature, 0}));
  if (!step.chunk || type_of(step.chunk->kind) != ChunkType::kMetadata) return std::optional<ChunkInfo>{};
  return step.chunk;
}

Result<std::optional<ChunkInfo>> RiegeliContainer::locate(Position at) const {
  if (at >= source_->size()) return std::optional<ChunkInfo>{};
  Limits narrow = limits_;
  narrow.scan_bytes = std::min(narrow.scan_bytes, Framing::kLocateScanBytes);
  return find_chunk(Framing(*source_, narrow), at);
}

Result<void> RiegeliContainer::check_type(const ChunkInfo& chunk) {
  const ChunkType type = type_of(chunk.kind);
  const ChunkHeader header{chunk.stored_size, data_hash(chunk), type, *chunk.records, decoded_data_size(chunk)};
  if (!keeps_type_rules(header)) {
    if (type == ChunkType::kUnknown) {
      return chunk_error(Code::kUnsupported, chunk, "records in a chunk of an unknown type");
    }
    return chunk_error(Code::kDamage, chunk, fmt::format("a {} chunk declares more than it can hold", chunk.kind));
  }
  return {};
}

Result<void> RiegeliContainer::check_decodable(const ChunkInfo& chunk) const {
  TRY(check_type(chunk));
  if (chunk.stored_size > limits_.stored_chunk) {
    return chunk_error(Code::kLimit, chunk,
                       fmt::format("{} bytes stored in one chunk, more than the limit of {}", chunk.stored_size,
                                   limits_.stored_chunk));
  }
  if (chunk.decoded_size.value_or(UINT64_MAX) > limits_.decoded_chunk) return too_large(chunk);
  return {};
}

Error RiegeliContainer::too_large(const ChunkInfo& chunk) const {
  return chunk_error(Code::kLimit, chunk,
                     fmt::format("{} bytes in one decoded chunk, more than the limit of {}", decoded_data_size(chunk),
                                 limits_.decoded_chunk));
}

Result<Layout> RiegeliContainer::layout(const ChunkInfo& chunk) const {
  if (type_of(chunk.kind) != ChunkType::kSimple) return Container::layout(chunk);
  TRY(check_type(chunk));
  if (!chunk.decoded_size) return too_large(chunk);
  return simple_layout(source_, chunk, limits_);
}

Result<Verification> RiegeliContainer::verify(const ChunkInfo& chunk) const {
  TRY(check_type(chunk));
  TRY(verify_data(*source_, chunk));
  return Verification::kVerified;
}

Result<std::shared_ptr<const Chunk>> RiegeliContainer::decode(const ChunkInfo& chunk) const {
  TRY(check_decodable(chunk));
  const ChunkType type = type_of(chunk.kind);
  if (type == ChunkType::kSignature || type == ChunkType::kPadding || type == ChunkType::kUnknown) {
    TRY(verify_data(*source_, chunk));
    return to_chunk(Buffer());
  }
  if (type == ChunkType::kMetadata) {
    ASSIGN_OR_RETURN(auto message, decode_metadata(chunk));
    return to_chunk(std::move(message));
  }
  ASSIGN_OR_RETURN(auto data, read_verified(*source_, chunk));
  if (type == ChunkType::kSimple) return decode_simple(chunk, std::move(data));
  auto decoded = transposed::decode(data.view(), *chunk.records, *chunk.decoded_size, limits_);
  if (!decoded) return at_chunk(std::move(decoded).error(), chunk);
  return to_chunk(std::move(decoded->payload), std::move(decoded->layout));
}

Result<Buffer> RiegeliContainer::decode_metadata(const ChunkInfo& chunk) const {
  if (decoded_data_size(chunk) > limits_.metadata_bytes) {
    return chunk_error(Code::kLimit, chunk,
                       fmt::format("{} bytes of file metadata exceed the limit", decoded_data_size(chunk)));
  }
  ASSIGN_OR_RETURN(const auto data, read_verified(*source_, chunk));
  // The message is a transposed chunk with one record, whatever the header's count is.
  auto decoded = transposed::decode(data.view(), 1, decoded_data_size(chunk), limits_);
  if (!decoded) return at_chunk(std::move(decoded).error(), chunk);
  return std::move(decoded->payload);
}

Result<std::shared_ptr<const Chunk>> RiegeliContainer::open_in_place(const ChunkInfo& chunk) const {
  if (type_of(chunk.kind) != ChunkType::kSimple) return std::shared_ptr<const Chunk>{};
  TRY(check_type(chunk));
  if (!chunk.decoded_size) return too_large(chunk);
  return open_simple_in_place(source_, chunk, limits_);
}

Result<std::vector<Attribute>> RiegeliContainer::attributes(const ChunkInfo*) const {
  ASSIGN_OR_RETURN(const auto chunk, metadata_chunk(framing_));
  if (!chunk) return std::vector<Attribute>{};
  TRY(check_decodable(*chunk));
  ASSIGN_OR_RETURN(const auto message, decode_metadata(*chunk));
  auto attributes = parse_metadata(message.view(), limits_);
  if (!attributes) return at_chunk(std::move(attributes).error(), *chunk);
  return attributes;
}

Result<const RiegeliContainer::Described*> RiegeliContainer::described() const {
  const std::scoped_lock lock(mutex_);
  if (!described_) {
    auto attributes = this->attributes(nullptr);
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

Result<std::string_view> RiegeliContainer::record_type() const {
  auto described = this->described();
  if (described) return std::string_view((*described)->type);
  if (is_permanent(described.error().code)) return std::string_view();
  return std::move(described).error();
}

Result<std::shared_ptr<const std::string>> RiegeliContainer::descriptors(const ChunkInfo&) const {
  ASSIGN_OR_RETURN(const auto described, this->described());
  return described->descriptors;
}

// A stated record type is always a message type.
Result<std::string_view> RiegeliContainer::record_media_type() const {
  ASSIGN_OR_RETURN(const auto described, this->described());
  return std::string_view(described->states_type ? "application/x-protobuf" : "");
}

}  // namespace recordfs::riegeli
