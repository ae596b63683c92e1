#include "core/formats/proio/writer.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/base/append.h"
#include "core/base/limits.h"
#include "core/base/protobuf.h"
#include "core/codec/compress.h"
#include "core/formats/proio/framing.h"
#include "core/formats/proio/header.h"
#include "core/formats/proio/payload.h"
#include "core/formats/proio/wire.h"

namespace recordfs::proio {
namespace {

using protobuf::append_field;
using protobuf::WireType;

constexpr std::uint64_t kBucketSize = 1u << 20;  // bytes of events that are encoded at once
constexpr std::uint32_t kVarintType = 0;

void append_number(std::string& out, std::uint32_t field, std::uint64_t value) {
  if (value == 0) return;
  protobuf::append_varint(out, field << 3 | kVarintType);
  protobuf::append_varint(out, value);
}

// Appends the magic and the header of a bucket. `items`: descriptors and metadata as fields of the header. Fails with
// kLimit.
Result<void> append_header(std::string& out, const BucketHeader& header, std::string_view items) {
  std::string message;
  append_number(message, header_field::kEvents, header.events);
  append_number(message, header_field::kBucketSize, header.stored);
  append_number(message, header_field::kCompression, header.compression);
  message += items;
  if (message.size() > std::numeric_limits<std::uint32_t>::max()) {
    return Error{.code = Code::kLimit, .detail = "the metadata do not fit the header of a bucket"};
  }
  out += as_text(kMagic);
  append_le(out, static_cast<std::uint32_t>(message.size()));
  out += message;
  return {};
}

// The header of a bucket of another stream.
struct StoredHeader {
  BucketHeader header{};
  bool is_intact = false;  // all items can be read, and the bucket is as the header says
};

// Fails as Source and `visit` do, and with kChanged.
Result<StoredHeader> read_stored(const RequestContext& context, const Source& source, const ChunkInfo& chunk,
                                 const ItemVisitor& visit = {}) {
  WindowedReader window(source, kHeaderWindow);
  ASSIGN_OR_RETURN(const auto reading, read_header(context, window, chunk.begin, Limits{}, visit));
  if (reading.verdict != HeaderReading::Verdict::kSound) {
    return Error{Code::kChanged, chunk.begin, "the header of the bucket has changed"};
  }
  StoredHeader stored;
  stored.header = reading.header;
  stored.is_intact = reading.bad.empty() && reading.header.stored == chunk.stored_size &&
                     reading.header.payload + reading.header.stored == chunk.end &&
                     reading.header.events == chunk.records;
  return stored;
}

// Returns the items of a stored header that can be read, as append_header() takes them. Fails like read_stored(), and
// with kLimit if they exceed the limits together.
Result<std::string> stored_items(const RequestContext& context, const Source& source, const ChunkInfo& chunk) {
  const std::uint64_t limit = Limits{}.metadata_bytes;
  std::string items;
  const auto add = [&](const HeaderItem& item) -> Result<void> {
    if (item.size > limit || items.size() > limit - item.size) {
      return Error{Code::kLimit, item.begin, "the metadata of the bucket exceed the limit"};
    }
    ASSIGN_OR_RETURN(const auto content, read_exactly(context, source, item.begin, item.size));
    append_field(items, item.field, as_text(content.view()));
    return {};
  };
  TRY(read_stored(context, source, chunk, add));
  return items;
}

class StreamWriter final : public RecordWriter {
 public:
  // `items`: of the first header.
  StreamWriter(ByteSink& sink, CodecId codec, std::optional<int> level, std::uint64_t chunk_size, std::string items)
      : sink_(sink), codec_(codec), level_(level), chunk_size_(chunk_size), items_(std::move(items)) {}

  Result<EncodedRecords> encode(const RequestContext& context, std::span<const Bytes> records) const override {
    EncodedRecords encoded{.records = records.size()};
    for (const Bytes record : records) {
      if (record.size() > std::numeric_limits<std::uint32_t>::max()) {
        return Error{.code = Code::kLimit, .detail = fmt::format("an event of {} bytes is too long", record.size())};
      }
      encoded.decoded_size += record.size();
    }
    const std::uint64_t size = encoded.decoded_size + kEventLengthSize * records.size();
    TRY(context.reserve(size));
    std::string payload;
    payload.reserve(size);
    for (const Bytes record : records) {
      append_le(payload, static_cast<std::uint32_t>(record.size()));
      payload += as_text(record);
    }
    TRY(compress(codec_, level_, as_bytes(payload), encoded.bytes));
    return encoded;
  }

  Result<void> append(const RequestContext& /*context*/, const EncodedRecords& encoded) override {
    TRY(write_header({.events = encoded.records,
                      .stored = encoded.bytes.size(),
                      .compression = codec_ == CodecId::kNone ? kCompressionNone : kCompressionGzip}));
    return sink_.write(as_bytes(encoded.bytes));
  }

  // Readers take buckets of any compression in one stream.
  bool can_append_stored(const ChunkInfo& chunk) const override { return chunk.records.has_value(); }

  Result<void> append_stored(const RequestContext& context, const Source& source, const ChunkInfo& chunk) override {
    TRY(write_items());
    ASSIGN_OR_RETURN(const auto stored, read_stored(context, source, chunk));
    if (stored.is_intact) return copy_stored(context, source, chunk.begin, chunk.end, sink_);
    // The header has a wrong size, or an item that cannot be read.
    BucketHeader header = stored.header;
    header.events = *chunk.records;
    header.stored = chunk.stored_size;
    if (header.compression == kCompressionNone) {
      ASSIGN_OR_RETURN(const auto run,
                       find_events(context, source, header.payload, chunk.stored_size, header.events, nullptr));
      header.stored = run.end;
    }
    ASSIGN_OR_RETURN(items_, stored_items(context, source, chunk));
    TRY(write_header(header));
    return copy_stored(context, source, header.payload, header.payload + header.stored, sink_);
  }

  // Metadata are in effect from their bucket on, whether its events can be read or not.
  Result<void> append_attributes(const RequestContext& context, const Source& source, const ChunkInfo& chunk) override {
    ASSIGN_OR_RETURN(const auto stored, read_stored(context, source, chunk));
    if (chunk.records == 0u && stored.is_intact) {
      TRY(write_items());
      return copy_stored(context, source, chunk.begin, chunk.end, sink_);
    }
    ASSIGN_OR_RETURN(const auto items, stored_items(context, source, chunk));
    if (items_.size() + items.size() > Limits{}.metadata_bytes) TRY(write_items());
    items_ += items;
    return {};
  }

  Result<void> finish(const RequestContext& /*context*/) override { return write_items(); }
  std::uint64_t chunk_size() const override { return chunk_size_; }

 private:
  // Writes a header with the items that are not written yet.
  Result<void> write_header(const BucketHeader& header) {
    std::string bytes;
    TRY(append_header(bytes, header, std::exchange(items_, {})));
    return sink_.write(as_bytes(bytes));
  }
  // Writes them as a bucket without events.
  Result<void> write_items() { return items_.empty() ? Result<void>() : write_header({}); }

  ByteSink& sink_;
  const CodecId codec_;
  const std::optional<int> level_;
  const std::uint64_t chunk_size_;
  std::string items_;
};

// Returns descriptors and metadata as fields of a header. Fails with kDamage if the descriptors are no valid set.
Result<std::string> items_of(const WriterOptions& options) {
  std::string items;
  if (options.descriptors != nullptr) {
    constexpr std::uint32_t kFileOfSet = 1;  // of FileDescriptorSet
    protobuf::MessageReader reader(as_bytes(*options.descriptors), Limits{}.nesting_depth);
    while (reader.next()) {
      if (!reader.field().is(kFileOfSet, WireType::kLengthDelimited)) continue;
      append_field(items, header_field::kFileDescriptor, as_text(reader.content()));
    }
    TRY(reader.finish());
  }
  for (const Attribute& attribute : options.metadata) {
    std::string entry;
    append_field(entry, map_field::kKey, attribute.key);
    append_field(entry, map_field::kValue, attribute.value);
    append_field(items, header_field::kMetadata, entry);
  }
  return items;
}

// The buckets of another stream bring its metadata, so `stored_metadata` serves comparisons only.
Result<std::unique_ptr<RecordWriter>> open_writer(const RequestContext& /*context*/, ByteSink& sink,
                                                  const WriterOptions& options) {
  if (options.trailer || !options.record_type.empty()) {
    return Error{.code = Code::kUnsupported, .detail = "a proio stream has no trailer, and no type of all events"};
  }
  const bool is_plain = options.codec == to_string(CodecId::kNone);
  if (!is_plain && !options.codec.empty() && options.codec != to_string(CodecId::kGzip)) {
    return Error{.code = Code::kUnsupported, .detail = fmt::format("no {} in new buckets", options.codec)};
  }
  ASSIGN_OR_RETURN(auto items,
                   options.stored_metadata.empty() ? items_of(options) : Result<std::string>(std::string()));
  return std::unique_ptr<RecordWriter>(
      std::make_unique<StreamWriter>(sink, is_plain ? CodecId::kNone : CodecId::kGzip, options.level,
                                     options.chunk_size == 0 ? kBucketSize : options.chunk_size, std::move(items)));
}

// Returns the metadata and descriptors in effect at the last bucket, in a form of this file.
Result<std::string> final_metadata(const RequestContext& context, const Container& container, const ChunkInfo& last) {
  const auto attributes = container.metadata()->attributes(context, &last);
  if (!attributes) {
    return is_permanent(attributes.error().code) ? Result<std::string>(std::string()) : attributes.error();
  }
  std::string text;
  for (const Attribute& attribute : *attributes) {
    append_field(text, map_field::kKey, attribute.key);
    append_field(text, map_field::kValue, attribute.value);
  }
  return text;
}

Result<WriterOptions> like(const RequestContext& context, const Container& container, const Source& /*source*/) {
  WriterOptions options;
  std::optional<ChunkInfo> last;
  for (std::optional<ChunkKey> at = container.traits().first; at;) {
    ASSIGN_OR_RETURN(const auto step, container.scan(context, *at));
    if (step.chunk && options.codec.empty()) options.codec = step.chunk->codec;
    if (step.chunk) last = step.chunk;
    at = step.next;
  }
  if (options.codec != to_string(CodecId::kNone)) options.codec.clear();
  if (last) {
    ASSIGN_OR_RETURN(options.stored_metadata, final_metadata(context, container, *last));
  }
  return options;
}

}  // namespace

const FileWriter kWriter{.format = "proio", .open = open_writer, .like = like};

}  // namespace recordfs::proio
