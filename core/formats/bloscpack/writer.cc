#include "core/formats/bloscpack/writer.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/base/append.h"
#include "core/base/cursor.h"
#include "core/codec/blosc.h"
#include "core/formats/bloscpack/offsets.h"
#include "core/formats/bloscpack/order.h"
#include "core/formats/bloscpack/survey.h"
#include "core/formats/bloscpack/wire.h"

namespace recordfs::bloscpack {
namespace {

constexpr std::uint64_t kChunkSize = 1u << 20;         // bytes, as of the reference
constexpr std::uint32_t kPlainBlockSize = 256u << 10;  // bytes of an inner block of an uncompressed chunk
constexpr std::uint8_t kPlainFlag = 0x02;
constexpr std::int32_t kUnknownSize = -1;
constexpr std::uint64_t kUnsetPiece = 64u << 10;  // bytes

// The header of a file, without the fields that depend on its chunks.
struct Form {
  Dialect dialect = Dialect::kVersion3;  // or kVariable
  std::uint8_t version = 3;              // as stored, of kVariable
  std::optional<DigestId> digest{};
  std::uint8_t typesize = 0;
  bool has_offsets = true;
  std::string metadata{};       // the section as it is stored
  std::uint64_t offsets = 0;    // the room of the section, in offsets; there may be fewer chunks
  std::int32_t chunk_size = 0;  // of a file without chunks, or with only one
  std::int32_t last_chunk = 0;  // of a file without chunks

  FileHeader header() const {
    return {.dialect = dialect,
            .version = version,
            .has_offsets = has_offsets,
            .has_metadata = !metadata.empty(),
            .digest = digest,
            .typesize = typesize,
            .metadata_size = dialect == Dialect::kVariable ? static_cast<std::int32_t>(metadata.size()) : 0};
  }
};

// Form as WriterOptions::stored_metadata, which two files share whose chunks differ, and stored_layout.
std::string stored_metadata_of(const Form& form) {
  const std::string header = file_header_bytes(form.header());
  return header.substr(0, kChunkSizeField) + form.metadata;
}
std::string stored_layout_of(const Form& form) {
  std::string layout;
  append_le(layout, form.offsets);
  append_le(layout, static_cast<std::uint32_t>(form.chunk_size));
  append_le(layout, static_cast<std::uint32_t>(form.last_chunk));
  return layout;
}
Result<Form> form_of(const WriterOptions& options) {
  Form form{.has_offsets = false};
  std::string head = options.stored_metadata.substr(0, kChunkSizeField);
  head.resize(kLargestHeader);
  ASSIGN_OR_RETURN(const auto header, parse_file_header(as_bytes(head), kLargestHeader));
  form.dialect = header.dialect;
  form.version = header.version;
  form.digest = header.digest;
  form.typesize = header.typesize;
  form.has_offsets = header.has_offsets;
  form.metadata = options.stored_metadata.substr(kChunkSizeField);
  Cursor layout(as_bytes(options.stored_layout));
  form.offsets = layout.u64_le();
  form.chunk_size = static_cast<std::int32_t>(layout.u32_le());
  form.last_chunk = static_cast<std::int32_t>(layout.u32_le());
  if (!layout.ok()) return Error{.code = Code::kUnsupported, .detail = "the layout of the file is not known"};
  return form;
}

class BloscpackWriter final : public RecordWriter {
 public:
  BloscpackWriter(ByteSink& sink, Form form) : sink_(sink), form_(std::move(form)) {}

  // Each record is a chunk of its own, without compression.
  Result<EncodedRecords> encode(const RequestContext& context, std::span<const Bytes> records) const override {
    EncodedRecords encoded{.records = records.size()};
    for (const Bytes record : records) {
      if (record.size() > kBloscLargest) {
        return Error{.code = Code::kLimit, .detail = fmt::format("a record of {} bytes is too long", record.size())};
      }
      encoded.decoded_size += record.size();
    }
    TRY(context.reserve(encoded.decoded_size));
    for (const Bytes record : records) append_plain_chunk(encoded.bytes, record);
    return encoded;
  }

  Result<void> append(const RequestContext& /*context*/, const EncodedRecords& encoded) override {
    TRY(begin_file());
    for (Bytes left = as_bytes(encoded.bytes); !left.empty();) {
      ASSIGN_OR_RETURN(const auto header, parse_blosc_header(left));
      const std::size_t size = header.stored_size + (form_.digest ? digest_size(*form_.digest) : 0);
      if (size > left.size()) return Error{.code = Code::kDamage, .detail = "the encoded chunk is incomplete"};
      TRY(count(header.size, size));
      TRY(sink_.write(left.first(size)));
      left = left.subspan(size);
    }
    return {};
  }

  bool can_append_stored(const ChunkInfo& chunk) const override { return !is_lost(chunk) && chunk.decoded_size; }
  // The checksum follows the chunk, and is of the same kind.
  Result<void> append_stored(const RequestContext& context, const Source& source, const ChunkInfo& chunk) override {
    TRY(begin_file());
    TRY(count(*chunk.decoded_size, chunk.end - chunk.begin));
    return copy_stored(context, source, chunk.begin, chunk.end, sink_);
  }

  Result<void> finish(const RequestContext& /*context*/) override {
    TRY(begin_file());
    TRY(sink_.rewrite(0, as_bytes(file_header_bytes(final_header()))));
    if (!form_.has_offsets) return {};
    std::string offsets;
    offsets.reserve(offsets_.size() * kOffsetSize);
    for (const Position offset : offsets_) append_le(offsets, offset);
    return sink_.rewrite(kLargestHeader + form_.metadata.size(), as_bytes(offsets));
  }

  std::uint64_t chunk_size() const override { return kChunkSize; }

 private:
  void append_plain_chunk(std::string& out, Bytes record) const {
    const std::size_t begin = out.size();
    const auto size = static_cast<std::uint32_t>(record.size());
    append_le(out, kBloscVersions);
    out.push_back(static_cast<char>(kPlainFlag));
    out.push_back(static_cast<char>(std::max<std::uint8_t>(form_.typesize, 1)));
    append_le(out, size);
    append_le(out, std::min(size, kPlainBlockSize));
    append_le(out, static_cast<std::uint32_t>(size + kBloscHeaderSize));
    out += as_text(record);
    if (!form_.digest) return;
    Digester digester(*form_.digest);
    digester.append(as_bytes(out).subspan(begin));
    out += as_text(digester.finish().view());
  }

  // Header and offsets are written again at the end.
  Result<void> begin_file() {
    if (position_ > 0) return {};
    const std::string head = file_header_bytes(form_.header()) + form_.metadata;
    position_ = head.size();
    TRY(sink_.write(as_bytes(head)));
    return form_.has_offsets ? write_unset(form_.offsets * kOffsetSize) : Result<void>();
  }
  // Writes bytes of offsets that are not written yet.
  Result<void> write_unset(std::uint64_t size) {
    const std::string piece(std::min(size, kUnsetPiece), '\xFF');
    for (std::uint64_t left = size; left > 0;) {
      const Bytes bytes = as_bytes(piece).first(std::min<std::uint64_t>(left, piece.size()));
      TRY(sink_.write(bytes));
      left -= bytes.size();
    }
    position_ += size;
    return {};
  }

  // Counts a chunk that is written next.
  Result<void> count(std::uint64_t decoded, std::uint64_t stored) {
    if (form_.has_offsets && offsets_.size() == form_.offsets) {
      return Error{.code = Code::kLimit, .detail = fmt::format("the file has room for {} offsets", form_.offsets)};
    }
    if (chunks_ == 0) first_ = decoded;
    if (chunks_ > 0) is_uniform_ = is_uniform_ && last_ == first_;
    last_ = decoded;
    ++chunks_;
    if (form_.has_offsets) offsets_.push_back(position_);
    position_ += stored;
    return {};
  }

  FileHeader final_header() const {
    FileHeader header = form_.header();
    header.chunks = static_cast<std::int64_t>(chunks_);
    const bool has_spare = form_.has_offsets && form_.dialect == Dialect::kVersion3;
    if (has_spare) header.spare_offsets = static_cast<std::int64_t>(form_.offsets - chunks_);
    if (chunks_ == 0) {
      header.chunk_size = form_.chunk_size;
      header.last_chunk = form_.last_chunk;
    } else if (is_uniform_ && (chunks_ == 1 || last_ <= first_)) {
      const auto last = static_cast<std::int32_t>(last_);
      header.chunk_size = chunks_ > 1 ? static_cast<std::int32_t>(first_) : std::max(form_.chunk_size, last);
      header.last_chunk = last;
    }  // otherwise both are unknown
    return header;
  }

  ByteSink& sink_;
  const Form form_;
  Position position_ = 0;  // bytes written
  std::vector<Position> offsets_;
  std::uint64_t chunks_ = 0;
  std::uint64_t first_ = 0;  // decoded sizes of the first and the last chunk
  std::uint64_t last_ = 0;
  bool is_uniform_ = true;  // all chunks but the last have one size
};

Result<std::unique_ptr<RecordWriter>> open_writer(const RequestContext& /*context*/, ByteSink& sink,
                                                  const WriterOptions& options) {
  if (options.stored_metadata.empty() || options.trailer) {
    return Error{.code = Code::kUnsupported, .detail = "Bloscpack files are written only from other ones"};
  }
  ASSIGN_OR_RETURN(auto form, form_of(options));
  return std::unique_ptr<RecordWriter>(std::make_unique<BloscpackWriter>(sink, std::move(form)));
}

// Returns the metadata section as it is stored; empty if it cannot be read. Fails with errors that may pass.
Result<std::string> metadata_section(const RequestContext& context, const Container& container, const Source& source,
                                     const Survey& found) {
  if (!found.metadata) return std::string();
  const auto attributes = container.metadata()->attributes(context, nullptr);
  if (!attributes) {
    return is_permanent(attributes.error().code) ? Result<std::string>(std::string()) : attributes.error();
  }
  const std::uint64_t digest = found.metadata->digest ? digest_size(*found.metadata->digest) : 0;
  const std::uint64_t head = found.header.dialect == Dialect::kVariable ? 0 : kMetadataHeaderSize;
  const std::uint64_t size = head + found.metadata->room + digest;
  if (size > Limits{}.metadata_bytes) return Error{.code = Code::kLimit, .detail = "the metadata exceed the limit"};
  ASSIGN_OR_RETURN(const auto section, read_exactly(context, source, found.metadata_begin - head, size));
  return std::string(as_text(section.view()));
}

// Counts the chunks that a scan finds, and returns the type size of the first one.
struct FoundChunks {
  std::uint64_t count = 0;
  std::uint8_t typesize = 0;
};
Result<FoundChunks> find_chunks(const RequestContext& context, const Container& container, const Source& source) {
  FoundChunks chunks;
  for (std::optional<ChunkKey> at = container.traits().first; at;) {
    ASSIGN_OR_RETURN(const auto step, container.scan(context, *at));
    at = step.next;
    if (!step.chunk || is_lost(*step.chunk)) continue;
    if (chunks.count++ > 0) continue;
    ASSIGN_OR_RETURN(const auto head, read_exactly(context, source, step.chunk->begin, kBloscHeaderSize));
    ASSIGN_OR_RETURN(const auto header, parse_blosc_header(head.view()));
    chunks.typesize = header.typesize;
  }
  return chunks;
}

// Files of earlier versions become files of version 3, which the reference reads. Files of the proposal stay such
// files, with the offsets that it requires.
Result<WriterOptions> like(const RequestContext& context, const Container& container, const Source& source) {
  ASSIGN_OR_RETURN(const auto found, survey(context, source));
  const FileHeader& header = found.header;
  const bool is_variable = header.dialect == Dialect::kVariable;
  ASSIGN_OR_RETURN(const auto chunks, find_chunks(context, container, source));
  const bool has_typesize = header.dialect >= Dialect::kVersion2 && !found.refusal;
  if (is_variable && chunks.count >= kMostOffsets) {
    return Error{.code = Code::kUnsupported,
                 .detail = fmt::format("{} items, too many to be read again", chunks.count)};
  }
  Form form{.dialect = is_variable ? Dialect::kVariable : Dialect::kVersion3,
            .version = header.version,
            .digest = header.digest,
            .typesize = has_typesize ? header.typesize : chunks.typesize,
            .has_offsets = header.has_offsets,
            .offsets = chunks.count,
            .chunk_size = std::max(header.chunk_size, kUnknownSize),
            .last_chunk = std::clamp(header.last_chunk, kUnknownSize, std::max(header.chunk_size, kUnknownSize))};
  if (!is_variable && found.offsets_begin > 0 && found.first_chunk > found.offsets_begin) {
    // Damage can make the room as large as the file.
    const std::uint64_t room = std::min((found.first_chunk - found.offsets_begin) / kOffsetSize, kMostOffsets);
    form.offsets = std::max(form.offsets, room);
  }
  form.has_offsets = is_variable || (form.has_offsets && form.offsets > 0);
  ASSIGN_OR_RETURN(form.metadata, metadata_section(context, container, source, found));
  WriterOptions options;
  options.stored_metadata = stored_metadata_of(form);
  options.stored_layout = stored_layout_of(form);
  return options;
}

}  // namespace

const FileWriter kWriter{.format = "bloscpack", .open = open_writer, .like = like};

}  // namespace recordfs::bloscpack
