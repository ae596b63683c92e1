#include "core/formats/tfrecord/writer.h"

#include <algorithm>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "core/codec/codec.h"
#include "core/codec/compress.h"
#include "core/formats/tfrecord/wire.h"

namespace recordfs::tfrecord {
namespace {

constexpr std::uint64_t kEncodedSize = 256u << 10;  // bytes of records that are encoded at once

// Frames records, on any thread.
class FramingWriter : public RecordWriter {
 public:
  explicit FramingWriter(std::uint64_t chunk_size) : chunk_size_(chunk_size) {}

  Result<EncodedRecords> encode(const RequestContext& context, std::span<const Bytes> records) const override {
    EncodedRecords encoded{.records = records.size()};
    for (const Bytes record : records) encoded.decoded_size += record.size();
    const std::uint64_t size = encoded.decoded_size + kFrameSize * records.size();
    TRY(context.reserve(size));
    encoded.bytes.reserve(size);
    for (const Bytes record : records) append_record(encoded.bytes, record);
    return encoded;
  }

  std::uint64_t chunk_size() const override { return chunk_size_; }

 private:
  const std::uint64_t chunk_size_;
};

class PlainWriter final : public FramingWriter {
 public:
  PlainWriter(ByteSink& sink, std::uint64_t chunk_size) : FramingWriter(chunk_size), sink_(sink) {}

  Result<void> append(const RequestContext& /*context*/, const EncodedRecords& encoded) override {
    return sink_.write(as_bytes(encoded.bytes));
  }

  // A chunk is its records with their frames, and nothing else.
  bool can_append_stored(const ChunkInfo& chunk) const override { return chunk.codec == to_string(CodecId::kNone); }
  Result<void> append_stored(const RequestContext& context, const Source& source, const ChunkInfo& chunk) override {
    return copy_stored(context, source, chunk.begin, chunk.end, sink_);
  }

  Result<void> finish(const RequestContext& /*context*/) override { return {}; }

 private:
  ByteSink& sink_;
};

// The whole file is one stream, as TensorFlow writes it.
class CompressedWriter final : public FramingWriter {
 public:
  CompressedWriter(ByteSink& sink, std::uint64_t chunk_size, std::unique_ptr<CompressStream> stream)
      : FramingWriter(chunk_size), sink_(sink), stream_(std::move(stream)) {}

  Result<void> append(const RequestContext& /*context*/, const EncodedRecords& encoded) override {
    TRY(stream_->append(as_bytes(encoded.bytes), ready_));
    return write_ready();
  }

  Result<void> finish(const RequestContext& /*context*/) override {
    TRY(stream_->finish(ready_));
    return write_ready();
  }

 private:
  Result<void> write_ready() {
    TRY(sink_.write(as_bytes(ready_)));
    ready_.clear();
    return {};
  }

  ByteSink& sink_;
  const std::unique_ptr<CompressStream> stream_;
  std::string ready_;  // compressed bytes that the sink does not have yet
};

Result<std::unique_ptr<RecordWriter>> open_writer(const RequestContext& /*context*/, ByteSink& sink,
                                                  const WriterOptions& options) {
  if (options.trailer || !options.stored_metadata.empty() || !options.metadata.empty() ||
      !options.record_type.empty() || options.descriptors) {
    return Error{.code = Code::kUnsupported, .detail = "a TFRecord file has no metadata"};
  }
  const std::uint64_t chunk_size = options.chunk_size == 0 ? kEncodedSize : options.chunk_size;
  if (options.codec.empty() || options.codec == to_string(CodecId::kNone)) {
    return std::unique_ptr<RecordWriter>(std::make_unique<PlainWriter>(sink, chunk_size));
  }
  for (const CodecId codec : {CodecId::kGzip, CodecId::kZlib}) {
    if (options.codec != to_string(codec)) continue;
    ASSIGN_OR_RETURN(auto stream, open_compressor(codec, options.level));
    return std::unique_ptr<RecordWriter>(std::make_unique<CompressedWriter>(sink, chunk_size, std::move(stream)));
  }
  return Error{.code = Code::kUnsupported,
               .detail = fmt::format("TFRecord files are not compressed with {}", options.codec)};
}

Result<WriterOptions> like(const RequestContext& /*context*/, const Container& container, const Source& /*source*/) {
  WriterOptions options;
  options.codec = std::get<std::string>(container.traits().facts.front().value);
  return options;
}

}  // namespace

const FileWriter kWriter{.format = "tfrecord",
                         .open = open_writer,
                         .like = like,
                         .frame = RecordFrame{.before = kHeaderSize, .after = kFooterSize, .append = append_record}};

}  // namespace recordfs::tfrecord
