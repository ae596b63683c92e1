// Writes the samples of tests/corpus/leveldb_table whose names begin with rocksdb7-: real tables, written by RocksDB
// itself. Not part of the build. With Debian's librocksdb-dev:
//
//   g++ -std=c++17 write_rocksdb.cc -lrocksdb -o write_rocksdb && ./write_rocksdb FOLDER
//
// Afterwards expect_rocksdb.py creates the expectations from the output of sst_dump.
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include <rocksdb/db.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/options.h>
#include <rocksdb/table.h>

namespace {

namespace fs = std::filesystem;

void check(const rocksdb::Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "%s\n", status.ToString().c_str());
  std::exit(1);
}

std::string key_of(int number) {
  std::string digits = std::to_string(number);
  return "key" + std::string(5 - digits.size(), '0') + digits;
}

void put_lines(rocksdb::DB& db, int count) {
  for (int i = 0; i < count; ++i) {
    std::string value;
    for (int n = 0; n < 3 + i % 5; ++n) value += "value of " + std::to_string(i) + ' ';
    check(db.Put({}, key_of(i), value));
    if (i % 7 == 0) check(db.Delete({}, key_of(i)));
    if (i % 11 == 0) check(db.SingleDelete({}, "single" + std::to_string(i)));
  }
}

// Creates a database, and keeps the only table that it has after a flush.
void write(const fs::path& target, rocksdb::Options options, const rocksdb::BlockBasedTableOptions& table,
           const std::function<void(rocksdb::DB&)>& fill) {
  const fs::path folder = fs::temp_directory_path() / "write_rocksdb";
  fs::remove_all(folder);
  options.create_if_missing = true;
  options.db_host_id = "samples";
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  rocksdb::DB* opened = nullptr;
  check(rocksdb::DB::Open(options, folder.string(), &opened));
  std::unique_ptr<rocksdb::DB> db(opened);
  const rocksdb::Snapshot* const all = db->GetSnapshot();  // prevents the flush from dropping old versions
  fill(*db);
  check(db->Flush({}));
  db->ReleaseSnapshot(all);
  int tables = 0;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() != ".sst") continue;
    ++tables;
    fs::copy_file(entry.path(), target, fs::copy_options::overwrite_existing);
  }
  if (tables != 1) std::exit(2);
  db.reset();
  fs::remove_all(folder);
}

}  // namespace

int main(int, char** arguments) {
  const fs::path out(arguments[1]);
  const auto lines = [](int count) { return [count](rocksdb::DB& db) { put_lines(db, count); }; };
  const auto with_codec = [](rocksdb::CompressionType codec) {
    rocksdb::Options options;
    options.compression = codec;
    return options;
  };
  const auto with_checksum = [](rocksdb::ChecksumType checksum) {
    rocksdb::BlockBasedTableOptions table;
    table.checksum = checksum;
    return table;
  };

  write(out / "rocksdb7-default.sst", {}, {}, lines(300));
  write(out / "rocksdb7-lz4.sst", with_codec(rocksdb::kLZ4Compression), {}, lines(300));
  write(out / "rocksdb7-lz4hc.sst", with_codec(rocksdb::kLZ4HCCompression), with_checksum(rocksdb::kCRC32c),
        lines(300));
  write(out / "rocksdb7-zstd.sst", with_codec(rocksdb::kZSTD), {}, lines(300));
  write(out / "rocksdb7-deflate.sst", with_codec(rocksdb::kZlibCompression), {}, lines(200));
  write(out / "rocksdb7-uncompressed.sst", with_codec(rocksdb::kNoCompression), {}, lines(60));
  write(out / "rocksdb7-xxhash32.sst", {}, with_checksum(rocksdb::kxxHash), lines(100));
  write(out / "rocksdb7-xxhash64.sst", {}, with_checksum(rocksdb::kxxHash64), lines(100));
  write(out / "rocksdb7-range-deletions.sst", {}, {}, [](rocksdb::DB& db) {
    put_lines(db, 50);
    check(db.DeleteRange({}, db.DefaultColumnFamily(), key_of(3), key_of(9)));
    check(db.DeleteRange({}, db.DefaultColumnFamily(), key_of(20), key_of(31)));
    put_lines(db, 30);
  });

  rocksdb::BlockBasedTableOptions oldest = with_checksum(rocksdb::kxxHash);
  oldest.format_version = 1;
  write(out / "rocksdb7-version-1-lz4.sst", with_codec(rocksdb::kLZ4Compression), oldest, lines(100));

  rocksdb::BlockBasedTableOptions partitions;
  partitions.index_type = rocksdb::BlockBasedTableOptions::kTwoLevelIndexSearch;
  partitions.filter_policy.reset(rocksdb::NewBloomFilterPolicy(10));
  partitions.block_size = 256;
  partitions.metadata_block_size = 256;
  write(out / "rocksdb7-partitions.sst", with_codec(rocksdb::kLZ4Compression), partitions, lines(200));
  partitions.partition_filters = true;
  write(out / "rocksdb7-filter-in-parts.sst", with_codec(rocksdb::kLZ4Compression), partitions, lines(200));
  partitions.format_version = 2;  // places one by one
  partitions.checksum = rocksdb::kCRC32c;
  write(out / "rocksdb7-version-2-filter-in-parts.sst", {}, partitions, lines(100));
}
