#include "core/formats/recordio/writer.h"

#include <algorithm>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "core/base/parse_number.h"
#include "core/formats/recordio/current/chunk_frames.h"
#include "core/formats/recordio/current/header.h"
#include "core/formats/recordio/current/stored.h"
#include "core/formats/recordio/current/transform.h"
#include "core/formats/recordio/legacy/container.h"
#include "core/formats/recordio/table.h"

namespace recordfs::recordio {
namespace {

constexpr std::uint64_t kEncodedItems = 1u << 20;  // bytes of a chunk

// WriterOptions::stored_layout for the legacy format.
constexpr std::string_view kLegacy = "legacy";

std::uint64_t sum_of_sizes(std::span<const Bytes> records) {
  std::uint64_t sum = 0;
  for (const Bytes record : records) sum += record.size();
  return sum;
}

// How a file of the current format is written.
struct CurrentForm {
  std::string header;  // the item of the header chunk
  Transform transform;
  std::vector<std::optional<int>> levels;  // of its transformers
  std::optional<std::string> trailer{};
  std::uint64_t chunk_size = kEncodedItems;
};

class CurrentWriter final : public RecordWriter {
 public:
  CurrentWriter(ByteSink& sink, CurrentForm form) : sink_(sink), form_(std::move(form)) {}

  Result<EncodedRecords> encode(const RequestContext& context, std::span<const Bytes> records) const override {
    EncodedRecords encoded{.records = records.size(), .decoded_size = sum_of_sizes(records)};
    TRY(context.reserve(encoded.decoded_size));
    ASSIGN_OR_RETURN(encoded.bytes, frames_of_records(Kind::kBody, records));
    return encoded;
  }

  Result<void> append(const RequestContext& /*context*/, const EncodedRecords& encoded) override {
    TRY(write_header());
    return sink_.write(as_bytes(encoded.bytes));
  }

  bool can_append_stored(const ChunkInfo& chunk) const override {
    const Frames frames = frames_of(chunk);
    return chunk.kind.as<Kind>() == Kind::kBody && chunk.codec == form_.transform.word() && !frames.is_cut() &&
           chunk.end - chunk.begin == frames.there * kFrameSize;
  }
  Result<void> append_stored(const RequestContext& context, const Source& source, const ChunkInfo& chunk) override {
    TRY(write_header());
    return copy_stored(context, source, chunk.begin, chunk.end, sink_);
  }

  Result<void> finish(const RequestContext& /*context*/) override {
    TRY(write_header());
    if (!form_.trailer) return {};
    const Bytes item = as_bytes(*form_.trailer);
    ASSIGN_OR_RETURN(const auto frames, frames_of_records(Kind::kTrailer, std::span(&item, 1)));
    return sink_.write(as_bytes(frames));
  }

  std::uint64_t chunk_size() const override { return form_.chunk_size; }

 private:
  Result<std::string> frames_of_records(Kind kind, std::span<const Bytes> records) const {
    std::string content;
    append_content(content, records);
    ASSIGN_OR_RETURN(const auto stored, form_.transform.apply(std::move(content), form_.levels));
    std::string frames;
    append_frames(frames, kind, as_bytes(stored));
    return frames;
  }

  // The header is never transformed.
  Result<void> write_header() {
    if (std::exchange(has_header_, true)) return {};
    const Bytes item = as_bytes(form_.header);
    std::string content;
    append_content(content, std::span(&item, 1));
    std::string frames;
    append_frames(frames, Kind::kHeader, as_bytes(content));
    return sink_.write(as_bytes(frames));
  }

  ByteSink& sink_;
  const CurrentForm form_;
  bool has_header_ = false;
};

// Writes unpacked records, and copies packed ones.
class LegacyWriter final : public RecordWriter {
 public:
  explicit LegacyWriter(ByteSink& sink) : sink_(sink) {}

  Result<EncodedRecords> encode(const RequestContext& context, std::span<const Bytes> records) const override {
    EncodedRecords encoded{.records = records.size(), .decoded_size = sum_of_sizes(records)};
    TRY(context.reserve(encoded.decoded_size));
    for (const Bytes record : records) {
      if (record.size() > legacy::kLongestPayload) {
        return Error{.code = Code::kLimit, .detail = fmt::format("a record of {} bytes is too long", record.size())};
      }
      legacy::append_record_header(encoded.bytes, {.is_packed = false, .length = record.size()});
      encoded.bytes += as_text(record);
    }
    return encoded;
  }

  Result<void> append(const RequestContext& /*context*/, const EncodedRecords& encoded) override {
    return sink_.write(as_bytes(encoded.bytes));
  }
  bool can_append_stored(const ChunkInfo& /*chunk*/) const override { return true; }
  Result<void> append_stored(const RequestContext& context, const Source& source, const ChunkInfo& chunk) override {
    return copy_stored(context, source, chunk.begin, chunk.end, sink_);
  }
  Result<void> finish(const RequestContext& /*context*/) override { return {}; }
  std::uint64_t chunk_size() const override { return kEncodedItems; }

 private:
  ByteSink& sink_;
};

bool is_trailer_flag(const Attribute& attribute) { return attribute.key == "trailer"; }

// Makes the metadata say whether there is a trailer, as readers need it.
std::vector<Attribute> with_trailer_flag(std::vector<Attribute> metadata, bool has_trailer) {
  const auto flag = std::ranges::find_if(metadata, is_trailer_flag);
  const bool is_declared = flag != metadata.end() && flag->type == "bool" && flag->value == "true";
  if (is_declared == has_trailer) return metadata;
  Attribute wanted{.key = "trailer", .type = "bool", .value = has_trailer ? "true" : "false"};
  if (flag == metadata.end()) {
    metadata.push_back(std::move(wanted));
  } else {
    *flag = std::move(wanted);
  }
  return metadata;
}

// Returns the metadata with the transformer that a codec is, unless it names some.
std::vector<Attribute> with_transformer(std::vector<Attribute> metadata, const WriterOptions& options) {
  const bool has_one = std::ranges::any_of(metadata, [](const Attribute& one) { return one.key == "transformer"; });
  if (has_one || options.codec.empty() || options.codec == to_string(CodecId::kNone)) return metadata;
  std::string name = options.codec;
  if (options.level) name += fmt::format(" {}", *options.level);
  metadata.push_back({.key = "transformer", .type = "string", .value = std::move(name)});
  return metadata;
}

Result<std::unique_ptr<RecordWriter>> open_writer(const RequestContext& /*context*/, ByteSink& sink,
                                                  const WriterOptions& options) {
  if (!options.record_type.empty() || options.descriptors) {
    return Error{.code = Code::kUnsupported, .detail = "a recordio file has no descriptors"};
  }
  if (options.stored_layout == kLegacy) return std::unique_ptr<RecordWriter>(std::make_unique<LegacyWriter>(sink));
  const auto metadata = with_trailer_flag(with_transformer(options.metadata, options), options.trailer.has_value());
  CurrentForm form{.header = {}, .transform = {}, .levels = {}, .trailer = options.trailer};
  ASSIGN_OR_RETURN(form.header, header_item(metadata));
  std::vector<std::string> names;
  for (const Attribute& attribute : metadata) {
    if (attribute.key != "transformer") continue;
    names.push_back(attribute.value);
    form.levels.push_back(parse_number<int>(std::string_view(names.back()).substr(names.back().find(' ') + 1)));
  }
  form.transform = Transform::from_names(names);
  if (form.transform.unsupported() != nullptr) return *form.transform.unsupported();
  if (options.chunk_size != 0) form.chunk_size = options.chunk_size;
  return std::unique_ptr<RecordWriter>(std::make_unique<CurrentWriter>(sink, std::move(form)));
}

// Returns whether a failure means that something is lost; otherwise it may pass.
template <class Value>
Result<bool> is_readable(const Result<Value>& result) {
  if (!result && !is_permanent(result.error().code)) return result.error();
  return result.has_value();
}

Result<WriterOptions> like(const RequestContext& context, const Container& container, const Source& /*source*/) {
  WriterOptions options;
  const auto& facts = container.traits().facts;
  const bool is_legacy = std::ranges::any_of(facts, [](const Fact& fact) {
    return fact.name == "version" && fact.value == decltype(fact.value)(std::string(kLegacy));
  });
  if (is_legacy) {
    options.stored_layout = kLegacy;
    return options;
  }
  if (container.trailer() != nullptr) {
    const auto trailer = (*container.trailer())(context);
    ASSIGN_OR_RETURN(const auto has_trailer, is_readable(trailer));
    if (has_trailer) options.trailer = std::string(as_text(trailer->view()));
  }
  auto metadata = container.metadata()->attributes(context, nullptr);
  ASSIGN_OR_RETURN(const auto has_metadata, is_readable(metadata));
  if (has_metadata) options.metadata = std::move(*metadata);
  options.metadata = with_trailer_flag(std::move(options.metadata), options.trailer.has_value());
  return options;
}

}  // namespace

const FileWriter kWriter{.format = "recordio", .open = open_writer, .like = like};

}  // namespace recordfs::recordio
