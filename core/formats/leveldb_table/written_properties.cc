#include "core/formats/leveldb_table/written_properties.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "core/base/append.h"
#include "core/base/protobuf.h"

namespace recordfs::leveldb_table {
namespace {

constexpr std::string_view kRocksDb = "rocksdb.";

// RocksDB's own properties that do not depend on blocks, without "rocksdb.".
constexpr std::array<std::string_view, 23> kKept{"column.family.id",
                                                 "column.family.name",
                                                 "comparator",
                                                 "compression",
                                                 "compression_options",
                                                 "creating.db.identity",
                                                 "creating.host.identity",
                                                 "creating.session.identity",
                                                 "creation.time",
                                                 "embedded.blob.stats",
                                                 "external_sst_file.global_seqno",
                                                 "external_sst_file.version",
                                                 "file.creation.time",
                                                 "fixed.key.length",
                                                 "key.largest.seqno",
                                                 "key.smallest.seqno",
                                                 "merge.operator",
                                                 "newest.key.time",
                                                 "oldest.key.time",
                                                 "original.file.number",
                                                 "prefix.extractor.name",
                                                 "property.collectors",
                                                 "user.defined.timestamps.persisted"};

}  // namespace

void TableCounts::add(const TableCounts& other) {
  entries += other.entries;
  deletions += other.deletions;
  merges += other.merges;
  range_deletions += other.range_deletions;
  key_bytes += other.key_bytes;
  value_bytes += other.value_bytes;
  data_blocks += other.data_blocks;
  data_bytes += other.data_bytes;
  index_bytes += other.index_bytes;
}

PropertyMap properties_kept(const std::vector<Attribute>& properties) {
  PropertyMap kept;
  for (const Attribute& property : properties) {
    std::string_view name = property.key;
    if (name.starts_with(kRocksDb)) {
      name.remove_prefix(kRocksDb.size());
      if (std::ranges::find(kKept, name) == kKept.end()) continue;
    }
    kept[property.key] = property.value;
  }
  kept.try_emplace("rocksdb.comparator", "leveldb.BytewiseComparator");
  return kept;
}

PropertyMap properties_of(const TableCounts& counts, PropertyMap kept) {
  const auto set = [&](std::string_view name, std::string value) {
    kept[std::string(kRocksDb) + std::string(name)] = std::move(value);
  };
  const auto count = [&](std::string_view name, std::uint64_t value) {
    std::string bytes;
    protobuf::append_varint(bytes, value);
    set(name, std::move(bytes));
  };
  count("data.size", counts.data_bytes);
  count("deleted.keys", counts.deletions);
  count("filter.size", 0);
  count("format.version", 0);
  count("index.size", counts.index_bytes);
  count("merge.operands", counts.merges);
  count("num.data.blocks", counts.data_blocks);
  count("num.entries", counts.entries);
  count("num.range-deletions", counts.range_deletions);
  count("raw.key.size", counts.key_bytes);
  count("raw.value.size", counts.value_bytes);
  std::string binary_search;
  append_le(binary_search, std::uint32_t{0});
  set("block.based.table.index.type", std::move(binary_search));
  set("block.based.table.prefix.filtering", "0");
  set("block.based.table.whole.key.filtering", "1");
  return kept;
}

}  // namespace recordfs::leveldb_table
