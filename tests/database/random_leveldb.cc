// Writes a random LevelDB database, and dumps one: see random_database.h.
#include <cstdio>
#include <memory>
#include <string>
#include <utility>

#include <leveldb/db.h>
#include <leveldb/filter_policy.h>
#include <leveldb/write_batch.h>

#include "random_database.h"

namespace random_database {
namespace {

class LevelDb {
 public:
  LevelDb(std::uint64_t seed, std::string directory) : choices_(seed), directory_(std::move(directory)) {
    options_.create_if_missing = true;
    options_.block_size = choices_.one_of<std::size_t>({64, 512, 4096, 65536});
    options_.block_restart_interval = choices_.one_of({1, 2, 16});
    options_.write_buffer_size = choices_.one_of<std::size_t>({65536, 100000, 4u << 20});
    options_.max_file_size = 1u << 20;
    options_.compression = choices_.once_in(3) ? leveldb::kNoCompression : leveldb::kSnappyCompression;
    options_.reuse_logs = choices_.once_in(3);
    if (choices_.once_in(2)) {
      filter_.reset(leveldb::NewBloomFilterPolicy(10));
      options_.filter_policy = filter_.get();
    }
    choices_.set_key_count(choices_.one_of<std::uint64_t>({10, 300, 5000}));
  }

  void write() {
    open();
    const auto steps = choices_.one_of<std::uint64_t>({0, 1, 30, 500, 4000});
    for (std::uint64_t i = 0; i < steps; ++i) step(steps);
  }

  [[noreturn]] void endless() {
    open();
    std::puts("open");
    std::fflush(stdout);
    for (std::uint64_t i = 0;; ++i) {
      step(3000);
      write_pair(std::to_string(i));
    }
  }

  void dump() {
    open();
    leveldb::ReadOptions reading;
    reading.verify_checksums = true;
    const std::unique_ptr<leveldb::Iterator> at(db_->NewIterator(reading));
    for (at->SeekToFirst(); at->Valid(); at->Next()) {
      print_row(stdout, "default", at->key().ToString(), at->value().ToString());
    }
    check(at->status());
  }

 private:
  void open() {
    db_.reset();  // the new one needs the lock
    leveldb::DB* opened = nullptr;
    check(leveldb::DB::Open(options_, directory_, &opened));
    db_.reset(opened);
  }

  // Does one random thing. `steps`: how many there will be, so that the rare ones happen a few times.
  void step(std::uint64_t steps) {
    if (choices_.once_in(steps / 4 + 20)) return open();
    if (choices_.once_in(steps / 2 + 40)) return compact();
    if (choices_.once_in(10)) return write_batch();
    const std::string key = choices_.key();
    check(choices_.once_in(4) ? db_->Delete({}, key) : db_->Put({}, key, choices_.value()));
  }

  void write_batch() {
    leveldb::WriteBatch batch;
    for (std::uint64_t left = choices_.below(30); left > 0; --left) {
      const std::string key = choices_.key();
      if (choices_.once_in(4)) {
        batch.Delete(key);
      } else {
        batch.Put(key, choices_.value());
      }
    }
    check(db_->Write({}, &batch));
  }

  // Gives two keys the same value at once.
  void write_pair(const std::string& value) {
    leveldb::WriteBatch batch;
    batch.Put("pair/1", value);
    batch.Put("pair/2", value);
    check(db_->Write({}, &batch));
  }

  void compact() {
    if (choices_.once_in(2)) return db_->CompactRange(nullptr, nullptr);
    std::string from = choices_.key(), to = choices_.key();
    if (to < from) std::swap(from, to);
    const leveldb::Slice begin(from), end(to);
    db_->CompactRange(&begin, &end);
  }

  Choices choices_;
  const std::string directory_;
  std::unique_ptr<const leveldb::FilterPolicy> filter_;
  leveldb::Options options_;
  std::unique_ptr<leveldb::DB> db_;
};

}  // namespace
}  // namespace random_database

int main(int argc, char** argv) { return random_database::run<random_database::LevelDb>(argc, argv); }
