#include "core/export/export_format.h"

#include <algorithm>
#include <utility>

#include "core/base/buffer.h"
#include "core/base/protobuf.h"
#include "core/codec/compress.h"
#include "core/columns/arrow_ipc.h"
#include "core/columns/parquet.h"
#include "core/export/csv.h"
#include "core/export/grouped_file.h"
#include "core/export/record_groups.h"
#include "core/export/table_groups.h"

namespace recordfs {
namespace {

using Content = ExportFormat::Content;

std::vector<FileCodec> both() { return {FileCodec::kGzip, FileCodec::kZstd}; }

using OpenedTable = Result<std::unique_ptr<TableWriter>>;

OpenedTable open_comma_table(ByteSink& sink, const ArrowField& root, const EncoderOptions& options) {
  return open_csv(sink, root, {.bytes = options.bytes, .mixed = options.mixed});
}
OpenedTable open_tab_table(ByteSink& sink, const ArrowField& root, const EncoderOptions& options) {
  return open_csv(sink, root, {.separator = '\t', .line_end = "\n", .bytes = options.bytes, .mixed = options.mixed});
}
OpenedTable open_table_of_objects(ByteSink& sink, const ArrowField& root, const EncoderOptions& options) {
  return open_json_lines(sink, root, {.bytes = options.bytes, .mixed = options.mixed});
}
OpenedTable open_arrow_table(ByteSink& sink, const ArrowField& root, const EncoderOptions& /*options*/) {
  return open_arrow_file(sink, root);
}
OpenedTable open_streamed_table(ByteSink& sink, const ArrowField& root, const EncoderOptions& /*options*/) {
  return open_arrow_stream(sink, root);
}
OpenedTable open_parquet_table(ByteSink& sink, const ArrowField& root, const EncoderOptions& /*options*/) {
  return open_parquet(sink, root);
}

const std::vector<ExportFormat>& formats() {
  static const std::vector<ExportFormat> all = {
      {.name = "jsonl",
       .suffixes = {"ndjson"},
       .text = "JSON Lines: an object for each row",
       .codecs = both(),
       .has_byte_form = true,
       .open_table = open_table_of_objects},
      {.name = "csv",
       .text = "CSV (RFC 4180), with the names of the columns in the first line",
       .content = Content::kTable,
       .codecs = both(),
       .has_byte_form = true,
       .open_table = open_comma_table},
      {.name = "tsv",
       .text = "the same with tabs",
       .content = Content::kTable,
       .codecs = both(),
       .has_byte_form = true,
       .open_table = open_tab_table},
      {.name = "parquet", .text = "Parquet", .content = Content::kTable, .open_table = open_parquet_table},
      {.name = "arrow",
       .suffixes = {"feather"},
       .text = "Arrow's IPC file",
       .content = Content::kTable,
       .open_table = open_arrow_table},
      {.name = "arrows", .text = "Arrow's IPC stream", .content = Content::kTable, .open_table = open_streamed_table},
      {.name = "tfrecord",
       .suffixes = {"tfrecords"},
       .text = "TFRecord",
       .content = Content::kRecords,
       .codecs = {FileCodec::kGzip},
       .record_format = "tfrecord"},
      {.name = "riegeli",
       .text = "Riegeli",
       .content = Content::kRecords,
       .record_format = "riegeli",
       .has_record_type = true},
      {.name = "array_record",
       .suffixes = {"arrayrecord"},
       .text = "ArrayRecord",
       .content = Content::kRecords,
       .record_format = "array-record",
       .has_record_type = true},
      {.name = "tar",
       .text = "a tar archive as WebDataset reads it, with the members that --member names",
       .content = Content::kMembers,
       .codecs = both()},
      {.name = "delimited",
       .text = "each record after its length as a varint, as protobuf's delimited messages",
       .content = Content::kRecords,
       .codecs = both()},
  };
  return all;
}

// --- encoders of rows

class JsonLines final : public RowEncoder {
 public:
  explicit JsonLines(bool has_columns) : has_columns_(has_columns) {}

  Result<void> append(const RequestContext& context, const ExportedRecord& record, std::string& out) const override {
    if (has_columns_) {
      TRY(record.rows.append(context, record.chunk, record.bytes, out));
    } else {
      TRY(record.rows.append_data(context, record.chunk, record.ordinal, record.bytes, out));
    }
    out += '\n';
    return {};
  }

 private:
  const bool has_columns_;
};

class Delimited final : public RowEncoder {
 public:
  Result<void> append(const RequestContext&, const ExportedRecord& record, std::string& out) const override {
    protobuf::append_varint(out, record.bytes.size());
    out += as_text(record.bytes);
    return {};
  }
  bool depends_on_bytes_alone() const override { return true; }
};

// For a file that is nothing but records in frames.
class Framed final : public RowEncoder {
 public:
  // REQUIRES: the writer has a frame.
  explicit Framed(const FileWriter& writer) : writer_(writer) {}

  Result<void> append(const RequestContext&, const ExportedRecord& record, std::string& out) const override {
    writer_.frame->append(out, record.bytes);
    return {};
  }
  const FileWriter* stored_form() const override { return &writer_; }

 private:
  const FileWriter& writer_;
};

// For a RecordWriter, or a table.
class Records final : public RowEncoder {
 public:
  Result<void> append(const RequestContext&, const ExportedRecord& record, std::string& out) const override {
    out += as_text(record.bytes);
    return {};
  }
  bool keeps_records() const override { return true; }
};

// --- files

CodecId codec_of(FileCodec codec) { return codec == FileCodec::kGzip ? CodecId::kGzip : CodecId::kZstd; }

// Compresses what passes through, in pieces of one size: so the output does not depend on how the content arrives.
class CompressedSink final : public ByteSink {
 public:
  CompressedSink(std::unique_ptr<CompressStream> stream, ByteSink& sink) : stream_(std::move(stream)), sink_(sink) {}

  Result<void> write(Bytes bytes) override {
    while (!bytes.empty()) {
      const Bytes piece = bytes.first(std::min(bytes.size(), kCompressed - gathered_.size()));
      gathered_ += as_text(piece);
      bytes = bytes.subspan(piece.size());
      if (gathered_.size() == kCompressed) TRY(compress_gathered());
    }
    return {};
  }
  std::uint64_t pending() const { return gathered_.size(); }
  Result<void> finish() {
    TRY(compress_gathered());
    std::string out;
    TRY(stream_->finish(out));
    return sink_.write(as_bytes(out));
  }

 private:
  static constexpr std::size_t kCompressed = 256u << 10;

  Result<void> compress_gathered() {
    std::string out;
    TRY(stream_->append(as_bytes(gathered_), out));
    gathered_.clear();
    return sink_.write(as_bytes(out));
  }

  const std::unique_ptr<CompressStream> stream_;
  ByteSink& sink_;
  std::string gathered_;
};

// The sink of a file, and the codec before it.
class CodedSink {
 public:
  static Result<std::unique_ptr<CodedSink>> open(FileCodec codec, ByteSink& sink) {
    auto coded = std::make_unique<CodedSink>(sink);
    if (codec != FileCodec::kNone) {
      ASSIGN_OR_RETURN(auto stream, open_compressor(codec_of(codec)));
      coded->compressed_ = std::make_unique<CompressedSink>(std::move(stream), sink);
    }
    return coded;
  }
  explicit CodedSink(ByteSink& sink) : sink_(sink) {}

  ByteSink& sink() {
    if (compressed_ != nullptr) return *compressed_;
    return sink_;
  }
  std::uint64_t pending() const { return compressed_ != nullptr ? compressed_->pending() : 0; }
  Result<void> finish() { return compressed_ != nullptr ? compressed_->finish() : Result<void>(); }

 private:
  ByteSink& sink_;
  std::unique_ptr<CompressedSink> compressed_;
};

// Rows one after another.
class RowFile final : public FileEncoder {
 public:
  RowFile(std::unique_ptr<CodedSink> coded, std::shared_ptr<const RowEncoder> rows, std::shared_ptr<MixedBytes> mixed)
      : coded_(std::move(coded)), rows_(std::move(rows)), mixed_(std::move(mixed)) {}

  Result<void> append(const RowBytes& rows, std::size_t begin, std::size_t end) override {
    TRY(write_begin());
    return coded_->sink().write(rows.between(begin, end));
  }
  Result<void> finish() override {
    if (mixed_ != nullptr) TRY(mixed_->check());
    TRY(write_begin());
    TRY(coded_->sink().write(as_bytes(rows_->end())));
    return coded_->finish();
  }
  std::uint64_t pending() const override { return coded_->pending(); }

 private:
  Result<void> write_begin() {
    if (std::exchange(has_begun_, true)) return {};
    return coded_->sink().write(as_bytes(rows_->begin()));
  }

  const std::unique_ptr<CodedSink> coded_;
  const std::shared_ptr<const RowEncoder> rows_;
  const std::shared_ptr<MixedBytes> mixed_;  // may be null
  bool has_begun_ = false;
};

// A file that goes through a codec as a whole.
class CodedFile final : public FileEncoder {
 public:
  CodedFile(std::unique_ptr<CodedSink> coded, std::unique_ptr<FileEncoder> file)
      : coded_(std::move(coded)), file_(std::move(file)) {}

  Result<void> append(const RowBytes& rows, std::size_t begin, std::size_t end) override {
    return file_->append(rows, begin, end);
  }
  Result<void> finish() override {
    TRY(file_->finish());
    return coded_->finish();
  }
  Result<void> settle() override { return file_->settle(); }
  std::uint64_t pending() const override { return file_->pending() + coded_->pending(); }
  std::vector<RowFailure> take_failures() override { return file_->take_failures(); }

 private:
  const std::unique_ptr<CodedSink> coded_;
  const std::unique_ptr<FileEncoder> file_;
};

struct Suffix {
  std::string_view name;
  FileCodec codec;
};
constexpr Suffix kCodecs[] = {{"gz", FileCodec::kGzip}, {"zst", FileCodec::kZstd}};

// Takes ".WORD", or all of "WORD", from the end of a name.
bool take_word(std::string_view& name, std::string_view word) {
  if (!name.ends_with(word)) return false;
  const std::string_view before = name.substr(0, name.size() - word.size());
  if (!before.empty() && !before.ends_with('.')) return false;
  name = before.substr(0, before.empty() ? 0 : before.size() - 1);
  return true;
}

}  // namespace

std::span<const ExportFormat> export_formats() { return formats(); }

std::optional<ExportForm> export_form_of(std::string_view name) {
  std::string_view rest = name;
  ExportForm form;
  for (const Suffix& suffix : kCodecs) {
    if (form.codec == FileCodec::kNone && take_word(rest, suffix.name)) form.codec = suffix.codec;
  }
  for (const ExportFormat& format : formats()) {
    const bool is_named = take_word(rest, format.name) ||
                          std::ranges::any_of(format.suffixes, [&](auto suffix) { return take_word(rest, suffix); });
    if (!is_named) continue;
    const bool is_offered =
        form.codec == FileCodec::kNone || std::ranges::find(format.codecs, form.codec) != format.codecs.end();
    if (!is_offered) return std::nullopt;
    form.format = &format;
    form.suffix = name.substr(rest.size());
    return form;
  }
  return std::nullopt;
}

std::shared_ptr<const RowEncoder> row_encoder(const ExportForm& form, const EncoderOptions& options) {
  const FileWriter* const writer = find_writer(form.format->record_format);
  if (writer != nullptr && writer->frame) return std::make_shared<Framed>(*writer);
  const bool is_grouped = options.columns != nullptr || !form.format->record_format.empty();
  if (is_grouped) return std::make_shared<Records>();
  if (form.format->content == Content::kRecords) return std::make_shared<Delimited>();
  if (form.format->content == Content::kMembers) return open_tar(options.members, options.key);
  return std::make_shared<JsonLines>(options.has_columns);
}

Result<std::unique_ptr<FileEncoder>> open_file_encoder(const ExportForm& form, const EncoderOptions& options,
                                                       ByteSink& sink, Executor& executor) {
  const ExportFormat& format = *form.format;
  const FileWriter* const writer = find_writer(format.record_format);
  if (writer == nullptr && !format.record_format.empty()) {
    return Error{.code = Code::kUnsupported, .detail = "this build cannot write such files"};
  }
  if (writer != nullptr && !writer->frame) {
    WriterOptions how;
    if (format.has_record_type) {
      how.metadata = options.metadata;
      how.record_type = options.record_type;
      how.descriptors = options.descriptors;
    }
    ASSIGN_OR_RETURN(auto opened, writer->open({}, sink, how));
    return std::unique_ptr<FileEncoder>(
        std::make_unique<GroupedFile>(record_groups(std::move(opened)), executor, options.skips_failures));
  }
  ASSIGN_OR_RETURN(auto coded, CodedSink::open(form.codec, sink));
  if (options.columns != nullptr) {
    ASSIGN_OR_RETURN(auto table, format.open_table(coded->sink(), options.columns->root(), options));
    auto groups = table_groups(options.columns, std::move(table), options.skips_failures, options.rows);
    auto file = std::make_unique<GroupedFile>(std::move(groups), executor, options.skips_failures);
    return std::unique_ptr<FileEncoder>(std::make_unique<CodedFile>(std::move(coded), std::move(file)));
  }
  std::unique_ptr<FileEncoder> file =
      std::make_unique<RowFile>(std::move(coded), row_encoder(form, options), options.mixed);
  return options.key ? without_repeated_keys(std::move(file)) : std::move(file);
}

}  // namespace recordfs
