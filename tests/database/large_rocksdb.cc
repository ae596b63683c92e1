// Writes a RocksDB database with many keys in tables of 22 MB, for speed.py: large_rocksdb DIRECTORY KEYS
// [overlapping].
//
// The keys are "user:0000000000" and so on, written in another order, with values of 92 bytes. The newest value of
// "user:0000000077" is in the log. With `overlapping`, the tables overlap: a tenth of the keys have newer values in
// level 3, and a hundredth in each of eight tables of level 0.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <rocksdb/db.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/options.h>
#include <rocksdb/table.h>

namespace {

void check(const rocksdb::Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "large_rocksdb: %s\n", status.ToString().c_str());
  std::exit(1);
}

std::string key_of(std::uint64_t number) {
  std::string digits = std::to_string(number);
  return "user:" + std::string(10 - digits.size(), '0') + digits;
}

std::unique_ptr<rocksdb::DB> open(const std::string& directory, bool compacts) {
  rocksdb::BlockBasedTableOptions tables;
  tables.filter_policy.reset(rocksdb::NewBloomFilterPolicy(10));
  rocksdb::Options options;
  options.create_if_missing = true;
  options.compression = rocksdb::kNoCompression;
  options.target_file_size_base = 22u << 20;
  options.disable_auto_compactions = !compacts;
  if (!compacts) options.level0_slowdown_writes_trigger = options.level0_stop_writes_trigger = 1 << 20;
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(tables));
  rocksdb::DB* database = nullptr;
  check(rocksdb::DB::Open(options, directory, &database));
  return std::unique_ptr<rocksdb::DB>(database);
}

// Writes `count` of the keys in an order of their own, without a log.
void write(rocksdb::DB& database, std::mt19937_64& random, std::uint64_t keys, std::uint64_t first,
           std::uint64_t count) {
  constexpr std::uint64_t kPrime = 2654435761;  // has no divisor in common with a power of ten
  rocksdb::WriteOptions without_log;
  without_log.disableWAL = true;
  std::string value(92, ' ');
  for (std::uint64_t i = first; i < first + count; ++i) {
    for (char& letter : value) letter = static_cast<char>('a' + random() % 26);
    check(database.Put(without_log, key_of(i * kPrime % keys), value));
  }
  check(database.Flush({}));
}

// Moves the tables of level 0 to a higher one.
void compact_newest(rocksdb::DB& database, int level) {
  std::vector<rocksdb::LiveFileMetaData> all;
  database.GetLiveFilesMetaData(&all);
  std::vector<std::string> names;
  for (const rocksdb::LiveFileMetaData& file : all) {
    if (file.level == 0) names.push_back(file.name);
  }
  rocksdb::CompactionOptions options;
  options.compression = rocksdb::kNoCompression;
  options.output_file_size_limit = 22u << 20;
  check(database.CompactFiles(options, names, level));
}

void write_overlapping(rocksdb::DB& database, std::mt19937_64& random, std::uint64_t keys) {
  constexpr int kLowest = 6;
  constexpr int kMiddle = 3;
  compact_newest(database, kLowest);
  write(database, random, keys, 1, keys / 10);
  compact_newest(database, kMiddle);
  for (std::uint64_t i = 0; i < 8; ++i) write(database, random, keys, 11 + i * keys / 10, keys / 100);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3 || argc > 4) return 1;
  const bool overlaps = argc == 4 && std::string_view(argv[3]) == "overlapping";
  const std::unique_ptr<rocksdb::DB> database = open(argv[1], !overlaps);
  const std::uint64_t keys = std::strtoull(argv[2], nullptr, 10);
  std::mt19937_64 random(1);
  write(*database, random, keys, 0, keys);
  if (overlaps) {
    write_overlapping(*database, random, keys);
  } else {
    check(database->CompactRange({}, nullptr, nullptr));
  }
  check(database->Put({}, key_of(77), "from the log"));
}
