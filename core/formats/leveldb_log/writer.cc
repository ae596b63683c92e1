#include "core/formats/leveldb_log/writer.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "core/base/append.h"
#include "core/base/cursor.h"
#include "core/codec/compress.h"
#include "core/formats/leveldb_log/head.h"
#include "core/formats/leveldb_log/items.h"

namespace recordfs::leveldb_log {
namespace {

constexpr std::uint64_t kEncodedSize = 256u << 10;  // bytes of records that are encoded at once
constexpr std::uint32_t kZstdInHead = 7;            // the number of zstd in RocksDB
constexpr std::uint8_t kCompressionType = 9;
constexpr std::size_t kMostControls = 1024;

class LogRecordWriter final : public RecordWriter {
 public:
  LogRecordWriter(ByteSink& sink, LogForm form) : sink_(sink), form_(std::move(form)) {}

  Result<EncodedRecords> encode(const RequestContext& context, std::span<const Bytes> records) const override {
    EncodedRecords encoded{.records = records.size()};
    for (const Bytes record : records) encoded.decoded_size += record.size();
    if (form_.codec == CodecId::kNone) {
      TRY(context.reserve(encoded.decoded_size));
      encoded.bytes.reserve(encoded.decoded_size);
    }
    encoded.ends.reserve(records.size());
    for (const Bytes record : records) {
      // An empty record has no frame.
      if (!record.empty()) TRY(compress(form_.codec, {}, record, encoded.bytes));
      encoded.ends.push_back(encoded.bytes.size());
    }
    return encoded;
  }

  Result<void> append(const RequestContext& /*context*/, const EncodedRecords& encoded) override {
    if (at_ == 0) append_head();
    const Bytes stored = as_bytes(encoded.bytes);
    std::uint64_t begin = 0;
    for (const std::uint64_t end : encoded.ends) {
      append_stored_record(stored.subspan(begin, end - begin));
      begin = end;
      if (ready_.size() >= kEncodedSize) TRY(write_ready());
    }
    return write_ready();
  }

  Result<void> finish(const RequestContext& /*context*/) override {
    if (at_ == 0) append_head();
    return write_ready();
  }

  std::uint64_t chunk_size() const override { return kEncodedSize; }

 private:
  Result<void> write_ready() {
    TRY(sink_.write(as_bytes(ready_)));
    ready_.clear();
    return {};
  }

  void append_head() {
    put(form_.ident);
    if (form_.codec == CodecId::kZstd) {
      std::string number;
      append_le(number, kZstdInHead);
      append_one(kCompressionType, as_bytes(number), kHeaderSize);
    }
    for (const auto& control : form_.controls) {
      // It is one fragment, so that it begins in the next frame if it is too large for this one, as RocksDB's are.
      if (left_in_frame() < form_.header_size + control.payload.size()) put(std::string(left_in_frame(), '\0'));
      append_one(control.type, as_bytes(control.payload), form_.header_size);
    }
  }

  // Appends a record as fragments, as LevelDB's log_writer.cc does.
  void append_stored_record(Bytes record) {
    bool is_first = true;
    do {
      if (left_in_frame() < form_.header_size) put(std::string(left_in_frame(), '\0'));
      const std::uint64_t room = left_in_frame() - form_.header_size;
      const Bytes piece = record.first(std::min<std::uint64_t>(room, record.size()));
      record = record.subspan(piece.size());
      append_one(data_type(is_first, record.empty(), form_.header_size), piece, form_.header_size);
      is_first = false;
    } while (!record.empty());
  }

  void append_one(std::uint8_t type, Bytes payload, std::uint32_t header_size) {
    const std::size_t before = ready_.size();
    append_fragment(ready_, type, payload, {form_.wire.checksum, header_size, form_.log_number});
    at_ += ready_.size() - before;
  }

  void put(std::string_view bytes) {
    ready_ += bytes;
    at_ += bytes.size();
  }

  std::uint64_t left_in_frame() const {
    // Before wire.origin there is only the ident.
    return kFrameSize - (at_ - form_.wire.origin) % kFrameSize;
  }

  ByteSink& sink_;
  const LogForm form_;
  std::string ready_;  // bytes that the sink does not have yet
  Position at_ = 0;    // where they end in the file
};

// WriterOptions::stored_layout: header size and log number. WriterOptions::stored_metadata: the control fragments, each
// with its type and size.
void pack(const LogForm& form, WriterOptions& options) {
  append_le(options.stored_layout, form.header_size);
  append_le(options.stored_layout, form.log_number);
  for (const auto& control : form.controls) {
    append_le(options.stored_metadata, std::uint32_t{control.type});
    append_le(options.stored_metadata, static_cast<std::uint32_t>(control.payload.size()));
    options.stored_metadata += control.payload;
  }
}

LogForm unpacked(const WriterOptions& options) {
  LogForm form;
  if (!options.stored_layout.empty()) {
    Cursor layout(as_bytes(options.stored_layout));
    form.header_size = layout.u32_le();
    form.log_number = layout.u32_le();
  }
  Cursor controls(as_bytes(options.stored_metadata));
  while (controls.ok() && !controls.at_end()) {
    const auto type = static_cast<std::uint8_t>(controls.u32_le());
    const std::uint32_t size = controls.u32_le();
    form.controls.push_back({type, std::string(as_text(controls.take(size)))});
  }
  return form;
}

Result<std::unique_ptr<RecordWriter>> open_writer(const RequestContext& /*context*/, ByteSink& sink,
                                                  const WriterOptions& options) {
  if (options.trailer || !options.metadata.empty() || !options.record_type.empty() || options.descriptors) {
    return Error{.code = Code::kUnsupported, .detail = "a LevelDB log has no metadata"};
  }
  LogForm form = unpacked(options);
  if (options.codec == to_string(CodecId::kZstd)) {
    if (!can_compress(CodecId::kZstd)) return Error{.code = Code::kUnsupported, .detail = "no zstd in this build"};
    form.codec = CodecId::kZstd;
  } else if (!options.codec.empty() && options.codec != to_string(CodecId::kNone)) {
    return Error{.code = Code::kUnsupported,
                 .detail = fmt::format("LevelDB logs are not compressed with {}", options.codec)};
  }
  return log_writer(sink, std::move(form));
}

// Returns the control fragments of a log, wherever they are: they are about all records. Fails as Source does, and with
// kUnsupported if there are more than kMostControls.
Result<std::vector<LogForm::Control>> controls_of(const RequestContext& context, const Source& source,
                                                  const Session& session) {
  std::vector<LogForm::Control> controls;
  ItemReader items(source, session);
  for (Position at = session.wire.first; at < source.size();) {
    ASSIGN_OR_RETURN(const auto item, items.next(context, at));
    const bool is_control = item.kind == Item::Kind::kSkipped && item.fragment.role == Role::kControl;
    if (is_control && controls.size() == kMostControls) {
      return Error{.code = Code::kUnsupported,
                   .position = at,
                   .detail = fmt::format("a log with more than {} fragments that are no records", kMostControls)};
    }
    if (is_control) controls.push_back({item.fragment.type, std::string(as_text(item.payload))});
    at = item.end;
  }
  return controls;
}

Result<WriterOptions> like(const RequestContext& context, const Container& /*container*/, const Source& source) {
  WriterOptions options;
  ASSIGN_OR_RETURN(const auto head, read_head(context, source, ProbeDepth::kSearch));
  if (!head) return options;
  if (head->compression.kind == Compression::Kind::kUnknown) {
    return Error{.code = Code::kUnsupported,
                 .detail = fmt::format("a log with the unknown compression {}", head->compression.number)};
  }
  LogForm form;
  if (head->compression.kind == Compression::Kind::kZstd) options.codec = to_string(CodecId::kZstd);
  if (head->session.recycled) {
    form.header_size = head->session.wire.has_sync_offsets ? kSyncHeaderSize : kRecyclableHeaderSize;
    form.log_number = head->session.log_number.value_or(0);
  }
  if (head->session.wire.has_rocksdb_types && head->writer != Writer::kLevelDb) {
    ASSIGN_OR_RETURN(form.controls, controls_of(context, source, head->session));
  }
  pack(form, options);
  return options;
}

}  // namespace

std::unique_ptr<RecordWriter> log_writer(ByteSink& sink, LogForm form) {
  return std::make_unique<LogRecordWriter>(sink, std::move(form));
}

const FileWriter kWriter{.format = "leveldb-log", .open = open_writer, .like = like};

}  // namespace recordfs::leveldb_log
