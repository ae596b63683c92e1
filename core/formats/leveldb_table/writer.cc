#include "core/formats/leveldb_table/writer.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/base/cursor.h"
#include "core/base/protobuf.h"
#include "core/formats/leveldb_table/block_builder.h"
#include "core/formats/leveldb_table/entries.h"
#include "core/formats/leveldb_table/index.h"
#include "core/formats/leveldb_table/written_properties.h"

namespace recordfs::leveldb_table {
namespace {

constexpr std::uint64_t kEncodedSize = 256u << 10;  // bytes of records that are encoded at once
constexpr std::uint64_t kUsualBlockSize = 4096;     // LevelDB's and RocksDB's default
constexpr std::uint32_t kDataInterval = 16;
constexpr std::uint32_t kIndexInterval = 1;
constexpr std::uint8_t kMergeType = 2;  // RocksDB's types
constexpr std::uint8_t kSingleDelete = 7;
constexpr std::uint8_t kRangeDelete = 15;
constexpr std::uint8_t kDeleteWithTimestamp = 20;

// What is not in the records of a table.
struct TableOptions {
  Dialect dialect{};
  std::string codec{};
  CompressionLevel level{};
  std::uint64_t block_size = kUsualBlockSize;
  PropertyMap properties{};
};

// Appends bytes, and their number before them.
void append_sized(std::string& out, Bytes bytes) {
  protobuf::append_varint(out, bytes.size());
  out += as_text(bytes);
}
Bytes take_sized(Cursor& cursor) { return cursor.take(cursor.varint64()); }

// EncodedRecords: `ends` are the members of TableCounts that records have, and `bytes` items: of a data block its last
// key, and the block with its trailer; of a range deletion its key, and its value.
enum class Item : char { kBlock, kRangeDeletion };

void append_item(std::string& out, Item item, Bytes key, Bytes content) {
  out.push_back(static_cast<char>(item));
  append_sized(out, key);
  append_sized(out, content);
}

void count_entry(TableCounts& counts, const Record& entry, std::uint8_t type) {
  ++counts.entries;
  counts.key_bytes += entry.key.size();
  counts.value_bytes += entry.value.size();
  const bool is_deletion =
      type == kDelete || type == kSingleDelete || type == kRangeDelete || type == kDeleteWithTimestamp;
  if (is_deletion) ++counts.deletions;
  if (type == kMergeType) ++counts.merges;
}

class TableWriter final : public recordfs::RecordWriter {
 public:
  TableWriter(ByteSink& sink, TableOptions options) : sink_(sink), options_(std::move(options)) {}

  Result<EncodedRecords> encode(const RequestContext& /*context*/, std::span<const Bytes> records) const override {
    EncodedRecords encoded{.records = records.size()};
    TableCounts counts;
    BlockBuilder block(kDataInterval);
    for (const Bytes record : records) {
      encoded.decoded_size += record.size();
      const auto entry = parse_record(record);
      if (!entry) return Error{.code = Code::kUnsupported, .detail = "a record is no entry of a table"};
      const auto key = parse_internal(entry->key);
      if (options_.dialect.is_rocksdb && key && key->type == kRangeDelete) {
        ++counts.range_deletions;
        count_entry(counts, *entry, kRangeDelete);
        append_item(encoded.bytes, Item::kRangeDeletion, entry->key, entry->value);
        continue;
      }
      count_entry(counts, *entry, key ? key->type : kPut);
      block.add(entry->key, entry->value);
      if (block.size() >= options_.block_size) TRY(end_block(block, encoded.bytes));
    }
    if (!block.empty()) TRY(end_block(block, encoded.bytes));
    encoded.ends = {counts.entries,         counts.deletions, counts.merges,
                    counts.range_deletions, counts.key_bytes, counts.value_bytes};
    return encoded;
  }

  Result<void> append(const RequestContext& /*context*/, const EncodedRecords& encoded) override {
    const auto& sums = encoded.ends;
    counts_.add({.entries = sums[0],
                 .deletions = sums[1],
                 .merges = sums[2],
                 .range_deletions = sums[3],
                 .key_bytes = sums[4],
                 .value_bytes = sums[5]});
    for (Cursor cursor(as_bytes(encoded.bytes)); !cursor.at_end();) {
      const auto item = static_cast<Item>(cursor.u8());
      const Bytes key = take_sized(cursor);
      const Bytes content = take_sized(cursor);
      if (item == Item::kRangeDeletion) {
        range_deletions_.add(key, content);
        continue;
      }
      TRY(add_to_index(key, {position_, content.size() - kTrailerSize}));
      counts_.data_bytes += content.size();
      ++counts_.data_blocks;
      TRY(write(content));
    }
    return {};
  }

  Result<void> finish(const RequestContext& /*context*/) override {
    const bool is_rocksdb = options_.dialect.is_rocksdb;
    std::optional<BlockPlace> index;
    if (is_rocksdb) {
      ASSIGN_OR_RETURN(index, write_block(index_.take(), options_.codec));
      counts_.index_bytes = index->size + kTrailerSize;
    }
    ASSIGN_OR_RETURN(const auto metaindex, write_meta_blocks());
    // LevelDB writes the index last.
    if (!is_rocksdb) {
      ASSIGN_OR_RETURN(index, write_block(index_.take(), options_.codec));
    }
    std::string footer;
    append_footer(footer, options_.dialect, metaindex, *index);
    return write(as_bytes(footer));
  }

  std::uint64_t chunk_size() const override { return std::max(kEncodedSize, options_.block_size); }

 private:
  // Ends a data block, and appends it to `out`.
  Result<void> end_block(BlockBuilder& block, std::string& out) const {
    const std::string key = block.last_key();
    std::string stored;
    TRY(append_block(stored, options_.dialect, options_.codec, options_.level, as_bytes(block.take())));
    if (stored.size() > std::numeric_limits<std::uint32_t>::max()) {
      return Error{.code = Code::kLimit, .detail = "an entry of more than 4 GiB"};
    }
    append_item(out, Item::kBlock, as_bytes(key), as_bytes(stored));
    return {};
  }

  // The last key of a block separates it from the next one in the order of any comparator.
  Result<void> add_to_index(Bytes key, const BlockPlace& place) {
    std::string value;
    append_place(value, place);
    index_.add(key, as_bytes(value));
    if (index_.size() <= std::numeric_limits<std::uint32_t>::max()) return {};
    return Error{.code = Code::kLimit, .detail = "the index of the table has more than 4 GiB"};
  }
  static void add_place(BlockBuilder& meta, std::string_view name, const BlockPlace& place) {
    std::string value;
    append_place(value, place);
    meta.add(as_bytes(name), as_bytes(value));
  }

  // Writes RocksDB's properties and range deletions. Returns the place of the meta index, which names them.
  Result<BlockPlace> write_meta_blocks() {
    BlockBuilder meta(kIndexInterval);
    if (options_.dialect.is_rocksdb) {
      BlockBuilder block(kIndexInterval);
      for (const auto& [name, value] : properties_of(counts_, options_.properties)) {
        block.add(as_bytes(name), as_bytes(value));
      }
      ASSIGN_OR_RETURN(const auto properties, write_block(block.take(), to_string(CodecId::kNone)));
      add_place(meta, "rocksdb.properties", properties);
    }
    if (!range_deletions_.empty()) {
      ASSIGN_OR_RETURN(const auto place, write_block(range_deletions_.take(), to_string(CodecId::kNone)));
      add_place(meta, "rocksdb.range_del", place);
    }
    return write_block(meta.take(), to_string(CodecId::kNone));
  }

  Result<BlockPlace> write_block(const std::string& content, std::string_view codec) {
    std::string stored;
    TRY(append_block(stored, options_.dialect, codec, options_.level, as_bytes(content)));
    const BlockPlace place{position_, stored.size() - kTrailerSize};
    TRY(write(as_bytes(stored)));
    return place;
  }
  Result<void> write(Bytes bytes) {
    TRY(sink_.write(bytes));
    position_ += bytes.size();
    return {};
  }

  ByteSink& sink_;
  const TableOptions options_;
  BlockBuilder index_{kIndexInterval};
  BlockBuilder range_deletions_{kIndexInterval};
  TableCounts counts_;
  Position position_ = 0;
};

// WriterOptions::stored_metadata of a RocksDB table: a message with these fields, the last of which repeats. Empty for
// tables of LevelDB.
constexpr std::uint32_t kIsRocksDb = 1;
constexpr std::uint32_t kProperty = 2;
constexpr std::uint32_t kPropertyName = 1;
constexpr std::uint32_t kPropertyValue = 2;

constexpr std::uint32_t kVersion = 2;  // of RocksDB tables: RocksDB 3.10 and newer read it

PropertyMap stored_properties(Bytes stored) {
  PropertyMap properties;
  for (protobuf::MessageReader reader(stored, 1); reader.next();) {
    if (reader.field().number != kProperty) continue;
    std::string name;
    std::string value;
    for (protobuf::MessageReader fields(reader.content(), 1); fields.next();) {
      if (fields.field().number == kPropertyName) name = as_text(fields.content());
      if (fields.field().number == kPropertyValue) value = as_text(fields.content());
    }
    properties[name] = value;
  }
  return properties;
}

Result<std::unique_ptr<recordfs::RecordWriter>> open_writer(const RequestContext& /*context*/, ByteSink& sink,
                                                            const WriterOptions& options) {
  if (options.trailer || !options.metadata.empty() || !options.record_type.empty() || options.descriptors) {
    return Error{.code = Code::kUnsupported, .detail = "a table has no metadata of this kind"};
  }
  TableOptions table;
  table.codec = options.codec;
  table.level = options.level;
  table.dialect.is_rocksdb = !options.stored_metadata.empty();
  if (table.dialect.is_rocksdb) table.dialect.version = kVersion;
  if (options.chunk_size > 0) table.block_size = options.chunk_size;
  if (table.codec.empty()) table.codec = to_string(can_compress(CodecId::kSnappy) ? CodecId::kSnappy : CodecId::kNone);
  if (!can_write(table.dialect, table.codec)) {
    return Error{.code = Code::kUnsupported,
                 .detail = fmt::format("blocks cannot be compressed with '{}'", table.codec)};
  }
  table.properties = stored_properties(as_bytes(options.stored_metadata));
  if (table.properties.contains(kEmbeddedBlobs)) {
    return Error{.code = Code::kUnsupported, .detail = "a table with values between its blocks cannot be written"};
  }
  return std::unique_ptr<recordfs::RecordWriter>(std::make_unique<TableWriter>(sink, std::move(table)));
}

// Returns the first codec other than none of the first data blocks that can be written; empty: none is known.
Result<std::string> codec_of_data(const RequestContext& context, const Container& container, const Dialect& dialect) {
  constexpr int kMostBlocks = 64;
  std::string codec;
  std::optional<ChunkKey> at = container.traits().first;
  for (int i = 0; at && i < kMostBlocks; ++i) {
    ASSIGN_OR_RETURN(const auto step, container.scan(context, *at));
    const bool is_data = step.chunk && step.chunk->kind.as<Kind>() == Kind::kData;
    if (is_data && can_write(dialect, step.chunk->codec)) {
      codec = step.chunk->codec;
      if (codec != to_string(CodecId::kNone)) break;
    }
    at = step.next;
  }
  return codec;
}

Result<WriterOptions> like(const RequestContext& context, const Container& container, const Source& /*source*/) {
  WriterOptions options;
  Dialect dialect;
  for (const Fact& fact : container.traits().facts) {
    if (fact.name == "database") dialect.is_rocksdb = std::get<std::string>(fact.value) == "RocksDB";
  }
  if (dialect.is_rocksdb) {
    dialect.version = kVersion;
    auto properties = container.metadata()->attributes(context, nullptr);
    if (!properties && !is_permanent(properties.error().code)) return std::move(properties).error();
    options.stored_metadata = rocksdb_metadata(properties_kept(properties.value_or(std::vector<Attribute>{})));
  }
  ASSIGN_OR_RETURN(options.codec, codec_of_data(context, container, dialect));
  return options;
}

}  // namespace

std::string rocksdb_metadata(const PropertyMap& properties) {
  std::string metadata;
  protobuf::append_field(metadata, kIsRocksDb, {});
  for (const auto& [name, value] : properties) {
    std::string message;
    protobuf::append_field(message, kPropertyName, name);
    protobuf::append_field(message, kPropertyValue, value);
    protobuf::append_field(metadata, kProperty, message);
  }
  return metadata;
}

const FileWriter kWriter{.format = "leveldb-table", .open = open_writer, .like = like};

}  // namespace recordfs::leveldb_table
