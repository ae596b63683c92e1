// Executes a script with LevelDB: see script.h and README.md.
#include <memory>
#include <string>
#include <utility>

#include <leveldb/db.h>
#include <leveldb/filter_policy.h>
#include <leveldb/write_batch.h>

#include "script.h"

namespace drive {
namespace {

class LevelDb {
 public:
  explicit LevelDb(const std::string& folder) : directory_(folder + "/db") { options_.create_if_missing = true; }

  bool execute(const Words& words, Script& script) {
    const std::string& what = words[0];
    if (what == "set") return set(words[2], words[3]);
    if (what == "open") return open();
    if (what == "close") return db_.reset(), true;
    if (what == "dump") return dump();
    if (what == "compact") return compact(words);
    leveldb::WriteBatch batch;
    if (what == "pair") {  // two keys get the same new value at once
      const std::string value = std::to_string(next_pair_++);
      batch.Put("pair/1", value);
      batch.Put("pair/2", value);
    } else if (what == "batch") {
      Words line;
      for (std::uint64_t left = std::stoull(words[1]); left > 0 && script.next(line); --left) add_to(batch, line);
    } else if (!add_to(batch, words)) {
      return false;
    }
    check(db_->Write({}, &batch));
    return true;
  }

 private:
  bool set(const std::string& name, const std::string& value) {
    if (name == "block_size") options_.block_size = std::stoull(value);
    if (name == "block_restart_interval") options_.block_restart_interval = std::stoi(value);
    if (name == "write_buffer_size") options_.write_buffer_size = std::stoull(value);
    if (name == "max_file_size") options_.max_file_size = std::stoull(value);
    if (name == "compression")
      options_.compression = value == "none" ? leveldb::kNoCompression : leveldb::kSnappyCompression;
    if (name == "reuse_logs") options_.reuse_logs = value == "true";
    if (name == "filter_policy") filter_.reset(leveldb::NewBloomFilterPolicy(10));
    options_.filter_policy = filter_.get();
    return true;
  }

  bool open() {
    db_.reset();  // the new one needs the lock
    leveldb::DB* opened = nullptr;
    check(leveldb::DB::Open(options_, directory_, &opened));
    db_.reset(opened);
    return true;
  }

  bool dump() {
    leveldb::ReadOptions reading;
    reading.verify_checksums = true;
    const std::unique_ptr<leveldb::Iterator> at(db_->NewIterator(reading));
    for (at->SeekToFirst(); at->Valid(); at->Next())
      print_row(stdout, "default", at->key().ToString(), at->value().ToString());
    check(at->status());
    return true;
  }

  // compact FAMILY [FROM TO]
  bool compact(const Words& words) {
    if (words.size() < 4) return db_->CompactRange(nullptr, nullptr), true;
    const std::string from = bytes_of(words[2]), to = bytes_of(words[3]);
    const leveldb::Slice begin(from), end(to);
    return db_->CompactRange(&begin, &end), true;
  }

  static bool add_to(leveldb::WriteBatch& batch, const Words& words) {
    if (words[0] == "put") return batch.Put(bytes_of(words[2]), bytes_of(words[3])), true;
    if (words[0] == "delete") return batch.Delete(bytes_of(words[2])), true;
    return false;
  }

  const std::string directory_;
  std::unique_ptr<const leveldb::FilterPolicy> filter_;
  leveldb::Options options_;
  std::uint64_t next_pair_ = 0;
  std::unique_ptr<leveldb::DB> db_;
};

}  // namespace
}  // namespace drive

int main(int argc, char** argv) {
  return drive::run<drive::LevelDb>(
      argc, argv, "leveldb " + std::to_string(leveldb::kMajorVersion) + "." + std::to_string(leveldb::kMinorVersion));
}
