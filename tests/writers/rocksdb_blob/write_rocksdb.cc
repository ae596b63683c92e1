// Writes blob files with RocksDB itself, and for each the keys and values that it was given. Not part of the build.
// With Debian's librocksdb-dev:
//
//   g++ -std=c++17 write_rocksdb.cc -lrocksdb -o write_rocksdb && ./write_rocksdb FOLDER
//
// Afterwards make_samples.py FOLDER copies the files to tests/corpus/rocksdb_blob, with their expectations.
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <rocksdb/db.h>
#include <rocksdb/options.h>

namespace {

namespace fs = std::filesystem;
using Rows = std::vector<std::pair<std::string, std::string>>;  // in the order of the file

void check(const rocksdb::Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "%s\n", status.ToString().c_str());
  std::exit(1);
}

void print_hex(std::FILE* out, const std::string& bytes) {
  for (const char byte : bytes) std::fprintf(out, "%02x", static_cast<unsigned>(static_cast<unsigned char>(byte)));
}

std::string key_of(int number) {
  std::string digits = std::to_string(number);
  return "key" + std::string(5 - digits.size(), '0') + digits;
}

// Returns compressible values of several lengths.
Rows rows(int count) {
  Rows rows;
  for (int i = 0; i < count; ++i) {
    std::string value = "value of " + std::to_string(i) + ": ";
    for (int n = 0; n < 2 + i % 5; ++n) value += "to be or not to be ";
    rows.emplace_back(key_of(i), value);
  }
  return rows;
}

struct Variant {
  rocksdb::CompressionType compression = rocksdb::kNoCompression;
  bool in_family = false;     // in another family than the default one
  bool has_versions = false;  // a snapshot keeps an older value of each key
};

// Creates a database, and keeps the only blob file that it has after a flush.
void write(const fs::path& target, const Rows& rows, const Variant& variant = {}) {
  const fs::path folder = fs::temp_directory_path() / "write_rocksdb_blob";
  fs::remove_all(folder);
  rocksdb::Options options;
  options.create_if_missing = true;
  options.enable_blob_files = true;
  options.blob_compression_type = variant.compression;
  rocksdb::DB* opened = nullptr;
  check(rocksdb::DB::Open(options, folder.string(), &opened));
  std::unique_ptr<rocksdb::DB> db(opened);
  rocksdb::ColumnFamilyHandle* family = db->DefaultColumnFamily();
  if (variant.in_family) check(db->CreateColumnFamily(options, "second", &family));
  Rows written;
  if (variant.has_versions) {
    for (const auto& [key, value] : rows) check(db->Put({}, family, key, "older " + value));
  }
  const rocksdb::Snapshot* const snapshot = db->GetSnapshot();
  for (const auto& [key, value] : rows) {
    check(db->Put({}, family, key, value));
    written.emplace_back(key, value);
    if (variant.has_versions) written.emplace_back(key, "older " + value);
  }
  check(db->Flush({}, family));
  db->ReleaseSnapshot(snapshot);
  int files = 0;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() != ".blob") continue;
    ++files;
    fs::copy_file(entry.path(), target, fs::copy_options::overwrite_existing);
  }
  if (files != 1) std::exit(2);
  std::FILE* const out = std::fopen((target.string() + ".rows").c_str(), "w");
  if (out == nullptr) std::exit(1);
  for (const auto& [key, value] : written) {
    print_hex(out, key);
    std::fputc(' ', out);
    print_hex(out, value);
    std::fputc('\n', out);
  }
  std::fclose(out);
  if (variant.in_family) check(db->DestroyColumnFamilyHandle(family));
  db.reset();
  fs::remove_all(folder);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const fs::path out(argv[1]);
  const std::pair<const char*, rocksdb::CompressionType> compressions[] = {
      {"none", rocksdb::kNoCompression}, {"snappy", rocksdb::kSnappyCompression}, {"zlib", rocksdb::kZlibCompression},
      {"lz4", rocksdb::kLZ4Compression}, {"lz4hc", rocksdb::kLZ4HCCompression},   {"zstd", rocksdb::kZSTD}};
  for (const auto& [name, compression] : compressions) {
    write(out / ("rocksdb7-" + std::string(name) + ".blob"), rows(40), {compression});
    write(out / ("rocksdb7-" + std::string(name) + "-small.blob"), rows(5), {compression});
  }
  write(out / "rocksdb7-family.blob", rows(10), {rocksdb::kZSTD, true});
  write(out / "rocksdb7-versions.blob", rows(10), {rocksdb::kNoCompression, false, true});
  write(out / "rocksdb7-one.blob", rows(1));
  // Several chunks, in a small file.
  Rows long_rows = rows(20);
  for (auto& [key, value] : long_rows) {
    for (int i = 0; i < 10; ++i) value += value;
  }
  write(out / "rocksdb7-long-values.blob", long_rows, {rocksdb::kZSTD});
}
