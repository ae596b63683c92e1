// Writes the samples of tests/corpus/database whose names begin with rocksdb7-: real databases, written by RocksDB
// itself, with what it returns for them. Not part of the build. With Debian's librocksdb-dev:
//
//   g++ -std=c++17 write_rocksdb.cc -lrocksdb -o write_rocksdb && ./write_rocksdb FOLDER
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>

#include <rocksdb/comparator.h>
#include <rocksdb/convenience.h>
#include <rocksdb/db.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/merge_operator.h>
#include <rocksdb/options.h>
#include <rocksdb/slice_transform.h>
#include <rocksdb/sst_file_writer.h>
#include <rocksdb/table.h>
#include <rocksdb/utilities/transaction.h>
#include <rocksdb/utilities/transaction_db.h>

#include "rocksdb_sample.h"

namespace {

class Append final : public rocksdb::AssociativeMergeOperator {
 public:
  bool Merge(const rocksdb::Slice&, const rocksdb::Slice* old, const rocksdb::Slice& operand, std::string* result,
             rocksdb::Logger*) const override {
    *result = (old == nullptr ? "" : old->ToString() + ",") + operand.ToString();
    return true;
  }
  const char* Name() const override { return "append"; }
};

void families(const fs::path& folder) {
  Sample sample(folder, "rocksdb7-families", {});
  sample.put(0, 40, 1);
  sample.add_family("second");
  sample.add_family("empty");
  sample.add_family("dropped");
  sample.put(10, 30, 1, 2, 1);
  sample.put(0, 30, 1, 1, 3);
  sample.flush(1);
  sample.put(0, 40, 2, 3);
  sample.put(10, 30, 3, 6, 1);
  check(sample.db().Delete({}, sample.family(1), key_of(12)));
  sample.flush(0);
  sample.drop_last_family();
  sample.put(0, 10, 4);
  check(sample.db().SingleDelete({}, key_of(39)));
  sample.finish();
}

void range_deletions(const fs::path& folder) {
  rocksdb::Options options;
  options.target_file_size_base = 2048;
  Sample sample(folder, "rocksdb7-range-deletions", options);
  sample.put(0, 100, 1);
  sample.flush();
  check(sample.db().DeleteRange({}, sample.family(0), key_of(10), key_of(30)));
  sample.put(15, 20, 2);
  sample.flush();
  sample.compact();
  const rocksdb::Snapshot* const old = sample.db().GetSnapshot();
  check(sample.db().DeleteRange({}, sample.family(0), key_of(18), key_of(60)));
  sample.put(40, 45, 3);
  sample.flush();
  sample.compact();  // the snapshot keeps the deletion, and what it hides
  sample.db().ReleaseSnapshot(old);
  check(sample.db().DeleteRange({}, sample.family(0), key_of(90), key_of(95)));
  sample.put(92, 93, 4);
  sample.finish();
}

// Three tables that follow each other over one with all keys: the first and the last delete no range.
void range_deletions_between_tables(const fs::path& folder) {
  Sample sample(folder, "rocksdb7-range-deletions-between", {});
  sample.put(0, 100, 1);
  sample.flush();
  sample.compact();
  sample.put(5, 10, 2);
  sample.flush();
  check(sample.db().DeleteRange({}, sample.family(0), key_of(40), key_of(50)));
  sample.put(45, 47, 3);
  sample.flush();
  sample.put(70, 80, 4);
  sample.flush();
  sample.finish();
}

// A deletion of a range is cut at the end of a table, before the key with which the next table begins. Only the next
// one is compacted further, so that its keys have the number 0.
void cut_range_deletion(const fs::path& folder) {
  rocksdb::Options options;
  options.target_file_size_base = 2000;
  rocksdb::BlockBasedTableOptions table;
  table.block_size = 256;
  options.compression = rocksdb::kNoCompression;
  Sample sample(folder, "rocksdb7-range-deletion-cut", options, table);
  const auto move_to = [&](int level) {
    sample.flush();
    std::vector<rocksdb::LiveFileMetaData> tables;
    sample.db().GetLiveFilesMetaData(&tables);
    rocksdb::CompactionOptions into;
    into.output_file_size_limit = options.target_file_size_base;
    into.compression = options.compression;
    check(sample.db().CompactFiles(into, {tables.front().name}, level));
  };
  sample.put(5, 6, 1);
  move_to(6);
  sample.put(10, 40, 1);
  move_to(6);
  check(sample.db().DeleteRange({}, sample.family(0), key_of(0), key_of(99)));
  sample.put(1, 40, 2, 1, 0, std::string(200, '.'));
  move_to(5);
  const std::string from = key_of(20), to = key_of(21);
  const rocksdb::Slice first(from), last(to);
  check(sample.db().CompactRange({}, &first, &last));
  sample.finish();
}

// The table with the deletion has none of the keys that it deletes.
void reverse_range_deletion(const fs::path& folder) {
  rocksdb::Options options;
  options.comparator = rocksdb::ReverseBytewiseComparator();
  Sample sample(folder, "rocksdb7-reverse-range-deletion", options);
  sample.put(0, 10, 1);
  sample.flush();
  check(sample.db().DeleteRange({}, sample.family(0), key_of(7), key_of(2)));
  sample.put(0, 1, 2);
  sample.flush();
  sample.finish();
}

void no_checksums(const fs::path& folder) {
  rocksdb::BlockBasedTableOptions table;
  table.checksum = rocksdb::kNoChecksum;
  rocksdb::Options options;
  options.compression = rocksdb::kNoCompression;
  Sample sample(folder, "rocksdb7-no-checksums", options, table);
  sample.put(5, 10, 1);
  sample.flush();
  check(sample.db().DeleteRange({}, sample.family(0), key_of(1), key_of(7)));
  sample.put(8, 9, 2);
  sample.flush();
  sample.finish();
}

void merges(const fs::path& folder) {
  rocksdb::Options options;
  options.merge_operator = std::make_shared<Append>();
  Sample sample(folder, "rocksdb7-merges", options);
  sample.put(0, 5, 1);
  check(sample.db().Merge({}, key_of(1), "more"));
  sample.flush();
  check(sample.db().Merge({}, key_of(2), "again"));
  check(sample.db().Merge({}, key_of(9), "alone"));
  check(sample.db().Merge({}, key_of(3), "lost"));
  check(sample.db().Put({}, key_of(3), "put after a merge"));
  sample.finish();
}

// A family for each of RocksDB's own operators. UInt64AddOperator needs numbers of 8 bytes.
void merge_operators(const fs::path& folder) {
  const auto options_of = [](const std::string& id) {
    rocksdb::Options options;
    check(rocksdb::MergeOperator::CreateFromString({}, id, &options.merge_operator));
    return options;
  };
  Sample sample(folder, "rocksdb7-merge-operators", options_of("{id=StringAppendOperator;delimiter=, and;}"));
  sample.add_family("test", options_of("{id=StringAppendTESTOperator;delimiter=\\:;}"));
  sample.add_family("joined", options_of("{id=StringAppendOperator;delimiter=;}"));
  sample.add_family("add", options_of("UInt64AddOperator"));
  sample.add_family("max", options_of("MaxOperator"));
  sample.add_family("put", options_of("PutOperator"));
  for (std::size_t in = 0; in < 6; ++in) {
    const bool adds = in == 3;
    const auto value = [adds](std::uint64_t number) {
      if (!adds) return "v" + std::to_string(number);
      std::string bytes;
      for (int shift = 0; shift < 64; shift += 8) bytes += static_cast<char>(number >> shift & 0xff);
      return bytes;
    };
    rocksdb::DB& db = sample.db();
    ColumnFamilyHandle* const family = sample.family(in);
    for (int i = 0; i < 8; ++i) check(db.Put({}, family, key_of(i), value(100 + i)));
    check(db.Merge({}, family, key_of(1), value(7)));
    sample.flush(in);
    for (int i = 1; i < 12; ++i) check(db.Merge({}, family, key_of(i), value(20 + i)));
    check(db.Delete({}, family, key_of(2)));
    check(db.Merge({}, family, key_of(11), adds ? value(0) : ""));
    sample.flush(in);
    check(db.DeleteRange({}, family, key_of(3), key_of(5)));
    for (int i = 2; i < 12; i += 2) check(db.Merge({}, family, key_of(i), value(3)));
    check(db.Merge({}, family, key_of(1), value(300)));
    check(db.Merge({}, family, key_of(10), value(5)));
    check(db.Put({}, family, key_of(5), value(6)));
  }
  sample.finish_with_options();
}

void timestamps(const fs::path& folder) {
  rocksdb::Options options;
  check(rocksdb::Comparator::CreateFromString({}, "leveldb.BytewiseComparator.u64ts", &options.comparator));
  Sample sample(folder, "rocksdb7-timestamps", options);
  rocksdb::DB& db = sample.db();
  ColumnFamilyHandle* const family = sample.family(0);
  const auto encoded = [](int timestamp) {
    return std::string(1, static_cast<char>(timestamp)) + std::string(7, '\0');
  };
  const auto put = [&](int key, int timestamp) {
    check(db.Put({}, family, key_of(key), encoded(timestamp), "value at " + std::to_string(timestamp)));
  };
  const auto remove = [&](int key, int timestamp) { check(db.Delete({}, family, key_of(key), encoded(timestamp))); };
  for (int i = 0; i < 10; ++i) put(i, 10);
  for (int i = 1; i < 10; i += 2) put(i, 20);
  remove(2, 25);
  remove(3, 25);
  sample.flush();
  put(3, 30);
  put(4, 30);
  remove(5, 35);
  sample.flush();
  put(6, 40);
  remove(7, 45);
  check(db.DeleteRange({}, family, key_of(8), key_of(9), encoded(50)));
  put(10, 55);
  sample.finish();
}

void blobs(const fs::path& folder, const std::string& name, rocksdb::CompressionType compression) {
  rocksdb::Options options;
  options.enable_blob_files = true;
  options.min_blob_size = 40;
  options.blob_compression_type = compression;
  Sample sample(folder, name, options);
  sample.put(0, 20, 1, 1, 0, std::string(60, 'x'));
  sample.put(20, 30, 1);
  sample.flush();
  sample.put(0, 10, 2, 2, 0, std::string(80, 'y'));
  sample.flush();
  sample.put(1, 10, 3, 4, 0, std::string(90, 'z'));
  sample.finish();
}

void dictionary(const fs::path& folder, const std::string& name, rocksdb::CompressionType compression) {
  rocksdb::Options options;
  options.compression = compression;
  options.compression_opts.max_dict_bytes = 1024;
  options.compression_opts.zstd_max_train_bytes = compression == rocksdb::kZSTD ? 8192 : 0;
  options.bottommost_compression = compression;
  options.bottommost_compression_opts = options.compression_opts;
  options.bottommost_compression_opts.enabled = true;
  rocksdb::BlockBasedTableOptions table;
  table.block_size = 256;
  Sample sample(folder, name, options, table);
  sample.put(0, 200, 1, 1, 0, " with words that repeat in all values, so that a dictionary helps");
  sample.flush();
  sample.compact();
  sample.finish();
}

// Tables with each form of index, filter and block.
void forms(const fs::path& folder, const std::string& name, const rocksdb::BlockBasedTableOptions& table,
           rocksdb::Options options = {}) {
  Sample sample(folder, name, options, table);
  sample.put(0, 150, 1);
  sample.flush();
  sample.compact();
  sample.put(0, 150, 2, 5);
  for (int i = 1; i < 150; i += 10) check(sample.db().Delete({}, key_of(i)));
  sample.flush();
  sample.put(0, 150, 3, 20);
  sample.finish();
}

void external(const fs::path& folder) {
  Sample sample(folder, "rocksdb7-external", {});
  sample.put(0, 20, 1);
  sample.flush();
  const std::string file = (fs::temp_directory_path() / "external.sst").string();
  rocksdb::Options options;
  options.compression = rocksdb::kNoCompression;
  rocksdb::SstFileWriter writer(rocksdb::EnvOptions(), options);
  check(writer.Open(file));
  for (int i = 10; i < 30; ++i) check(writer.Put(key_of(i), value_of(i, 7)));
  check(writer.Finish());
  check(sample.db().IngestExternalFile({file}, {}));
  sample.put(12, 15, 8);
  check(sample.db().Delete({}, key_of(16)));
  sample.flush();
  sample.finish();
}

// All entries of an ingested table have one sequence number, also the deletion of a range and the writes in it.
void external_range_deletion(const fs::path& folder) {
  Sample sample(folder, "rocksdb7-external-range-deletion", {});
  sample.put(0, 6, 1);
  sample.flush();
  const std::string file = (fs::temp_directory_path() / "external.sst").string();
  rocksdb::SstFileWriter writer(rocksdb::EnvOptions(), {});
  check(writer.Open(file));
  check(writer.DeleteRange(key_of(1), key_of(5)));
  check(writer.Put(key_of(2), value_of(2, 2)));
  check(writer.Finish());
  check(sample.db().IngestExternalFile({file}, {}));
  sample.put(4, 5, 3);
  sample.finish();
}

void transactions(const fs::path& folder) {
  Sample sample(folder, "rocksdb7-transactions", {}, {}, true);
  sample.put(0, 10, 1);
  const auto begin = [&](const std::string& name) {
    std::unique_ptr<rocksdb::Transaction> transaction(sample.transactions().BeginTransaction({}));
    check(transaction->SetName(name));
    return transaction;
  };
  auto committed = begin("committed");
  check(committed->Put(key_of(1), "of a transaction"));
  check(committed->Delete(key_of(2)));
  check(committed->Prepare());
  sample.put(5, 6, 2);
  auto rolled_back = begin("rolled back");
  check(rolled_back->Put(key_of(3), "rolled back"));
  check(rolled_back->Prepare());
  auto prepared = begin("prepared");
  check(prepared->Put(key_of(4), "only prepared"));
  check(prepared->Prepare());
  check(committed->Commit());
  check(rolled_back->Rollback());
  sample.put(6, 7, 3);
  committed.reset();
  rolled_back.reset();
  prepared.reset();
  sample.finish();
}

void others(const fs::path& folder) {
  rocksdb::Options reverse;
  reverse.comparator = rocksdb::ReverseBytewiseComparator();
  forms(folder, "rocksdb7-reverse", {}, reverse);
  rocksdb::Options plain;
  plain.table_factory.reset(rocksdb::NewPlainTableFactory());
  plain.prefix_extractor.reset(rocksdb::NewFixedPrefixTransform(3));
  Sample sample(folder, "rocksdb7-plain-table", plain);
  sample.put(0, 20, 1);
  sample.flush();
  sample.put(5, 8, 2);
  sample.finish();
}

void all_forms(const fs::path& folder) {
  rocksdb::BlockBasedTableOptions table;
  table.block_size = 256;
  table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(10));
  forms(folder, "rocksdb7-full-filter", table);
  table.format_version = 3;
  forms(folder, "rocksdb7-format3-full-filter", table);
  table.format_version = 5;
  table.index_type = rocksdb::BlockBasedTableOptions::kTwoLevelIndexSearch;
  table.partition_filters = true;
  table.metadata_block_size = 128;
  forms(folder, "rocksdb7-partitioned", table);
  table.partition_filters = false;
  table.index_type = rocksdb::BlockBasedTableOptions::kHashSearch;
  table.data_block_index_type = rocksdb::BlockBasedTableOptions::kDataBlockBinaryAndHash;
  table.whole_key_filtering = false;
  rocksdb::Options prefixes;
  prefixes.prefix_extractor.reset(rocksdb::NewFixedPrefixTransform(6));
  forms(folder, "rocksdb7-prefixes", table, prefixes);
  rocksdb::BlockBasedTableOptions first_keys;
  first_keys.block_size = 256;
  first_keys.index_type = rocksdb::BlockBasedTableOptions::kBinarySearchWithFirstKey;
  forms(folder, "rocksdb7-first-keys", first_keys);
}

void entities(const fs::path& folder) {
  Sample sample(folder, "rocksdb7-entities", {});
  sample.put(0, 3, 1);
  check(sample.db().PutEntity({}, sample.family(0), key_of(1), {{"", "default"}, {"a", "1"}, {"b", "2"}}));
  sample.flush();
  check(sample.db().PutEntity({}, sample.family(0), key_of(2), {{"c", "3"}}));
  sample.finish();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const fs::path folder = argv[1];
  families(folder);
  range_deletions(folder);
  range_deletions_between_tables(folder);
  cut_range_deletion(folder);
  reverse_range_deletion(folder);
  no_checksums(folder);
  merges(folder);
  merge_operators(folder);
  timestamps(folder);
  blobs(folder, "rocksdb7-blobs", rocksdb::kNoCompression);
  blobs(folder, "rocksdb7-blobs-zstd", rocksdb::kZSTD);
  dictionary(folder, "rocksdb7-dictionary", rocksdb::kZSTD);
  dictionary(folder, "rocksdb7-dictionary-lz4", rocksdb::kLZ4Compression);
  external(folder);
  external_range_deletion(folder);
  transactions(folder);
  entities(folder);
  all_forms(folder);
  others(folder);
}
