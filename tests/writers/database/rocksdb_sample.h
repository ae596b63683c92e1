// A sample of tests/corpus/database that RocksDB writes.
#pragma once

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include <rocksdb/comparator.h>
#include <rocksdb/db.h>
#include <rocksdb/options.h>
#include <rocksdb/table.h>
#include <rocksdb/utilities/transaction_db.h>

#include "expectation.h"

namespace fs = std::filesystem;
using rocksdb::ColumnFamilyHandle;

inline void check(const rocksdb::Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "%s\n", status.ToString().c_str());
  std::exit(1);
}

inline std::string key_of(int number) {
  std::string digits = std::to_string(number);
  return "key" + std::string(5 - digits.size(), '0') + digits;
}
inline std::string value_of(int number, int version) {
  return "value " + std::to_string(number) + " of version " + std::to_string(version);
}

class Sample {
 public:
  Sample(const fs::path& folder, const std::string& name, rocksdb::Options options,
         const rocksdb::BlockBasedTableOptions& table = {}, bool has_transactions = false)
      : folder_(folder / name), options_(options), has_transactions_(has_transactions) {
    fs::remove_all(folder_);
    options_.create_if_missing = true;
    options_.db_host_id = "samples";
    options_.disable_auto_compactions = true;
    if (!options_.table_factory || options_.table_factory->Name() == std::string("BlockBasedTable")) {
      options_.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
    }
    open({"default"});
  }

  rocksdb::DB& db() { return *db_; }
  rocksdb::TransactionDB& transactions() { return static_cast<rocksdb::TransactionDB&>(*db_); }
  ColumnFamilyHandle* family(std::size_t index) { return families_[index]; }
  void add_family(const std::string& name) { add_family(name, options_); }
  void add_family(const std::string& name, const rocksdb::Options& options) {
    ColumnFamilyHandle* handle = nullptr;
    check(db_->CreateColumnFamily(options, name, &handle));
    families_.push_back(handle);
  }
  void drop_last_family() {
    check(db_->DropColumnFamily(families_.back()));
    check(db_->DestroyColumnFamilyHandle(families_.back()));
    families_.pop_back();
  }

  void put(int from, int to, int version, int step = 1, std::size_t in = 0, const std::string& more = "") {
    for (int i = from; i < to; i += step) check(db_->Put({}, families_[in], key_of(i), value_of(i, version) + more));
  }
  void flush(std::size_t in = 0) { check(db_->Flush({}, families_[in])); }
  void compact() { check(db_->CompactRange({}, nullptr, nullptr)); }

  void reopen() {
    std::vector<std::string> names;
    for (ColumnFamilyHandle* handle : families_) names.push_back(handle->GetName());
    close();
    open(names);
  }

  // Keeps the lines of the newest OPTIONS file that recordfs needs, without paths.
  void finish_with_options() {
    fs::path newest;
    for (const auto& entry : fs::directory_iterator(folder_)) {
      if (entry.path().filename().string().rfind("OPTIONS", 0) == 0) newest = std::max(newest, entry.path());
    }
    std::string kept;
    std::ifstream options(newest);
    for (std::string line; std::getline(options, line);) {
      const auto has = [&](const char* text) { return line.find(text) != std::string::npos; };
      if (has("[") || has("rocksdb_version=") || has("merge_operator=") || has(" comparator=")) kept += line + "\n";
    }
    finish();
    std::ofstream(newest) << kept;
  }

  void finish() {
    std::vector<ExpectedFamily> expected;
    for (ColumnFamilyHandle* handle : families_) {
      ExpectedFamily& family = expected.emplace_back();
      family.id = handle->GetID();
      family.name = handle->GetName();
      rocksdb::ReadOptions all;
      all.total_order_seek = true;
      const std::string newest(options_.comparator->timestamp_size(), '\xff');
      const rocksdb::Slice timestamp(newest);
      if (!newest.empty()) all.timestamp = &timestamp;
      std::unique_ptr<rocksdb::Iterator> at(db_->NewIterator(all, handle));
      for (at->SeekToFirst(); at->Valid(); at->Next()) {
        family.keys.emplace_back(at->key().ToString(), at->value().ToString());
      }
      check(at->status());
    }
    close();
    write_expectation(folder_.string() + ".expect.json", "librocksdb 7.8.3", expected);
    for (const auto& entry : fs::directory_iterator(folder_)) {
      const std::string name = entry.path().filename().string();
      if (name.rfind("LOG", 0) == 0 || name == "LOCK" || name.rfind("OPTIONS", 0) == 0) fs::remove(entry.path());
    }
  }

 private:
  void open(const std::vector<std::string>& names) {
    std::vector<rocksdb::ColumnFamilyDescriptor> descriptors;
    for (const std::string& name : names) descriptors.emplace_back(name, options_);
    if (has_transactions_) {
      rocksdb::TransactionDB* opened = nullptr;
      check(rocksdb::TransactionDB::Open(options_, {}, folder_.string(), descriptors, &families_, &opened));
      db_.reset(opened);
    } else {
      rocksdb::DB* opened = nullptr;
      check(rocksdb::DB::Open(options_, folder_.string(), descriptors, &families_, &opened));
      db_.reset(opened);
    }
  }
  void close() {
    for (ColumnFamilyHandle* handle : families_) check(db_->DestroyColumnFamilyHandle(handle));
    families_.clear();
    db_.reset();
  }

  fs::path folder_;
  rocksdb::Options options_;
  bool has_transactions_;
  std::unique_ptr<rocksdb::DB> db_;
  std::vector<ColumnFamilyHandle*> families_;
};
