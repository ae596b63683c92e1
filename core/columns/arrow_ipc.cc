#include "core/columns/arrow_ipc.h"

#include <bit>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/append.h"
#include "core/base/utf8.h"
#include "core/codec/compress.h"
#include "core/columns/flat_table.h"

namespace recordfs {
namespace {

constexpr std::string_view kArrowMagic = "ARROW1";
constexpr std::uint32_t kContinuation = 0xFFFFFFFF;
constexpr std::int16_t kVersion = 4;  // V5
constexpr std::int8_t kZstd = 1;      // of CompressionType

// The numbers of the unions MessageHeader and Type.
enum class IpcHeader : std::uint8_t { kSchema = 1, kRecordBatch = 3 };
enum class IpcType : std::uint8_t {
  kInt = 2,
  kFloatingPoint = 3,
  kBool = 6,
  kStruct = 13,
  kLargeBinary = 19,
  kLargeUtf8 = 20,
  kLargeList = 21,
};

struct TypeTable {
  IpcType type{};
  FlatTable table{};
};

FlatTable int_type(std::int32_t bits, bool is_signed) {
  return FlatTable().number(0, bits).number(1, static_cast<std::uint8_t>(is_signed));
}

Result<TypeTable> type_of(const std::string& format) {
  if (format == "i") return TypeTable{IpcType::kInt, int_type(32, true)};
  if (format == "I") return TypeTable{IpcType::kInt, int_type(32, false)};
  if (format == "l") return TypeTable{IpcType::kInt, int_type(64, true)};
  if (format == "L") return TypeTable{IpcType::kInt, int_type(64, false)};
  if (format == "f") return TypeTable{IpcType::kFloatingPoint, FlatTable().number(0, std::int16_t{1})};
  if (format == "g") return TypeTable{IpcType::kFloatingPoint, FlatTable().number(0, std::int16_t{2})};
  if (format == "b") return TypeTable{IpcType::kBool};
  if (format == "U") return TypeTable{IpcType::kLargeUtf8};
  if (format == "Z") return TypeTable{IpcType::kLargeBinary};
  if (format == "+L") return TypeTable{IpcType::kLargeList};
  if (format == "+s") return TypeTable{IpcType::kStruct};
  return Error{.code = Code::kUnsupported, .detail = "no Arrow type for the format " + printable(format)};
}

Result<std::vector<FlatTable>> tables_of(const std::vector<ArrowField>& fields);

Result<FlatTable> table_of(const ArrowField& field) {
  ASSIGN_OR_RETURN(auto type, type_of(field.format));
  ASSIGN_OR_RETURN(auto children, tables_of(field.children));
  FlatTable table;
  table.text(0, field.name)
      .number(1, static_cast<std::uint8_t>(field.is_nullable))
      .number(2, static_cast<std::uint8_t>(type.type));
  table.table(3, std::move(type.table)).tables(5, std::move(children));
  return table;
}

Result<std::vector<FlatTable>> tables_of(const std::vector<ArrowField>& fields) {
  std::vector<FlatTable> tables;
  tables.reserve(fields.size());
  for (const ArrowField& field : fields) {
    ASSIGN_OR_RETURN(auto table, table_of(field));
    tables.push_back(std::move(table));
  }
  return tables;
}

// Returns the width in bytes of the numbers in the second buffer of a column: values, or offsets of text and lists.
std::size_t width_of_numbers(const std::string& format) {
  switch (format.front()) {
    case 'i':
    case 'I':
    case 'f': return 4;
    case 'b': return 1;
    default: return 8;
  }
}

void append_int64(std::string& out, std::int64_t number) { append_le(out, static_cast<std::uint64_t>(number)); }

std::size_t padded(std::size_t size) {
  return (size + FlatTable::kAlignment - 1) / FlatTable::kAlignment * FlatTable::kAlignment;
}
// Every message and every buffer begins at a multiple of FlatTable::kAlignment, in the file and in `out`.
void pad(std::string& out) { out.resize(padded(out.size())); }

// Appends a message up to its body, whose size is known. Returns the size of what was appended.
std::size_t append_message(std::string& out, IpcHeader header, FlatTable table, std::size_t body_size) {
  FlatTable message;
  message.number(0, kVersion).number(1, static_cast<std::uint8_t>(header)).table(2, std::move(table));
  message.number(3, static_cast<std::int64_t>(body_size));
  const std::string metadata = message.buffer();
  append_le(out, kContinuation);
  append_le(out, static_cast<std::uint32_t>(metadata.size()));
  out += metadata;
  return 8 + metadata.size();
}

// Where a message is.
struct MessagePlace {
  std::size_t metadata_size = 0;
  std::size_t body_size = 0;
};

// The message of a record batch, as it is gathered. Refers to the columns.
class BatchMessage {
 public:
  explicit BatchMessage(const TableOptions& options) : options_(options) {}

  Result<void> add(const ArrowField& field, const ArrowColumn& column) {
    append_int64(nodes_, column.length);
    append_int64(nodes_, column.null_count);
    ++node_count_;
    for (std::size_t i = 0; i < column.buffers.size(); ++i) {
      TRY(add_buffer(column.buffers[i].bytes, i == 1 ? width_of_numbers(field.format) : 1));
    }
    for (std::size_t i = 0; i < column.children.size(); ++i) TRY(add(field.children[i], column.children[i]));
    return {};
  }

  // Appends the message of a batch with `rows` rows.
  MessagePlace append_to(std::string& out, std::int64_t rows) {
    FlatTable batch;
    batch.number(0, rows).structs(1, node_count_, std::move(nodes_)).structs(2, pieces_.size(), std::move(buffers_));
    if (is_compressed()) batch.table(3, FlatTable().number(0, kZstd).number(1, std::int8_t{0}));
    const MessagePlace place{.metadata_size = append_message(out, IpcHeader::kRecordBatch, std::move(batch), end_),
                             .body_size = end_};
    out.reserve(out.size() + end_);
    for (const Bytes piece : pieces_) {
      out += as_text(piece);
      pad(out);
    }
    return place;
  }

 private:
  bool is_compressed() const { return options_.codec == CodecId::kZstd; }

  // `width`: of the numbers in the buffer.
  Result<void> add_buffer(Bytes bytes, std::size_t width) {
    if (std::endian::native != std::endian::little && width > 1) {
      std::string& reversed = changed_.emplace_back();
      append_numbers_le(reversed, as_text(bytes), width);
      bytes = as_bytes(reversed);
    }
    if (is_compressed() && !bytes.empty()) {
      std::string& compressed = changed_.emplace_back();
      append_le(compressed, std::uint64_t{bytes.size()});
      TRY(compress(CodecId::kZstd, options_.level, bytes, compressed));
      bytes = as_bytes(compressed);
    }
    append_int64(buffers_, static_cast<std::int64_t>(end_));
    append_int64(buffers_, static_cast<std::int64_t>(bytes.size()));
    pieces_.push_back(bytes);
    end_ += padded(bytes.size());
    return {};
  }

  const TableOptions& options_;
  std::string nodes_;
  std::size_t node_count_ = 0;
  std::string buffers_;
  std::vector<Bytes> pieces_;        // of the body
  std::deque<std::string> changed_;  // those that are not as the columns have them
  std::size_t end_ = 0;              // of the body
};

struct EncodedBatches final : EncodedRows {
  std::vector<MessagePlace> messages;  // in `bytes`, back to back
};

class ArrowWriter final : public TableWriter {
 public:
  ArrowWriter(ByteSink& sink, std::vector<ArrowField> fields, FlatTable schema, TableOptions options, bool is_file)
      : sink_(sink), fields_(std::move(fields)), schema_(std::move(schema)), options_(options), is_file_(is_file) {}

  Result<std::unique_ptr<const EncodedRows>> encode(std::span<const ArrowColumn> batches) const override {
    auto encoded = std::make_unique<EncodedBatches>();
    for (const ArrowColumn& batch : batches) {
      BatchMessage message(options_);
      for (std::size_t i = 0; i < batch.children.size(); ++i) TRY(message.add(fields_[i], batch.children[i]));
      encoded->messages.push_back(message.append_to(encoded->bytes, batch.length));
      encoded->rows += static_cast<std::uint64_t>(batch.length);
    }
    return std::unique_ptr<const EncodedRows>(std::move(encoded));
  }

  Result<void> append(const EncodedRows& encoded) override {
    TRY(begin());
    for (const MessagePlace& message : dynamic_cast<const EncodedBatches&>(encoded).messages) {
      append_int64(blocks_, static_cast<std::int64_t>(end_));
      append_int64(blocks_, static_cast<std::int64_t>(message.metadata_size));  // 32 bits, and 32 of padding
      append_int64(blocks_, static_cast<std::int64_t>(message.body_size));
      end_ += message.metadata_size + message.body_size;
    }
    return sink_.write(as_bytes(encoded.bytes));
  }

  Result<void> finish() override {
    TRY(begin());
    std::string out;
    append_le(out, kContinuation);
    append_le(out, std::uint32_t{0});
    if (is_file_) {
      constexpr std::size_t kBlockSize = 24;
      const std::size_t blocks = blocks_.size() / kBlockSize;
      FlatTable footer;
      footer.number(0, kVersion).table(1, schema_).structs(2, 0, "").structs(3, blocks, std::move(blocks_));
      const std::string bytes = footer.buffer();
      if (bytes.size() > INT32_MAX) return Error{.code = Code::kLimit, .detail = "too many record batches"};
      out += bytes;
      append_le(out, static_cast<std::uint32_t>(bytes.size()));
      out += kArrowMagic;
    }
    return sink_.write(as_bytes(out));
  }

 private:
  Result<void> begin() {
    if (std::exchange(has_begun_, true)) return {};
    std::string out;
    if (is_file_) {
      out += kArrowMagic;
      pad(out);
    }
    append_message(out, IpcHeader::kSchema, schema_, 0);
    end_ = out.size();
    return sink_.write(as_bytes(out));
  }

  ByteSink& sink_;
  const std::vector<ArrowField> fields_;
  const FlatTable schema_;
  const TableOptions options_;
  const bool is_file_;
  bool has_begun_ = false;
  std::size_t end_ = 0;
  std::string blocks_;
};

Result<std::unique_ptr<TableWriter>> open(ByteSink& sink, const ArrowField& root, const TableOptions& options,
                                          bool is_file) {
  const CodecId codec = options.codec.value_or(CodecId::kNone);
  if ((codec != CodecId::kNone && codec != CodecId::kZstd) || !can_compress(codec)) {
    return Error{.code = Code::kUnsupported,
                 .detail = "Arrow files cannot be compressed with " + std::string(to_string(codec))};
  }
  ASSIGN_OR_RETURN(auto fields, tables_of(root.children));
  FlatTable schema;
  schema.number(0, std::int16_t{0}).tables(1, std::move(fields));
  return std::unique_ptr<TableWriter>(
      std::make_unique<ArrowWriter>(sink, root.children, std::move(schema), options, is_file));
}

}  // namespace

Result<std::unique_ptr<TableWriter>> open_arrow_file(ByteSink& sink, const ArrowField& root,
                                                     const TableOptions& options) {
  return open(sink, root, options, true);
}

Result<std::unique_ptr<TableWriter>> open_arrow_stream(ByteSink& sink, const ArrowField& root,
                                                       const TableOptions& options) {
  return open(sink, root, options, false);
}

}  // namespace recordfs
