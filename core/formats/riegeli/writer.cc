#include "core/formats/riegeli/writer.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "core/formats/riegeli/chunk_writer.h"
#include "core/formats/riegeli/encode.h"
#include "core/formats/riegeli/metadata.h"
#include "core/formats/riegeli/stored.h"

namespace recordfs::riegeli {
namespace {

// The sizes of chunks by default, as of the reference writer: chunks that are not compressed are small, so that one
// record costs little to read.
constexpr std::uint64_t kCompressedChunkSize = 1u << 20;
constexpr std::uint64_t kPlainChunkSize = 4u << 10;

class RiegeliWriter final : public RecordWriter {
 public:
  // `metadata`: the complete chunk; empty: none.
  RiegeliWriter(ByteSink& sink, const Compression& compression, std::uint64_t chunk_size, std::string metadata)
      : chunks_(sink), compression_(compression), chunk_size_(chunk_size), metadata_(std::move(metadata)) {}

  Result<EncodedRecords> encode(const RequestContext& context, std::span<const Bytes> records) const override {
    EncodedRecords encoded{.records = records.size()};
    for (const Bytes record : records) encoded.decoded_size += record.size();
    TRY(append_simple_chunk(context, encoded.bytes, compression_, records));
    return encoded;
  }

  Result<void> append(const RequestContext& /*context*/, const EncodedRecords& encoded) override {
    TRY(begin_file());
    return chunks_.append(as_bytes(encoded.bytes));
  }

  // Readers take chunks of all codecs in one file. Of a chunk of another type, the type is unknown.
  bool can_append_stored(const ChunkInfo& chunk) const override {
    return chunk.kind.as<ChunkType>() != ChunkType::kUnknown && keeps_type_rules(header_of(chunk));
  }
  // The file has a signature and metadata of its own, and padding means nothing.
  Result<void> append_stored(const RequestContext& context, const Source& source, const ChunkInfo& chunk) override {
    TRY(begin_file());
    const auto type = chunk.kind.as<ChunkType>();
    const bool has_records = type == ChunkType::kSimple || type == ChunkType::kTransposed;
    return has_records ? chunks_.copy(context, source, chunk) : Result<void>();
  }

  Result<void> finish(const RequestContext& /*context*/) override { return begin_file(); }
  std::uint64_t chunk_size() const override { return chunk_size_; }

 private:
  Result<void> begin_file() {
    if (chunks_.position() > 0) return {};
    TRY(chunks_.append_signature());
    return metadata_.empty() ? Result<void>() : chunks_.append(as_bytes(metadata_));
  }

  ChunkWriter chunks_;
  const Compression compression_;
  const std::uint64_t chunk_size_;
  const std::string metadata_;
};

Result<std::unique_ptr<RecordWriter>> open_writer(const RequestContext& /*context*/, ByteSink& sink,
                                                  const WriterOptions& options) {
  if (options.trailer) return Error{.code = Code::kUnsupported, .detail = "a Riegeli file has no trailer"};
  ASSIGN_OR_RETURN(const auto compression, compression_of(options));
  ASSIGN_OR_RETURN(auto metadata, metadata_chunk_of(options, compression));
  const bool is_plain = compression.codec == CodecId::kNone;
  const std::uint64_t usual_size = is_plain ? kPlainChunkSize : kCompressedChunkSize;
  const std::uint64_t chunk_size = options.chunk_size == 0 ? usual_size : options.chunk_size;
  return std::unique_ptr<RecordWriter>(
      std::make_unique<RiegeliWriter>(sink, compression, chunk_size, std::move(metadata)));
}

Result<WriterOptions> like(const RequestContext& context, const Container& container, const Source& source) {
  WriterOptions options;
  options.codec = codec_in(container);
  ASSIGN_OR_RETURN(options.stored_metadata, stored_metadata_chunk(context, container, source));
  return options;
}

}  // namespace

Result<Compression> compression_of(const WriterOptions& options) {
  Compression compression{.level = options.level};
  if (!options.codec.empty()) {
    ASSIGN_OR_RETURN(compression.codec, writable_codec(options.codec));
  }
  return compression;
}

Result<std::string> metadata_chunk_of(const WriterOptions& options, const Compression& compression) {
  if (!options.stored_metadata.empty()) return options.stored_metadata;
  ASSIGN_OR_RETURN(const auto message, encode_metadata(options));
  std::string chunk;
  if (!message.empty()) TRY(append_metadata_chunk(chunk, compression, as_bytes(message)));
  return chunk;
}

std::string codec_in(const Container& container) {
  for (const Fact& fact : container.traits().facts) {
    const auto* const codec = std::get_if<std::string>(&fact.value);
    if (fact.name == "codec" && codec != nullptr && writable_codec(*codec)) return *codec;
  }
  return {};
}

Result<std::string> stored_metadata_chunk(const RequestContext& context, const Container& container,
                                          const Source& source) {
  const Position begin = file_signature().size();
  if (begin >= source.size()) return std::string();
  ASSIGN_OR_RETURN(const auto step, container.scan(context, {begin, 0}));
  if (!step.chunk || step.chunk->begin != begin || step.chunk->kind.as<ChunkType>() != ChunkType::kMetadata ||
      step.chunk->stored_size > Limits{}.metadata_bytes) {
    return std::string();
  }
  // Other metadata are lost, although their hash is right: they could not be read from the new file, either.
  if (const Metadata* const metadata = container.metadata(); metadata != nullptr) {
    const auto attributes = metadata->attributes(context, nullptr);
    if (!attributes && is_permanent(attributes.error().code)) return std::string();
    if (!attributes) return attributes.error();
  }
  auto data = read_verified(context, source, *step.chunk);
  if (!data) return is_permanent(data.error().code) ? Result<std::string>(std::string()) : std::move(data).error();
  std::string chunk;
  append_chunk_header(chunk, header_of(*step.chunk));
  chunk += as_text(data->view());
  return chunk;
}

const FileWriter kWriter{.format = "riegeli", .open = open_writer, .like = like};

}  // namespace recordfs::riegeli
