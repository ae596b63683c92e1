#include "core/formats/array_record/writer.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/base/limits.h"
#include "core/formats/array_record/ending.h"
#include "core/formats/array_record/options.h"
#include "core/formats/riegeli/chunk_writer.h"
#include "core/formats/riegeli/encode.h"
#include "core/formats/riegeli/format.h"
#include "core/formats/riegeli/wire.h"
#include "core/formats/riegeli/writer.h"

namespace recordfs::array_record {
namespace {

// Decoded bytes that are encoded at once. A chunk has a number of records, and not of bytes.
constexpr std::uint64_t kEncodedSize = 1u << 20;

// More records of a group than any writer chooses. A footer that states more is not believed, because the records of a
// group are gathered in memory.
constexpr std::uint64_t kLargestGroup = 1u << 20;

// Records one after another.
class Records {
 public:
  void add(Bytes record) {
    bytes_ += as_text(record);
    ends_.push_back(bytes_.size());
  }
  std::uint64_t size() const { return ends_.size(); }
  std::uint64_t bytes() const { return bytes_.size(); }
  void clear() {
    bytes_.clear();
    ends_.clear();
  }

  std::vector<Bytes> views() const {
    std::vector<Bytes> views;
    views.reserve(ends_.size());
    std::uint64_t begin = 0;
    for (const std::uint64_t end : ends_) {
      views.push_back(as_bytes(bytes_).subspan(begin, end - begin));
      begin = end;
    }
    return views;
  }

 private:
  std::string bytes_;
  std::vector<std::uint64_t> ends_;
};

// Readers find a record by its ordinal divided by the group size, so each chunk but the last must have that many.
class ArrayRecordWriter final : public RecordWriter {
 public:
  // `metadata`: the complete chunk; empty: none.
  ArrayRecordWriter(ByteSink& sink, const riegeli::Compression& compression, FileOptions options, std::string metadata)
      : chunks_(sink), compression_(compression), options_(std::move(options)), metadata_(std::move(metadata)) {}

  // Chunks, if each has one record. Otherwise a chunk may also have records of other calls, so the records themselves.
  Result<EncodedRecords> encode(const RequestContext& context, std::span<const Bytes> records) const override {
    EncodedRecords encoded{.records = records.size()};
    for (const Bytes record : records) {
      encoded.decoded_size += record.size();
      if (options_.group_size == 1) {
        TRY(riegeli::append_simple_chunk(context, encoded.bytes, compression_, {&record, 1}));
        continue;
      }
      encoded.bytes += as_text(record);
      encoded.ends.push_back(encoded.bytes.size());
    }
    return encoded;
  }

  Result<void> append(const RequestContext& context, const EncodedRecords& encoded) override {
    Bytes rest = as_bytes(encoded.bytes);
    if (options_.group_size == 1) {
      while (!rest.empty()) {
        const auto header = riegeli::parse_chunk_header(rest.first(riegeli::kChunkHeaderSize));
        const std::uint64_t size = riegeli::kChunkHeaderSize + header.value_or(riegeli::ChunkHeader{}).data_size;
        TRY(append_chunk(rest.first(size)));
        rest = rest.subspan(size);
      }
      return {};
    }
    std::uint64_t begin = 0;
    for (const std::uint64_t end : encoded.ends) {
      TRY(add(context, rest.subspan(begin, end - begin)));
      begin = end;
    }
    return {};
  }

  bool can_append_stored(const ChunkInfo& chunk) const override {
    const auto type = chunk.kind.as<riegeli::ChunkType>();
    const bool has_records = type == riegeli::ChunkType::kSimple || type == riegeli::ChunkType::kTransposed;
    return has_records && chunk.records == options_.group_size && chunk.decoded_size;
  }
  Result<void> append_stored(const RequestContext& context, const Source& source, const ChunkInfo& chunk) override {
    if (pending_.size() > 0) return add_records_of(context, source, chunk);
    TRY(begin_chunk(*chunk.records, *chunk.decoded_size));
    TRY(chunks_.copy(context, source, chunk));
    return end_chunk();
  }

  Result<void> finish(const RequestContext& context) override {
    TRY(flush_group(context));
    TRY(begin_file());
    const Position footer = chunks_.position();
    TRY(append_footer(context));
    TRY(chunks_.pad_to_block());
    const std::string postscript = postscript_of(footer);
    const std::vector<Bytes> copies(3, as_bytes(postscript));
    std::string chunk;
    TRY(riegeli::append_simple_chunk(context, chunk, {.codec = CodecId::kNone}, copies));
    TRY(chunks_.append(as_bytes(chunk)));
    return chunks_.pad_to_block();
  }

  std::uint64_t chunk_size() const override { return kEncodedSize; }

 private:
  Result<void> begin_file() {
    if (chunks_.position() > 0) return {};
    TRY(chunks_.append_signature());
    return metadata_.empty() ? Result<void>() : chunks_.append(as_bytes(metadata_));
  }

  // Adds a chunk to the index.
  Result<void> begin_chunk(std::uint64_t records, std::uint64_t decoded_size) {
    TRY(begin_file());
    if (index_.size() >= Limits{}.records_per_chunk - 1) {
      return Error{.code = Code::kLimit,
                   .detail = fmt::format("more than {} chunks in one ArrayRecord file", index_.size())};
    }
    std::string entry;
    append_entry(entry, {.begin = chunks_.position(), .records = records}, decoded_size);
    index_.add(as_bytes(entry));
    records_ += records;
    return {};
  }
  Result<void> end_chunk() { return options_.is_padded ? chunks_.pad_to_block() : Result<void>(); }

  Result<void> append_chunk(Bytes chunk) {
    const auto header = riegeli::parse_chunk_header(chunk.first(riegeli::kChunkHeaderSize));
    TRY(begin_chunk(header->num_records, header->decoded_data_size));
    TRY(chunks_.append(chunk));
    return end_chunk();
  }

  // Adds a record to the chunk that is not complete.
  Result<void> add(const RequestContext& context, Bytes record) {
    pending_.add(record);
    if (pending_.bytes() > Limits{}.decoded_chunk) {
      return Error{.code = Code::kLimit,
                   .detail = fmt::format("{} records in a chunk of {} bytes", options_.group_size, pending_.bytes())};
    }
    return pending_.size() == options_.group_size ? flush_group(context) : Result<void>();
  }
  Result<void> flush_group(const RequestContext& context) {
    if (pending_.size() == 0) return {};
    std::string chunk;
    TRY(riegeli::append_simple_chunk(context, chunk, compression_, pending_.views()));
    pending_.clear();
    return append_chunk(as_bytes(chunk));
  }

  Result<void> add_records_of(const RequestContext& context, const Source& source, const ChunkInfo& chunk) {
    const std::shared_ptr<const Source> borrowed(std::shared_ptr<const Source>(), &source);
    ASSIGN_OR_RETURN(const auto riegeli, riegeli::open(context, borrowed, Limits{}));
    ASSIGN_OR_RETURN(const auto decoded, riegeli->decode(context, chunk));
    for (std::uint64_t i = 0; i < decoded->layout().records(); ++i) {
      const Extent extent = decoded->layout().extent(i);
      ASSIGN_OR_RETURN(const auto record, decoded->read(context, extent.begin, extent.size));
      TRY(add(context, record.bytes));
    }
    return {};
  }

  Result<void> append_footer(const RequestContext& context) {
    const std::string head =
        to_record({.version = kVersion, .chunks = index_.size(), .records = records_, .writer_options = options_.text});
    std::vector<Bytes> records = index_.views();
    records.insert(records.begin(), as_bytes(head));
    std::string chunk;
    TRY(riegeli::append_simple_chunk(context, chunk, compression_, records));
    return chunks_.append(as_bytes(chunk));
  }

  riegeli::ChunkWriter chunks_;
  const riegeli::Compression compression_;
  const FileOptions options_;
  const std::string metadata_;
  Records index_;    // the entries of the footer: about 12 bytes each
  Records pending_;  // the chunk that is not complete, if chunks have several records
  std::uint64_t records_ = 0;
};

// WriterOptions::stored_metadata is the metadata chunk, and WriterOptions::stored_layout the text of the options, of
// which the group size follows from the first chunk.
Result<std::unique_ptr<RecordWriter>> open_writer(const RequestContext& /*context*/, ByteSink& sink,
                                                  const WriterOptions& options) {
  if (options.trailer) return Error{.code = Code::kUnsupported, .detail = "an ArrayRecord file has no trailer"};
  ASSIGN_OR_RETURN(const auto compression, riegeli::compression_of(options));
  FileOptions file = default_options(compression);
  if (!options.stored_layout.empty()) file = parse_options(options.stored_layout);
  std::string metadata = options.stored_metadata;
  if (metadata.empty()) {
    ASSIGN_OR_RETURN(metadata, riegeli::metadata_chunk_of(options, compression));
  }
  return std::unique_ptr<RecordWriter>(
      std::make_unique<ArrayRecordWriter>(sink, compression, std::move(file), std::move(metadata)));
}

// Returns how many records the first chunk with records has; 0 if there is none.
Result<std::uint64_t> records_of_first_chunk(const RequestContext& context, const Container& container) {
  for (std::optional<ChunkKey> at = container.traits().first; at;) {
    ASSIGN_OR_RETURN(const auto step, container.scan(context, *at));
    if (step.chunk && step.chunk->records.value_or(0) > 0) return *step.chunk->records;
    at = step.next;
  }
  return std::uint64_t{0};
}

Result<WriterOptions> like(const RequestContext& context, const Container& container, const Source& source) {
  WriterOptions options;
  options.codec = riegeli::codec_in(container);
  ASSIGN_OR_RETURN(const auto ending, find_ending(context, source, Limits{}, EndingDetail::kIndex));
  ASSIGN_OR_RETURN(const auto compression, riegeli::compression_of(options));
  FileOptions file = default_options(compression);
  if (ending && !ending->head.writer_options.empty()) file = parse_options(ending->head.writer_options);
  // Readers take the group size from the first chunk, and not from the options.
  const bool has_index = ending && !ending->index.empty();
  std::uint64_t group_size = has_index ? ending->index.front().records : 0;
  if (!has_index || group_size > kLargestGroup) {
    ASSIGN_OR_RETURN(group_size, records_of_first_chunk(context, container));
  }
  if (group_size > 0) set_group_size(file, std::min(group_size, kLargestGroup));
  options.stored_layout = file.text;
  ASSIGN_OR_RETURN(options.stored_metadata, riegeli::stored_metadata_chunk(context, container, source));
  return options;
}

}  // namespace

const FileWriter kWriter{.format = "array-record", .open = open_writer, .like = like};

}  // namespace recordfs::array_record
