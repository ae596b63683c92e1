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
    : source_(std::move(source)), limits_(limits), framing_(*source_, limits_) {}

Result<std::unique_ptr<Container>> RiegeliContainer::open(std::shared_ptr<const Source> source, const Limits& limits) {
  std::unique_ptr<RiegeliContainer> container(new RiegeliContainer(std::move(source), limits));
  if (auto learned = container->learn_facts(); !learned) return std::move(learned).error();
  return std::unique_ptr<Container>(std::move(container));
}

std::string_view RiegeliContainer::format() const { return kFormat.name; }

Result<void> RiegeliContainer::learn_facts() {
  Limits narrow = limits_;
  narrow.scan_bytes = 0;
  const Framing framing(*source_, narrow);
  auto head = framing.scan({});
  if (!head) return std::move(head).error();
  const bool has_signature = head->chunk && head->chunk->key == ChunkKey{};
  facts_.push_back({"signature", has_signature});
  auto metadata = metadata_chunk(framing);
  if (!metadata) return std::move(metadata).error();
  facts_.push_back({"metadata", metadata->has_value()});
  if (!has_signature) return {};
  auto first = framing.declared(*metadata ? (*metadata)->end : kBehindSignature);
  if (!first) return std::move(first).error();
  if (*first && (*first)->records.value_or(0) > 0) {
    facts_.push_back({"encoding", std::string((*first)->kind)});
    facts_.push_back({"codec", std::string((*first)->codec)});
  }
  return {};
}

Result<std::optional<ChunkInfo>> RiegeliContainer::metadata_chunk(const Framing& framing) {
  // Read only the chunk header first: a scan would check all block headers of a large chunk that may not be metadata.
  auto declared = framing.declared(kBehindSignature);
  if (!declared) return declared;
  if (!*declared || type_of((*declared)->kind) != ChunkType::kMetadata) return std::optional<ChunkInfo>{};
  auto step = framing.scan({kBehindSignature, 0});
  if (!step) return std::move(step).error();
  if (!step->chunk || type_of(step->chunk->kind) != ChunkType::kMetadata) return std::optional<ChunkInfo>{};
  return step->chunk;
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
    return chunk_error(Code::kDamage, chunk, fmt::format("a {} chunk declares what it can't hold", chunk.kind));
  }
  return {};
}

Result<void> RiegeliContainer::check_decodable(const ChunkInfo& chunk) const {
  if (auto allowed = check_type(chunk); !allowed) return allowed;
  if (chunk.stored_size > limits_.stored_chunk) {
    return chunk_error(Code::kLimit, chunk,
                       fmt::format("{} bytes stored in one chunk, more than the {} that are allowed", chunk.stored_size,
                                   limits_.stored_chunk));
  }
  if (chunk.decoded_size.value_or(UINT64_MAX) > limits_.decoded_chunk) return too_large(chunk);
  return {};
}

Error RiegeliContainer::too_large(const ChunkInfo& chunk) const {
  return chunk_error(Code::kLimit, chunk,
                     fmt::format("{} bytes in one decoded chunk, more than the {} that are allowed",
                                 decoded_data_size(chunk), limits_.decoded_chunk));
}

Result<Layout> RiegeliContainer::layout(const ChunkInfo& chunk) const {
  if (type_of(chunk.kind) != ChunkType::kSimple) return Container::layout(chunk);
  if (auto allowed = check_type(chunk); !allowed) return std::move(allowed).error();
  if (!chunk.decoded_size) return too_large(chunk);
  return simple_layout(*source_, chunk, limits_);
}

Result<void> RiegeliContainer::verify(const ChunkInfo& chunk) const {
  if (auto allowed = check_type(chunk); !allowed) return allowed;
  return verify_data(*source_, chunk);
}

Result<std::shared_ptr<const Chunk>> RiegeliContainer::decode(const ChunkInfo& chunk) const {
  if (auto allowed = check_decodable(chunk); !allowed) return std::move(allowed).error();
  const ChunkType type = type_of(chunk.kind);
  if (type == ChunkType::kSignature || type == ChunkType::kPadding || type == ChunkType::kUnknown) {
    if (auto sound = verify_data(*source_, chunk); !sound) return std::move(sound).error();
    return to_chunk(Buffer());
  }
  if (type == ChunkType::kMetadata) {
    auto message = decode_metadata(chunk);
    if (!message) return std::move(message).error();
    return to_chunk(std::move(*message));
  }
  auto data = read_verified(*source_, chunk);
  if (!data) return std::move(data).error();
  if (type == ChunkType::kSimple) return decode_simple(chunk, std::move(*data));
  auto decoded = transposed::decode(data->view(), *chunk.records, *chunk.decoded_size, limits_);
  if (!decoded) return at_chunk(std::move(decoded).error(), chunk);
  return to_chunk(std::move(decoded->payload), std::move(decoded->layout));
}

Result<Buffer> RiegeliContainer::decode_metadata(const ChunkInfo& chunk) const {
  if (decoded_data_size(chunk) > limits_.metadata_bytes) {
    return chunk_error(Code::kLimit, chunk, fmt::format("{} bytes of file metadata", decoded_data_size(chunk)));
  }
  auto data = read_verified(*source_, chunk);
  if (!data) return std::move(data).error();
  // The message is a transposed chunk with one record, whatever the header's count is.
  auto decoded = transposed::decode(data->view(), 1, decoded_data_size(chunk), limits_);
  if (!decoded) return at_chunk(std::move(decoded).error(), chunk);
  return std::move(decoded->payload);
}

Result<std::shared_ptr<const Chunk>> RiegeliContainer::decode_by_parts(const ChunkInfo& chunk) const {
  if (type_of(chunk.kind) != ChunkType::kSimple) return std::shared_ptr<const Chunk>{};
  if (auto allowed = check_type(chunk); !allowed) return std::move(allowed).error();
  if (!chunk.decoded_size) return too_large(chunk);
  return simple_by_parts(source_, chunk, limits_);
}

Result<std::vector<Attribute>> RiegeliContainer::attributes(const ChunkInfo*) const {
  auto chunk = metadata_chunk(framing_);
  if (!chunk) return std::move(chunk).error();
  if (!*chunk) return std::vector<Attribute>{};
  if (auto allowed = check_decodable(**chunk); !allowed) return std::move(allowed).error();
  auto message = decode_metadata(**chunk);
  if (!message) return std::move(message).error();
  auto attributes = parse_metadata(message->view(), limits_);
  if (!attributes) return at_chunk(std::move(attributes).error(), **chunk);
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
        if (attribute.key == kRecordTypeKey) described.type = std::move(attribute.value);
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
  const auto described = this->described();
  if (!described) return described.error();
  return (*described)->descriptors;
}

// A stated record type is always a message type.
std::string_view RiegeliContainer::record_media_type(const std::vector<Attribute>& attributes) const {
  const bool is_stated = std::ranges::find(attributes, kRecordTypeKey, &Attribute::key) != attributes.end();
  return is_stated ? "application/x-protobuf" : "";
}

}  // namespace recordfs::riegeli
