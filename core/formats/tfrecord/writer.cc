#include "core/formats/tfrecord/writer.h"

#include <algorithm>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "core/codec/codec.h"
#include "core/formats/tfrecord/wire.h"

namespace recordfs::tfrecord {
namespace {

constexpr std::uint64_t kEncodedSize = 256u << 10;  // bytes of records that are encoded at once

class PlainWriter final : public RecordWriter {
 public:
  PlainWriter(ByteSink& sink, std::uint64_t chunk_size) : sink_(sink), chunk_size_(chunk_size) {}

  Result<EncodedRecords> encode(const RequestContext& context, std::span<const Bytes> records) const override {
    EncodedRecords encoded{.records = records.size()};
    for (const Bytes record : records) encoded.decoded_size += record.size();
    const std::uint64_t size = encoded.decoded_size + kFrameSize * records.size();
    TRY(context.reserve(size));
    encoded.bytes.reserve(size);
    for (const Bytes record : records) append_record(encoded.bytes, record);
    return encoded;
  }

  Result<void> append(const RequestContext& /*context*/, const EncodedRecords& encoded) override {
    return sink_.write(as_bytes(encoded.bytes));
  }

  // A chunk is its records with their frames, and nothing else.
  Result<bool> append_stored(const RequestContext& context, const Source& source, const ChunkInfo& chunk) override {
    TRY(copy_stored(context, source, chunk.begin, chunk.end, sink_));
    return true;
  }

  Result<void> finish(const RequestContext& /*context*/) override { return {}; }
  std::uint64_t chunk_size() const override { return chunk_size_; }

 private:
  ByteSink& sink_;
  const std::uint64_t chunk_size_;
};

Result<std::unique_ptr<RecordWriter>> open_writer(const RequestContext& /*context*/, ByteSink& sink,
                                                  const WriterOptions& options) {
  if (options.trailer || !options.metadata.empty() || !options.record_type.empty() || options.descriptors) {
    return Error{.code = Code::kUnsupported, .detail = "a TFRecord file has no metadata"};
  }
  const std::uint64_t chunk_size = options.chunk_size == 0 ? kEncodedSize : options.chunk_size;
  if (options.codec.empty() || options.codec == to_string(CodecId::kNone)) {
    return std::unique_ptr<RecordWriter>(std::make_unique<PlainWriter>(sink, chunk_size));
  }
  return Error{.code = Code::kUnsupported,
               .detail = fmt::format("TFRecord files are not compressed with {}", options.codec)};
}

Result<WriterOptions> like(const RequestContext& /*context*/, const Container& container, const Source& /*source*/,
                           std::vector<std::string>& /*lost*/) {
  WriterOptions options;
  options.codec = std::get<std::string>(container.traits().facts.front().value);
  return options;
}

}  // namespace

const FileWriter kWriter{.format = "tfrecord", .open = open_writer, .like = like};

}  // namespace recordfs::tfrecord
