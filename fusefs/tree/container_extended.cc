// ContainerTree's extended attributes (-o xattr).
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "fusefs/tree/container_tree.h"
#include "fusefs/tree/generated_files.h"
#include "fusefs/tree/media_type.h"

namespace recordfs {
namespace {

constexpr std::string_view kOrdinal = "user.recordfs.ordinal";
constexpr std::string_view kChunkBegin = "user.recordfs.chunk";
constexpr std::string_view kIndexInChunk = "user.recordfs.index";
constexpr std::string_view kOffset = "user.recordfs.offset";
constexpr std::string_view kCodec = "user.recordfs.codec";
constexpr std::string_view kChecksum = "user.recordfs.checksum";
constexpr std::string_view kMediaType = "user.mime_type";

constexpr std::array kOfRecords = {kOrdinal, kChunkBegin, kIndexInChunk, kOffset, kCodec, kChecksum, kMediaType};
constexpr std::array kOfChunks = {kCodec, kChecksum};
constexpr std::array kOfJson = {kMediaType};

constexpr std::string_view kProtobuf = "application/x-protobuf";
constexpr std::string_view kJson = "application/json";
constexpr std::string_view kJsonLines = "application/x-ndjson";

}  // namespace

std::span<const std::string_view> ContainerTree::extended_names(Node node) {
  if (node.kind == NodeKind::kRecord) return kOfRecords;
  if (node.kind == NodeKind::kChunk) return kOfChunks;
  if (node.kind == NodeKind::kRecordJson || node.kind == NodeKind::kChunkJsonl) return kOfJson;
  return {};
}

Result<std::string> ContainerTree::extended_attribute(Node node, std::string_view name) const {
  if (std::ranges::count(extended_names(node), name) == 0) {
    return Error{.code = Code::kNotFound, .detail = "no such attribute"};
  }
  if (node.kind == NodeKind::kRecordJson) return std::string(kJson);
  if (node.kind == NodeKind::kChunkJsonl) return std::string(kJsonLines);
  if (node.kind == NodeKind::kRecord) {
    ASSIGN_OR_RETURN(const auto record, store_->records().record_at(node.value));
    return extended_of_record(name, record);
  }
  ASSIGN_OR_RETURN(const auto chunk, store_->index().chunk_at(node.value));
  return name == kCodec ? std::string(chunk.codec) : checksum_word(chunk);
}

Result<std::string> ContainerTree::extended_of_record(std::string_view name, const RecordRef& record) const {
  const ChunkInfo& chunk = record.chunk;
  if (name == kChunkBegin) return fmt::format("{}", chunk.begin);
  if (name == kIndexInChunk) return fmt::format("{}", record.index);
  if (name == kCodec) return std::string(chunk.codec);
  if (name == kChecksum) return checksum_word(chunk);
  if (name == kMediaType) return media_type_of(record);
  if (name == kOrdinal) {
    ASSIGN_OR_RETURN(const auto place, store_->index().place_of(chunk));
    return fmt::format("{}", place.before.records + record.index);
  }
  ASSIGN_OR_RETURN(const auto layout, store_->chunks().layout(chunk));
  if (record.index >= layout->records()) return Error{.code = Code::kNotFound, .detail = "no such record"};
  return fmt::format("{}", layout->extent(record.index).begin);
}

Result<std::string> ContainerTree::checksum_word(const ChunkInfo& chunk) const {
  auto known = cache_.checksums.get({snapshot_, chunk.begin}, [&]() -> Result<std::shared_ptr<const CachedState>> {
    ASSIGN_OR_RETURN(const auto word, checksum_of(*store_, chunk));
    return std::make_shared<const CachedState>(CachedState{word});
  });
  if (!known) {
    store_->log().report(known.error());
    return std::move(known).error();
  }
  return std::string((*known)->word);
}

// Returns the media type that the metadata declares for all records. Returns an empty view if the metadata is
// unreadable or not available yet.
std::string_view ContainerTree::stated_media_type() const {
  const Metadata* const metadata = store_->metadata();
  return metadata == nullptr ? std::string_view{} : metadata->record_media_type().value_or(std::string_view{});
}

Result<std::string> ContainerTree::media_type_of(const RecordRef& record) const {
  if (cache_.record_suffix == ".pb") return std::string(kProtobuf);
  if (const std::string_view stated = stated_media_type(); !stated.empty()) return std::string(stated);
  ASSIGN_OR_RETURN(const auto first, store_->records().read(record, 0, kBytesOfMediaType));
  return std::string(media_type(first.bytes, first.bytes.size() < kBytesOfMediaType));
}

}  // namespace recordfs
