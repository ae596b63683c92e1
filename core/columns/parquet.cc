#include "core/columns/parquet.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/append.h"
#include "core/codec/compress.h"
#include "core/columns/parquet_column.h"
#include "core/columns/parquet_schema.h"
#include "core/columns/thrift_writer.h"

namespace recordfs {
namespace {

constexpr std::string_view kParquetMagic = "PAR1";
constexpr std::int32_t kParquetVersion = 2;

// Returns the number of the enumeration CompressionCodec; nullopt if it lacks the codec.
std::optional<std::int32_t> number_of(CodecId codec) {
  switch (codec) {
    case CodecId::kNone: return 0;
    case CodecId::kSnappy: return 1;
    case CodecId::kGzip: return 2;
    case CodecId::kBrotli: return 4;
    case CodecId::kZstd: return 6;
    default: return std::nullopt;
  }
}

CodecId default_codec() {
  if (can_compress(CodecId::kZstd)) return CodecId::kZstd;
  return can_compress(CodecId::kSnappy) ? CodecId::kSnappy : CodecId::kNone;
}

struct EncodedRowGroup final : EncodedRows {
  std::vector<ParquetColumnChunk> chunks;  // of each leaf
};

// Returns the number of bytes of a column in memory, which the file seldom exceeds.
std::size_t size_of(const ArrowColumn& column) {
  std::size_t size = 0;
  for (const Slice& buffer : column.buffers) size += buffer.bytes.size();
  for (const ArrowColumn& child : column.children) size += size_of(child);
  return size;
}

// A row group of the file.
struct RowGroup {
  std::uint64_t begin = 0;  // in the file
  std::uint64_t rows = 0;
  std::vector<ParquetColumnChunk> chunks;
};

class ParquetWriter final : public TableWriter {
 public:
  ParquetWriter(ByteSink& sink, ParquetSchema schema, ParquetCodec codec)
      : sink_(sink), schema_(std::move(schema)), codec_(codec) {}

  Result<std::unique_ptr<const EncodedRows>> encode(std::span<const ArrowColumn> batches) const override {
    auto encoded = std::make_unique<EncodedRowGroup>();
    std::size_t size = 0;
    for (const ArrowColumn& batch : batches) {
      encoded->rows += static_cast<std::uint64_t>(batch.length);
      size += size_of(batch);
    }
    encoded->bytes.reserve(size);
    encoded->chunks.reserve(schema_.leaves.size());
    for (const ParquetLeaf& leaf : schema_.leaves) {
      ASSIGN_OR_RETURN(auto chunk, append_column_chunk(encoded->bytes, leaf, batches, codec_));
      encoded->chunks.push_back(std::move(chunk));
    }
    return std::unique_ptr<const EncodedRows>(std::move(encoded));
  }

  Result<void> append(const EncodedRows& encoded) override {
    if (encoded.rows == 0) return {};
    TRY(begin());
    groups_.push_back(
        {.begin = end_, .rows = encoded.rows, .chunks = dynamic_cast<const EncodedRowGroup&>(encoded).chunks});
    end_ += encoded.bytes.size();
    return sink_.write(as_bytes(encoded.bytes));
  }

  Result<void> finish() override {
    TRY(begin());
    std::string footer;
    write_footer(footer);
    if (footer.size() > INT32_MAX) return Error{.code = Code::kLimit, .detail = "too many row groups"};
    append_le(footer, static_cast<std::uint32_t>(footer.size()));
    footer += kParquetMagic;
    return sink_.write(as_bytes(footer));
  }

 private:
  Result<void> begin() {
    if (end_ != 0) return {};
    end_ = kParquetMagic.size();
    return sink_.write(as_bytes(kParquetMagic));
  }

  void write_footer(std::string& out) const {
    std::uint64_t rows = 0;
    for (const RowGroup& group : groups_) rows += group.rows;
    ThriftWriter writer(out);
    writer.i32(1, kParquetVersion);
    schema_.write(writer, 2);
    writer.i64(3, static_cast<std::int64_t>(rows));
    writer.begin_list(4, ThriftType::kStruct, groups_.size());
    for (const RowGroup& group : groups_) write_group(writer, group);
    writer.binary(6, "recordfs version " RECORDFS_VERSION);
    // The bounds of each column are in the order that its type defines: TypeDefinedOrder.
    writer.begin_list(7, ThriftType::kStruct, schema_.leaves.size());
    for (std::size_t i = 0; i < schema_.leaves.size(); ++i) {
      writer.begin_element();
      writer.begin_struct(1);
      writer.end_struct();
      writer.end_struct();
    }
    writer.end_struct();
  }

  void write_group(ThriftWriter& writer, const RowGroup& group) const {
    std::size_t uncompressed_size = 0;
    std::size_t size = 0;
    writer.begin_element();
    writer.begin_list(1, ThriftType::kStruct, group.chunks.size());
    for (std::size_t i = 0; i < group.chunks.size(); ++i) {
      write_chunk(writer, schema_.leaves[i], group.chunks[i], group.begin);
      uncompressed_size += group.chunks[i].uncompressed_size;
      size += group.chunks[i].size;
    }
    writer.i64(2, static_cast<std::int64_t>(uncompressed_size));
    writer.i64(3, static_cast<std::int64_t>(group.rows));
    writer.i64(5, static_cast<std::int64_t>(group.begin));
    writer.i64(6, static_cast<std::int64_t>(size));
    writer.end_struct();
  }

  void write_chunk(ThriftWriter& writer, const ParquetLeaf& leaf, const ParquetColumnChunk& chunk,
                   std::uint64_t group_begin) const {
    const auto place = [&](std::size_t begin) { return static_cast<std::int64_t>(group_begin + begin); };
    writer.begin_element();
    writer.i64(2, 0);  // the metadata is here alone
    writer.begin_struct(3);
    writer.i32(1, static_cast<std::int32_t>(parquet_type_of(leaf.format)));
    const bool has_dictionary = chunk.dictionary_end.has_value();
    writer.begin_list(2, ThriftType::kI32, has_dictionary ? 3 : 2);
    writer.element(0);  // PLAIN
    writer.element(3);  // RLE
    if (has_dictionary) writer.element(8);
    writer.begin_list(3, ThriftType::kBinary, leaf.names.size());
    for (const std::string& name : leaf.names) writer.element(name);
    writer.i32(4, *number_of(codec_.id));
    writer.i64(5, chunk.levels);
    writer.i64(6, static_cast<std::int64_t>(chunk.uncompressed_size));
    writer.i64(7, static_cast<std::int64_t>(chunk.size));
    writer.i64(9, place(chunk.dictionary_end.value_or(chunk.begin)));
    if (has_dictionary) writer.i64(11, place(chunk.begin));
    write_statistics(writer, chunk);
    writer.end_struct();
    writer.end_struct();
  }

  static void write_statistics(ThriftWriter& writer, const ParquetColumnChunk& chunk) {
    writer.begin_struct(12);
    writer.i64(3, chunk.nulls);
    if (chunk.least) writer.binary(5, *chunk.greatest);
    if (chunk.least) writer.binary(6, *chunk.least);
    writer.end_struct();
  }

  ByteSink& sink_;
  const ParquetSchema schema_;
  const ParquetCodec codec_;
  std::uint64_t end_ = 0;  // of the file so far
  std::vector<RowGroup> groups_;
};

}  // namespace

Result<std::unique_ptr<TableWriter>> open_parquet(ByteSink& sink, const ArrowField& root, const TableOptions& options) {
  const CodecId codec = options.codec.value_or(default_codec());
  if (!number_of(codec) || !can_compress(codec)) {
    return Error{.code = Code::kUnsupported,
                 .detail = "Parquet files cannot be compressed with " + std::string(to_string(codec))};
  }
  ASSIGN_OR_RETURN(auto schema, ParquetSchema::of(root));
  return std::unique_ptr<TableWriter>(
      std::make_unique<ParquetWriter>(sink, std::move(schema), ParquetCodec{.id = codec, .level = options.level}));
}

}  // namespace recordfs
