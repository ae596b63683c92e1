// Writes a random RocksDB database, and dumps one: see random_database.h.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <rocksdb/comparator.h>
#include <rocksdb/convenience.h>
#include <rocksdb/db.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/merge_operator.h>
#include <rocksdb/options.h>
#include <rocksdb/slice_transform.h>
#include <rocksdb/sst_file_writer.h>
#include <rocksdb/table.h>
#include <rocksdb/write_batch.h>

#include "random_database.h"

namespace random_database {
namespace {

using rocksdb::BlockBasedTableOptions;
using rocksdb::ColumnFamilyHandle;

class Append final : public rocksdb::AssociativeMergeOperator {
 public:
  bool Merge(const rocksdb::Slice&, const rocksdb::Slice* old, const rocksdb::Slice& operand, std::string* result,
             rocksdb::Logger*) const override {
    *result = (old == nullptr ? "" : old->ToString() + ",") + operand.ToString();
    return true;
  }
  const char* Name() const override { return "append"; }
};

BlockBasedTableOptions table_options(Choices& choices) {
  BlockBasedTableOptions table;
  table.block_size = choices.one_of<std::size_t>({128, 1024, 4096, 32768});
  table.block_restart_interval = choices.one_of({1, 4, 16});
  table.index_block_restart_interval = choices.one_of({1, 8});
  table.format_version = static_cast<std::uint32_t>(choices.between(2, 5));
  table.checksum =
      choices.one_of<rocksdb::ChecksumType>({rocksdb::kCRC32c, rocksdb::kxxHash, rocksdb::kxxHash64, rocksdb::kXXH3});
  table.index_type = choices.one_of<BlockBasedTableOptions::IndexType>(
      {BlockBasedTableOptions::kBinarySearch, BlockBasedTableOptions::kTwoLevelIndexSearch,
       BlockBasedTableOptions::kBinarySearchWithFirstKey});
  if (choices.once_in(3)) table.data_block_index_type = BlockBasedTableOptions::kDataBlockBinaryAndHash;
  table.metadata_block_size = choices.one_of<std::uint64_t>({128, 4096});
  switch (choices.below(4)) {
    case 0: table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(10)); break;
    case 1: table.filter_policy.reset(rocksdb::NewRibbonFilterPolicy(10)); break;
    default: break;
  }
  table.partition_filters = table.filter_policy && table.index_type == BlockBasedTableOptions::kTwoLevelIndexSearch;
  table.whole_key_filtering = !choices.once_in(4);
  table.enable_index_compression = !choices.once_in(3);
  return table;
}

rocksdb::Options database_options(Choices& choices) {
  rocksdb::Options options;
  options.create_if_missing = true;
  options.write_buffer_size = choices.one_of<std::size_t>({65536, 200000, 8u << 20});
  options.arena_block_size = 4096;
  options.target_file_size_base = choices.one_of<std::uint64_t>({20000, 200000, 8u << 20});
  options.max_bytes_for_level_base = choices.one_of<std::uint64_t>({100000, 8u << 20});
  options.level0_file_num_compaction_trigger = choices.one_of({2, 4});
  options.max_background_jobs = 2;
  options.compression = choices.one_of<rocksdb::CompressionType>({rocksdb::kNoCompression, rocksdb::kSnappyCompression,
                                                                  rocksdb::kZlibCompression, rocksdb::kLZ4Compression,
                                                                  rocksdb::kLZ4HCCompression, rocksdb::kZSTD});
  // Dictionaries. recordfs reports that it cannot decompress zlib with one.
  if (choices.once_in(2) && options.compression != rocksdb::kZlibCompression) {
    options.compression_opts.max_dict_bytes = 4096;
    options.compression_opts.zstd_max_train_bytes = choices.once_in(2) ? 65536 : 0;
  }
  if (choices.once_in(3)) {
    options.enable_blob_files = true;
    options.min_blob_size = choices.one_of<std::uint64_t>({0, 100, 5000});
    options.blob_compression_type = choices.one_of<rocksdb::CompressionType>(
        {rocksdb::kNoCompression, rocksdb::kSnappyCompression, rocksdb::kLZ4Compression, rocksdb::kZSTD});
    options.enable_blob_garbage_collection = choices.once_in(2);
    options.blob_garbage_collection_age_cutoff = 0.5;
  }
  if (choices.once_in(4)) options.compaction_style = rocksdb::kCompactionStyleUniversal;
  if (choices.once_in(4)) options.comparator = rocksdb::ReverseBytewiseComparator();
  if (choices.once_in(3)) options.wal_compression = rocksdb::kZSTD;
  if (choices.once_in(3)) options.recycle_log_file_num = 2;
  if (choices.once_in(3)) options.max_manifest_file_size = 2000;
  if (choices.once_in(3)) options.prefix_extractor.reset(rocksdb::NewCappedPrefixTransform(5));
  options.atomic_flush = choices.once_in(4);
  options.level_compaction_dynamic_level_bytes = choices.once_in(3);
  options.merge_operator = std::make_shared<Append>();
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table_options(choices)));
  return options;
}

class RocksDb {
 public:
  RocksDb(std::uint64_t seed, std::string directory)
      : choices_(seed), directory_(std::move(directory)), options_(database_options(choices_)) {
    choices_.set_key_count(choices_.one_of<std::uint64_t>({10, 300, 5000}));
  }
  ~RocksDb() { close(); }
  RocksDb(const RocksDb&) = delete;
  RocksDb& operator=(const RocksDb&) = delete;

  void write() {
    open();
    const auto steps = choices_.one_of<std::uint64_t>({0, 1, 30, 500, 4000});
    const std::uint64_t at = choices_.below(steps + 1);
    const bool keeps_snapshot = choices_.once_in(2);
    for (std::uint64_t i = 0; i < steps; ++i) {
      if (keeps_snapshot && i == at) take_snapshot();
      step(steps);
    }
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
    dump_to(stdout, nullptr);
  }

 private:
  void open() {
    close();
    std::vector<std::string> names;
    if (!rocksdb::DB::ListColumnFamilies(options_, directory_, &names).ok()) names = {"default"};
    std::vector<rocksdb::ColumnFamilyDescriptor> descriptors;
    for (const std::string& name : names) descriptors.emplace_back(name, options_);
    rocksdb::DB* opened = nullptr;
    check(rocksdb::DB::Open(options_, directory_, descriptors, &families_, &opened));
    db_.reset(opened);
  }

  void close() {
    if (snapshot_ != nullptr) {
      rocksdb::CancelAllBackgroundWork(db_.get(), true);  // or a compaction would drop what the snapshot shows
      db_->ReleaseSnapshot(snapshot_);
    }
    snapshot_ = nullptr;
    for (ColumnFamilyHandle* handle : families_) check(db_->DestroyColumnFamilyHandle(handle));
    families_.clear();
    db_.reset();
  }

  void dump_to(std::FILE* out, const rocksdb::Snapshot* snapshot) {
    rocksdb::ReadOptions reading;
    reading.total_order_seek = true;
    reading.snapshot = snapshot;
    for (ColumnFamilyHandle* handle : families_) {
      const std::unique_ptr<rocksdb::Iterator> at(db_->NewIterator(reading, handle));
      for (at->SeekToFirst(); at->Valid(); at->Next()) {
        print_row(out, handle->GetName(), at->key().ToString(), at->value().ToString());
      }
      check(at->status());
    }
  }

  // Keeps a snapshot from now on, so that compactions keep what it shows. From now on, the database is not opened anew,
  // and has the same families.
  void take_snapshot() {
    snapshot_ = db_->GetSnapshot();
    std::FILE* const out = std::fopen((directory_ + ".snapshot").c_str(), "w");
    if (out == nullptr) std::exit(1);
    std::fprintf(out, "%llu\n", static_cast<unsigned long long>(snapshot_->GetSequenceNumber()));
    dump_to(out, snapshot_);
    std::fclose(out);
  }

  ColumnFamilyHandle* family() { return choices_.one_of(families_); }

  // Does one random thing. `steps`: how many there will be, so that the rare ones happen a few times.
  void step(std::uint64_t steps) {
    const bool is_free = snapshot_ == nullptr;
    if (is_free && choices_.once_in(steps / 3 + 20)) return open();
    if (choices_.once_in(steps / 5 + 20)) return check(db_->Flush({}, family()));
    if (choices_.once_in(steps / 3 + 30)) return compact();
    if (is_free && families_.size() < most_families_ && choices_.once_in(steps / 8 + 10)) return add_family();
    if (is_free && families_.size() > 1 && choices_.once_in(steps / 2 + 20)) return drop_family();
    if (is_free && can_ingest_ && choices_.once_in(steps / 3 + 20)) return ingest();
    if (choices_.once_in(10)) return write_batch();
    write_one();
  }

  void write_one() {
    ColumnFamilyHandle* const in = family();
    const std::string key = choices_.key();
    if (has_ranges_ && choices_.once_in(60)) return delete_range(in);
    if (has_merges_ && choices_.once_in(12)) return check(db_->Merge({}, in, key, choices_.value()));
    if (choices_.once_in(15)) return single_delete(in);
    check(choices_.once_in(5) ? db_->Delete({}, in, key) : db_->Put({}, in, key, choices_.value()));
  }

  void write_batch() {
    rocksdb::WriteBatch batch;
    for (std::uint64_t left = choices_.below(30); left > 0; --left) {
      ColumnFamilyHandle* const in = family();
      const std::string key = choices_.key();
      check(choices_.once_in(5) ? batch.Delete(in, key) : batch.Put(in, key, choices_.value()));
    }
    if (choices_.once_in(5)) batch.PutLogData("of the log only");
    check(db_->Write({}, &batch));
  }

  // Keys of single deletions must have been written exactly once.
  void single_delete(ColumnFamilyHandle* in) {
    const std::string key = "single/" + std::to_string(next_single_++);
    check(db_->Put({}, in, key, choices_.value()));
    if (choices_.once_in(3)) check(db_->Flush({}, in));
    if (!choices_.once_in(3)) check(db_->SingleDelete({}, in, key));
  }

  void delete_range(ColumnFamilyHandle* in) {
    std::string from = choices_.key(), to = choices_.key();
    if (options_.comparator->Compare(to, from) < 0) std::swap(from, to);
    check(db_->DeleteRange({}, in, from, to));
  }

  // Gives two keys the same value at once.
  void write_pair(const std::string& value) {
    rocksdb::WriteBatch batch;
    check(batch.Put("pair/1", value));
    check(batch.Put("pair/2", value));
    check(db_->Write({}, &batch));
  }

  void compact() {
    if (choices_.once_in(2)) return check(db_->CompactRange({}, family(), nullptr, nullptr));
    std::string from = choices_.key(), to = choices_.key();
    if (options_.comparator->Compare(to, from) < 0) std::swap(from, to);
    const rocksdb::Slice begin(from), end(to);
    check(db_->CompactRange({}, family(), &begin, &end));
  }

  void add_family() {
    ColumnFamilyHandle* handle = nullptr;
    check(db_->CreateColumnFamily(options_, "family " + std::to_string(next_family_++), &handle));
    families_.push_back(handle);
  }
  void drop_family() {
    check(db_->DropColumnFamily(families_.back()));
    check(db_->DestroyColumnFamilyHandle(families_.back()));
    families_.pop_back();
  }

  void ingest() {
    std::set<std::string> keys;
    for (int i = 0; i < 20; ++i) keys.insert(choices_.key());
    std::vector<std::string> in_order(keys.begin(), keys.end());
    std::ranges::sort(in_order, [&](const auto& a, const auto& b) { return options_.comparator->Compare(a, b) < 0; });
    const std::string path = directory_ + ".external";
    rocksdb::SstFileWriter writer(rocksdb::EnvOptions(), options_);
    check(writer.Open(path));
    for (const std::string& key : in_order) check(writer.Put(key, choices_.value()));
    check(writer.Finish());
    check(db_->IngestExternalFile(family(), {path}, {}));
    std::filesystem::remove(path);
  }

  Choices choices_;
  const std::string directory_;
  const rocksdb::Options options_;
  const bool has_ranges_ = choices_.once_in(2);
  const bool has_merges_ = choices_.once_in(3);
  const bool can_ingest_ = choices_.once_in(3) && !options_.enable_blob_files;
  const std::size_t most_families_ = choices_.one_of<std::size_t>({1, 1, 3, 6});
  std::uint64_t next_family_ = 1, next_single_ = 0;
  std::unique_ptr<rocksdb::DB> db_;
  std::vector<ColumnFamilyHandle*> families_;
  const rocksdb::Snapshot* snapshot_ = nullptr;
};

}  // namespace
}  // namespace random_database

int main(int argc, char** argv) { return random_database::run<random_database::RocksDb>(argc, argv); }
