// Writes the samples of tests/corpus/database whose names begin with leveldb-: real databases, written by LevelDB
// itself, with what it returns for them. Not part of the build. With Debian's libleveldb-dev:
//
//   g++ -std=c++17 write_leveldb.cc -lleveldb -o write_leveldb && ./write_leveldb FOLDER
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>

#include <leveldb/comparator.h>
#include <leveldb/db.h>
#include <leveldb/filter_policy.h>
#include <leveldb/write_batch.h>

#include "expectation.h"

namespace {

namespace fs = std::filesystem;

void check(const leveldb::Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "%s\n", status.ToString().c_str());
  std::exit(1);
}

// Orders keys by their length first, as a comparator that no other program knows.
class ByLength final : public leveldb::Comparator {
 public:
  int Compare(const leveldb::Slice& a, const leveldb::Slice& b) const override {
    return a.size() != b.size() ? (a.size() < b.size() ? -1 : 1) : -a.compare(b);
  }
  const char* Name() const override { return "idb_cmp1"; }
  void FindShortestSeparator(std::string*, const leveldb::Slice&) const override {}
  void FindShortSuccessor(std::string*) const override {}
};

std::string key_of(int number) {
  std::string digits = std::to_string(number);
  return "key" + std::string(5 - digits.size(), '0') + digits;
}

std::string value_of(int number, int version) {
  return "value " + std::to_string(number) + " of version " + std::to_string(version);
}

class Sample {
 public:
  Sample(const fs::path& folder, const std::string& name, leveldb::Options options)
      : folder_(folder / name), options_(options) {
    fs::remove_all(folder_);
    options_.create_if_missing = true;
    open();
  }

  leveldb::DB& db() { return *db_; }
  // The writes of the log become a table of level 0.
  void reopen() {
    db_.reset();
    open();
  }
  void finish() {
    ExpectedFamily family{0, "default", {}};
    std::unique_ptr<leveldb::Iterator> at(db_->NewIterator({}));
    for (at->SeekToFirst(); at->Valid(); at->Next())
      family.keys.emplace_back(at->key().ToString(), at->value().ToString());
    check(at->status());
    at.reset();
    db_.reset();
    write_expectation(folder_.string() + ".expect.json", "libleveldb 1.23", {family});
    for (const char* name : {"LOG", "LOG.old", "LOCK"}) fs::remove(folder_ / name);
  }

 private:
  void open() {
    leveldb::DB* opened = nullptr;
    check(leveldb::DB::Open(options_, folder_.string(), &opened));
    db_.reset(opened);
  }

  fs::path folder_;
  leveldb::Options options_;
  std::unique_ptr<leveldb::DB> db_;
};

void put(Sample& sample, int from, int to, int version, int step = 1) {
  for (int i = from; i < to; i += step) check(sample.db().Put({}, key_of(i), value_of(i, version)));
}
void erase(Sample& sample, int from, int to, int step) {
  for (int i = from; i < to; i += step) check(sample.db().Delete({}, key_of(i)));
}

void log_only(const fs::path& folder) {
  Sample sample(folder, "leveldb-log-only", {});
  put(sample, 0, 20, 1);
  put(sample, 0, 20, 2, 3);
  erase(sample, 5, 20, 5);
  leveldb::WriteBatch batch;
  batch.Put("", "the empty key");
  batch.Put(std::string("zero\0byte", 9), "");
  batch.Put("dropped", "first");
  batch.Delete("dropped");
  check(sample.db().Write({}, &batch));
  sample.finish();
}

// Tables of several levels, versions of one key in each of them, and a log.
void levels(const fs::path& folder, const std::string& name, leveldb::Options options) {
  Sample sample(folder, name, options);
  put(sample, 0, 120, 1);
  sample.db().CompactRange(nullptr, nullptr);
  put(sample, 0, 120, 2, 4);
  erase(sample, 1, 120, 8);
  sample.reopen();
  put(sample, 0, 120, 3, 6);
  sample.reopen();
  put(sample, 200, 230, 4);
  erase(sample, 2, 120, 20);
  sample.reopen();
  put(sample, 0, 120, 5, 24);
  erase(sample, 3, 230, 16);
  sample.finish();
}

void by_length(const fs::path& folder) {
  static const ByLength comparator;
  leveldb::Options options;
  options.comparator = &comparator;
  Sample sample(folder, "leveldb-idb-cmp1", options);
  for (int round = 0; round < 3; ++round) {
    for (int i = round; i < 40; i += 1 + round) {
      check(sample.db().Put({}, std::string(1 + i % 5, 'a') + std::to_string(i * 7), value_of(i, round)));
    }
    check(sample.db().Delete({}, "aa7"));
    if (round < 2) sample.reopen();
  }
  sample.finish();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const fs::path folder = argv[1];
  log_only(folder);
  leveldb::Options small;
  small.block_size = 512;
  levels(folder, "leveldb-levels", small);
  small.filter_policy = leveldb::NewBloomFilterPolicy(10);
  levels(folder, "leveldb-filters", small);
  by_length(folder);
}
