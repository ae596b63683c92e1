// Writes a RocksDB database with many keys in tables of 22 MB, for speed.py: large_rocksdb DIRECTORY KEYS.
//
// The keys are "user:0000000000" and so on, written in another order, with values of 92 bytes. The newest value of
// "user:0000000077" is in the log.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>
#include <string>

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

std::unique_ptr<rocksdb::DB> open(const std::string& directory) {
  rocksdb::BlockBasedTableOptions tables;
  tables.filter_policy.reset(rocksdb::NewBloomFilterPolicy(10));
  rocksdb::Options options;
  options.create_if_missing = true;
  options.compression = rocksdb::kNoCompression;
  options.target_file_size_base = 22u << 20;
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(tables));
  rocksdb::DB* database = nullptr;
  check(rocksdb::DB::Open(options, directory, &database));
  return std::unique_ptr<rocksdb::DB>(database);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 1;
  const std::unique_ptr<rocksdb::DB> database = open(argv[1]);
  const std::uint64_t keys = std::strtoull(argv[2], nullptr, 10);
  constexpr std::uint64_t kPrime = 2654435761;  // has no divisor in common with a power of ten
  rocksdb::WriteOptions without_log;
  without_log.disableWAL = true;
  std::mt19937_64 random(1);
  std::string value(92, ' ');
  for (std::uint64_t i = 0; i < keys; ++i) {
    for (char& letter : value) letter = static_cast<char>('a' + random() % 26);
    check(database->Put(without_log, key_of(i * kPrime % keys), value));
  }
  check(database->Flush({}));
  check(database->CompactRange({}, nullptr, nullptr));
  check(database->Put({}, key_of(77), "from the log"));
}
