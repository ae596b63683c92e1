// Recomputes the checksums of the records and the footer of a blob file (core/formats/rocksdb_blob/FORMAT.md).
#include <algorithm>
#include <random>
#include <vector>

#include "core/hash/crc32c.h"
#include "tests/fuzz/mutator.h"
#include "tests/fuzz/put.h"

namespace recordfs::fuzz {
namespace {

constexpr std::size_t kFileHeader = 30;
constexpr std::size_t kChecked = 24;  // bytes of a record's header that its checksum covers
constexpr std::size_t kHeader = 32;
constexpr std::size_t kFooter = 32;
constexpr std::uint64_t kMagic = 0x00248f37;

struct Record {
  std::size_t begin = 0;
  std::size_t key = 0;    // bytes
  std::size_t value = 0;  // bytes
  std::size_t size() const { return kHeader + key + value; }
};

// Returns the records as far as their sizes are consistent.
std::vector<Record> all_records(Bytes file) {
  std::vector<Record> records;
  for (std::size_t at = kFileHeader; at <= file.size() && file.size() - at >= kHeader; at += records.back().size()) {
    const std::size_t room = file.size() - at - kHeader;
    const std::uint64_t key = get_number(file, at, 8);
    const std::uint64_t value = get_number(file, at + 8, 8);
    if (key > room || value > room - key) break;
    records.push_back({at, static_cast<std::size_t>(key), static_cast<std::size_t>(value)});
  }
  return records;
}

void put_checksum(MutableBytes file, std::size_t at, Bytes covered) {
  put_number(file, at, 4, mask_crc(crc32c(covered)));
}

std::string framed(const std::string& key, const std::string& value) {
  std::string bytes(kHeader, '\0');
  bytes += key + value;
  const MutableBytes file = std::as_writable_bytes(std::span(bytes));
  put_number(file, 0, 8, key.size());
  put_number(file, 8, 8, value.size());
  put_checksum(file, kChecked, file.first(kChecked));
  put_checksum(file, kChecked + 4, file.subspan(kHeader));
  return bytes;
}

void fix_checksums(MutableBytes file) {
  for (const Record& record : all_records(file)) {
    put_checksum(file, record.begin + kChecked, file.subspan(record.begin, kChecked));
    put_checksum(file, record.begin + kChecked + 4, file.subspan(record.begin + kHeader, record.key + record.value));
  }
  if (file.size() < kFileHeader + kFooter) return;
  const std::size_t footer = file.size() - kFooter;
  if (get_number(file, footer, 4) == kMagic) put_checksum(file, file.size() - 4, file.subspan(footer, kFooter - 4));
}

// Changes, duplicates or deletes a record.
std::string restructure(Bytes file, std::uint64_t seed, const ChangeBytes& change) {
  std::minstd_rand random(static_cast<std::minstd_rand::result_type>(seed));
  std::string bytes(as_text(file));
  const auto records = all_records(file);
  if (records.empty()) {
    change(bytes, 64);
    return bytes;
  }
  const Record picked = records[random() % records.size()];
  std::string key = bytes.substr(picked.begin + kHeader, picked.key);
  std::string value = bytes.substr(picked.begin + kHeader + picked.key, picked.value);
  switch (random() % 4) {
    case 0: bytes.insert(records[random() % records.size()].begin, framed(key, value)); break;
    case 1: bytes.erase(picked.begin, picked.size()); break;
    default:
      change(random() % 4 == 0 ? key : value, 64);
      bytes.replace(picked.begin, picked.size(), framed(key, value));
  }
  return bytes;
}

}  // namespace

namespace rocksdb_blob {

extern const Mutator kMutator;
const Mutator kMutator{fix_checksums, restructure};

}  // namespace rocksdb_blob
}  // namespace recordfs::fuzz
