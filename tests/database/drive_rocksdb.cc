// Executes a script with RocksDB 7.8 to 11: see script.h and README.md.
#include <algorithm>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <rocksdb/comparator.h>
#include <rocksdb/convenience.h>
#include <rocksdb/db.h>
#include <rocksdb/merge_operator.h>
#include <rocksdb/options.h>
#include <rocksdb/sst_file_writer.h>
#include <rocksdb/table.h>
#include <rocksdb/utilities/checkpoint.h>
#include <rocksdb/utilities/transaction.h>
#include <rocksdb/utilities/transaction_db.h>
#include <rocksdb/version.h>
#include <rocksdb/wide_columns.h>
#include <rocksdb/write_batch.h>

#include "script.h"

namespace drive {
namespace {

using rocksdb::ColumnFamilyHandle;
using rocksdb::Slice;
using rocksdb::Status;

// An operator that no reader knows.
class Append final : public rocksdb::AssociativeMergeOperator {
 public:
  bool Merge(const Slice&, const Slice* old, const Slice& operand, std::string* result,
             rocksdb::Logger*) const override {
    *result = (old == nullptr ? "" : old->ToString() + ",") + operand.ToString();
    return true;
  }
  const char* Name() const override { return "append"; }
};

// An order that no reader knows: shorter keys first.
class ByLength final : public rocksdb::Comparator {
 public:
  int Compare(const Slice& a, const Slice& b) const override {
    return a.size() != b.size() ? (a.size() < b.size() ? -1 : 1) : a.compare(b);
  }
  const char* Name() const override { return "by_length"; }
  void FindShortestSeparator(std::string*, const Slice&) const override {}
  void FindShortSuccessor(std::string*) const override {}
};

std::string name_of(rocksdb::CompressionType type) {
  std::string name;
  check(rocksdb::GetStringFromCompressionType(&name, type));
  return name;
}

class RocksDb {
 public:
  explicit RocksDb(std::string folder) : folder_(std::move(folder)), directory_(folder_ + "/db") {}
  ~RocksDb() { close(); }
  RocksDb(const RocksDb&) = delete;
  RocksDb& operator=(const RocksDb&) = delete;

  bool execute(const Words& words, Script& script) {
    static const std::map<std::string, void (RocksDb::*)(const Words&, Script&)> kOperations = {
        {"set", &RocksDb::set},           {"open", &RocksDb::open},           {"close", &RocksDb::close_database},
        {"dump", &RocksDb::dump},         {"batch", &RocksDb::batch},         {"flush", &RocksDb::flush},
        {"compact", &RocksDb::compact},   {"create", &RocksDb::create},       {"drop", &RocksDb::drop},
        {"ingest", &RocksDb::ingest},     {"wal", &RocksDb::set_wal},         {"checkpoint", &RocksDb::checkpoint},
        {"snapshot", &RocksDb::snapshot}, {"begin", &RocksDb::begin},         {"in", &RocksDb::write_in_transaction},
        {"end", &RocksDb::end},           {"ts_low", &RocksDb::raise_ts_low}, {"pair", &RocksDb::write_pair}};
    const auto found = kOperations.find(words[0]);
    if (found != kOperations.end()) {
      (this->*found->second)(words, script);
      return true;
    }
    rocksdb::WriteBatch batch;
    return add_to(batch, words) && write(batch);
  }

 private:
  using Map = std::unordered_map<std::string, std::string>;

  // set SCOPE NAME VALUE: an option. SCOPE: db, cf, cf:FAMILY, table, transactions.
  void set(const Words& words, Script&) {
    settings_[words[1]][words[2]] = words.size() > 3 ? replaced(words[3], "$FOLDER", folder_) : "";
  }

  static std::vector<rocksdb::DbPath> paths_of(const std::string& text) {
    std::vector<rocksdb::DbPath> paths;
    for (const std::string& path : split(text, ',')) {
      const Words parts = split(path, ':');
      paths.emplace_back(parts[0], std::stoull(parts[1]));
    }
    return paths;
  }

  rocksdb::DBOptions database_options() {
    Map map = settings_["db"];
    rocksdb::DBOptions base, options;
    base.create_if_missing = true;
    base.stats_dump_period_sec = 0;
    base.stats_persist_period_sec = 0;
    base.db_paths = paths_of(map["db_paths"]);
    map.erase("db_paths");
    check(rocksdb::GetDBOptionsFromMap(config_, base, map, &options));
    return options;
  }

  rocksdb::ColumnFamilyOptions family_options(const std::string& family) {
    Map map = settings_["cf"];
    for (const auto& [name, value] : settings_["cf:" + family]) map[name] = value;
    rocksdb::BlockBasedTableOptions table;
    check(rocksdb::GetBlockBasedTableOptionsFromMap(config_, {}, settings_["table"], &table));
    rocksdb::ColumnFamilyOptions base, options;
    base.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
    base.arena_block_size = 4096;
    base.cf_paths = paths_of(map["cf_paths"]);
    map.erase("cf_paths");
    if (map["merge_operator"] == "append") base.merge_operator = std::make_shared<Append>();
    if (map["merge_operator"] == "append" || map["merge_operator"].empty()) map.erase("merge_operator");
    if (map["comparator"] == "by_length") base.comparator = &by_length_;
    if (map["comparator"] == "by_length" || map["comparator"].empty()) map.erase("comparator");
    check(rocksdb::GetColumnFamilyOptionsFromMap(config_, base, map, &options));
    return options;
  }

  void open(const Words&, Script&) {
    close();
    const rocksdb::DBOptions options = database_options();
    std::vector<std::string> names;
    if (!rocksdb::DB::ListColumnFamilies(options, directory_, &names).ok()) names = {"default"};
    std::vector<rocksdb::ColumnFamilyDescriptor> descriptors;
    descriptors.reserve(names.size());
    for (const std::string& name : names) descriptors.emplace_back(name, family_options(name));
    const auto policy = settings_.find("transactions");
    if (policy == settings_.end()) return open_plain(options, descriptors);
    rocksdb::TransactionDBOptions transactions;
    transactions.write_policy = static_cast<rocksdb::TxnDBWritePolicy>(std::stoi(policy->second["write_policy"]));
    transactions.default_lock_timeout = transactions.transaction_lock_timeout = 1;
    check(rocksdb::TransactionDB::Open(options, transactions, directory_, descriptors, &families_, &transaction_db_));
    db_.reset(transaction_db_);
  }

  void open_plain(const rocksdb::DBOptions& options, const std::vector<rocksdb::ColumnFamilyDescriptor>& descriptors) {
#if ROCKSDB_MAJOR >= 10
    check(rocksdb::DB::Open(options, directory_, descriptors, &families_, &db_));
#else
    rocksdb::DB* opened = nullptr;
    check(rocksdb::DB::Open(options, directory_, descriptors, &families_, &opened));
    db_.reset(opened);
#endif
  }

  void close_database(const Words&, Script&) { close(); }
  void close() {
    transactions_.clear();
    if (snapshot_ != nullptr) {
      rocksdb::CancelAllBackgroundWork(db_.get(), true);  // or a compaction would drop what the snapshot shows
      db_->ReleaseSnapshot(snapshot_);
    }
    snapshot_ = nullptr;
    for (ColumnFamilyHandle* handle : families_) check(db_->DestroyColumnFamilyHandle(handle));
    families_.clear();
    db_.reset();
    transaction_db_ = nullptr;
  }

  ColumnFamilyHandle* family(const std::string& word) {
    for (ColumnFamilyHandle* handle : families_)
      if (handle->GetName() == word) return handle;
    std::fprintf(stderr, "no column family %s\n", word.c_str());
    std::exit(1);
  }

  // A time such as @7 as the last word: the timestamp, in the engine's encoding. Otherwise empty.
  static std::string timestamp_of(const Words& words) {
    if (words.back()[0] != '@') return {};
    const std::uint64_t time = std::stoull(words.back().substr(1));
    std::string bytes(8, '\0');
    for (int i = 0; i < 8; ++i) bytes[static_cast<std::size_t>(i)] = static_cast<char>(time >> (8 * i));
    return bytes;
  }

  bool add_to(rocksdb::WriteBatch& batch, const Words& words) {
    if (words[0] == "log_data") return check(batch.PutLogData(bytes_of(words[1]))), true;
    if (words.size() < 3) return false;
    ColumnFamilyHandle* const in = family(words[1]);
    if (words[0] == "entity") return put_entity(batch, in, words), true;
    const std::string key = bytes_of(words[2]), value = words.size() > 3 ? bytes_of(words[3]) : "";
    const std::string time = timestamp_of(words);
    const bool has_time = !time.empty();
    if (words[0] == "put") {
      check(has_time ? batch.Put(in, key, time, value) : batch.Put(in, key, value));
    } else if (words[0] == "delete") {
      check(has_time ? batch.Delete(in, key, time) : batch.Delete(in, key));
    } else if (words[0] == "single_delete") {
      check(has_time ? batch.SingleDelete(in, key, time) : batch.SingleDelete(in, key));
    } else if (words[0] == "merge") {
      check(batch.Merge(in, key, value));
    } else if (words[0] == "delete_range") {
      check(has_time ? batch.DeleteRange(in, key, value, time) : batch.DeleteRange(in, key, value));
    } else {
      return false;
    }
    return true;
  }

  // entity FAMILY KEY NAME=VALUE...
  static void put_entity(rocksdb::WriteBatch& batch, ColumnFamilyHandle* in, const Words& words) {
    std::vector<std::pair<std::string, std::string>> bytes;
    for (std::size_t i = 3; i < words.size(); ++i) {
      const std::size_t at = words[i].find('=');
      bytes.emplace_back(bytes_of(words[i].substr(0, at)), bytes_of(words[i].substr(at + 1)));
    }
    rocksdb::WideColumns columns;
    for (const auto& [name, value] : bytes) columns.emplace_back(name, value);
    check(batch.PutEntity(in, bytes_of(words[2]), columns));
  }

  // A write that a lock of a prepared transaction forbids does not happen.
  bool write(rocksdb::WriteBatch& batch) {
    const Status status = db_->Write(writing_, &batch);
    if (!status.IsTimedOut() && !status.IsBusy()) check(status);
    return true;
  }

  // batch N: the next N lines are written at once.
  void batch(const Words& words, Script& script) {
    rocksdb::WriteBatch batch;
    Words line;
    for (std::uint64_t left = std::stoull(words[1]); left > 0 && script.next(line); --left) add_to(batch, line);
    write(batch);
  }

  // Gives two keys the same new value at once.
  void write_pair(const Words&, Script&) {
    rocksdb::WriteBatch batch;
    const std::string value = std::to_string(next_pair_++);
    check(batch.Put("pair/1", value));
    check(batch.Put("pair/2", value));
    write(batch);
  }

  void set_wal(const Words& words, Script&) { writing_.disableWAL = words[1] == "off"; }

  void flush(const Words& words, Script&) { check(db_->Flush({}, family(words[1]))); }

  // compact FAMILY [FROM TO]
  void compact(const Words& words, Script&) {
    rocksdb::CompactRangeOptions options;
    if (words.size() < 4) return check(db_->CompactRange(options, family(words[1]), nullptr, nullptr));
    const std::string from = bytes_of(words[2]), to = bytes_of(words[3]);
    const Slice begin(from), end(to);
    check(db_->CompactRange(options, family(words[1]), &begin, &end));
  }

  void create(const Words& words, Script&) {
    ColumnFamilyHandle* handle = nullptr;
    check(db_->CreateColumnFamily(family_options(words[1]), words[1], &handle));
    families_.push_back(handle);
  }
  void drop(const Words& words, Script&) {
    ColumnFamilyHandle* const handle = family(words[1]);
    check(db_->DropColumnFamily(handle));
    check(db_->DestroyColumnFamilyHandle(handle));
    families_.erase(std::find(families_.begin(), families_.end(), handle));
  }

  // ingest FAMILY N [write_global_seqno]: the next N lines, put KEY VALUE, delete KEY, merge KEY VALUE or
  // delete_range FROM TO, are written to a table, which becomes a part of the database.
  void ingest(const Words& words, Script& script) {
    ColumnFamilyHandle* const in = family(words[1]);
    const rocksdb::Options options(database_options(), family_options(words[1]));
    const std::string path = folder_ + "/external.sst";
    std::vector<Words> lines;
    Words line;
    for (std::uint64_t left = std::stoull(words[2]); left > 0 && script.next(line); --left) lines.push_back(line);
    const auto precedes = [&](const Words& a, const Words& b) {
      return options.comparator->Compare(bytes_of(a[1]), bytes_of(b[1])) < 0;
    };
    std::stable_sort(lines.begin(), lines.end(), precedes);
    rocksdb::SstFileWriter writer(rocksdb::EnvOptions(), options, in);
    check(writer.Open(path));
    for (const Words& entry : lines) {
      const std::string key = bytes_of(entry[1]), value = entry.size() > 2 ? bytes_of(entry[2]) : "";
      check(entry[0] == "put"      ? writer.Put(key, value)
            : entry[0] == "delete" ? writer.Delete(key)
            : entry[0] == "merge"  ? writer.Merge(key, value)
                                   : writer.DeleteRange(key, value));
    }
    check(writer.Finish());
    rocksdb::IngestExternalFileOptions how;
    how.write_global_seqno = words.size() > 3;
    check(db_->IngestExternalFile(in, {path}, how));
    std::remove(path.c_str());
  }

  // checkpoint NAME: of the database in FOLDER/NAME. Some builds of the library are without it.
  void checkpoint([[maybe_unused]] const Words& words, Script&) {
#ifndef WITHOUT_CHECKPOINTS
    rocksdb::Checkpoint* made = nullptr;
    check(rocksdb::Checkpoint::Create(db_.get(), &made));
    const std::unique_ptr<rocksdb::Checkpoint> owner(made);
    check(made->CreateCheckpoint(folder_ + "/" + words[1]));
#endif
  }

  // Keeps a snapshot until the database is closed, and writes its number and rows to FOLDER/snapshot.
  void snapshot(const Words&, Script&) {
    snapshot_ = db_->GetSnapshot();
    std::FILE* const out = std::fopen((folder_ + "/snapshot").c_str(), "w");
    if (out == nullptr) std::exit(1);
    std::fprintf(out, "%llu\n", static_cast<unsigned long long>(snapshot_->GetSequenceNumber()));
    dump_to(out, {});
    std::fclose(out);
  }

  // begin ID; in ID put FAMILY KEY VALUE...; end ID prepare|commit|rollback
  void begin(const Words& words, Script&) {
    transactions_[words[1]].reset(transaction_db_->BeginTransaction(writing_));
    check(transactions_[words[1]]->SetName(words[1]));
  }
  void write_in_transaction(const Words& words, Script&) {
    rocksdb::Transaction& transaction = *transactions_.at(words[1]);
    ColumnFamilyHandle* const in = family(words[3]);
    const std::string key = bytes_of(words[4]);
    const Status status = words[2] == "put"     ? transaction.Put(in, key, bytes_of(words[5]))
                          : words[2] == "merge" ? transaction.Merge(in, key, bytes_of(words[5]))
                                                : transaction.Delete(in, key);
    if (!status.IsTimedOut() && !status.IsBusy()) check(status);
  }
  void end(const Words& words, Script&) {
    rocksdb::Transaction& transaction = *transactions_.at(words[1]);
    if (words[2] == "prepare") return check(transaction.Prepare());
    check(words[2] == "commit" ? transaction.Commit() : transaction.Rollback());
    transactions_.erase(words[1]);
  }

  // ts_low FAMILY @TIME: older states may be dropped.
  void raise_ts_low(const Words& words, Script&) {
    check(db_->IncreaseFullHistoryTsLow(family(words[1]), timestamp_of(words)));
  }

  void dump(const Words& words, Script&) {
    dump_to(stdout, timestamp_of(words));
    std::fflush(stdout);
  }

  // Prints all rows, as of the snapshot if there is one, and as of a timestamp for families that have them.
  void dump_to(std::FILE* out, std::string time) {
    if (time.empty()) time.assign(8, '\xff');
    const Slice newest(time);
    for (ColumnFamilyHandle* handle : families_) {
      rocksdb::ReadOptions reading;
      reading.total_order_seek = true;
      reading.snapshot = snapshot_;
      if (handle->GetComparator()->timestamp_size() > 0) reading.timestamp = &newest;
      const std::unique_ptr<rocksdb::Iterator> at(db_->NewIterator(reading, handle));
      for (at->SeekToFirst(); at->Valid(); at->Next()) {
        std::string columns;
        const bool is_plain = at->columns().size() == 1 && at->columns().front().name().empty();
        for (const auto& column : at->columns())
          if (!is_plain) columns += ":" + hex(column.name().ToString()) + "=" + hex(column.value().ToString());
        print_row(out, handle->GetName(), at->key().ToString(), at->value().ToString(), columns);
      }
      check(at->status());
    }
  }

  const std::string folder_, directory_;
  const ByLength by_length_;
  const rocksdb::ConfigOptions config_;
  std::map<std::string, Map> settings_;
  rocksdb::WriteOptions writing_;
  std::uint64_t next_pair_ = 0;
  std::unique_ptr<rocksdb::DB> db_;
  rocksdb::TransactionDB* transaction_db_ = nullptr;  // db_, if it has transactions
  std::vector<ColumnFamilyHandle*> families_;
  std::map<std::string, std::unique_ptr<rocksdb::Transaction>> transactions_;
  const rocksdb::Snapshot* snapshot_ = nullptr;
};

}  // namespace
}  // namespace drive

int main(int argc, char** argv) {
  std::string version = "rocksdb " + rocksdb::GetRocksVersionAsString(true);
  for (const rocksdb::CompressionType type : rocksdb::GetSupportedCompressions()) version += " " + drive::name_of(type);
  return drive::run<drive::RocksDb>(argc, argv, version);
}
