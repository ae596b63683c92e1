// Recomputes both checksums of each record of a TFRecord file (core/formats/tfrecord/FORMAT.md).
#include <algorithm>
#include <random>
#include <vector>

#include "core/hash/crc32c.h"
#include "tests/fuzz/mutator.h"
#include "tests/fuzz/put.h"

namespace recordfs::fuzz {
namespace {

constexpr std::size_t kLength = 8;
constexpr std::size_t kHeader = 12;
constexpr std::size_t kFooter = 4;

struct Record {
  std::size_t begin = 0;
  std::size_t data = 0;  // bytes
};

// Returns the records as far as their lengths are consistent.
std::vector<Record> all_records(Bytes file) {
  std::vector<Record> records;
  for (std::size_t at = 0; file.size() - at >= kHeader + kFooter;) {
    const std::uint64_t length = get_number(file, at, kLength);
    if (length > file.size() - at - kHeader - kFooter) break;
    records.push_back({at, static_cast<std::size_t>(length)});
    at += kHeader + records.back().data + kFooter;
  }
  return records;
}

void put_checksum(MutableBytes file, std::size_t begin, std::size_t size) {
  put_number(file, begin + size, 4, mask_crc(crc32c(file.subspan(begin, size))));
}

std::string framed(const std::string& data) {
  std::string bytes(kHeader + data.size() + kFooter, '\0');
  put_number(std::as_writable_bytes(std::span(bytes)), 0, kLength, data.size());
  bytes.replace(kHeader, data.size(), data);
  return bytes;
}

void fix_checksums(MutableBytes file) {
  for (const Record& record : all_records(file)) {
    put_checksum(file, record.begin, kLength);
    put_checksum(file, record.begin + kHeader, record.data);
  }
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
  std::string data = bytes.substr(picked.begin + kHeader, picked.data);
  switch (random() % 4) {
    case 0: bytes.insert(records[random() % records.size()].begin, framed(data)); break;
    case 1: bytes.erase(picked.begin, kHeader + picked.data + kFooter); break;
    default: change(data, 64); bytes.replace(picked.begin, kHeader + picked.data + kFooter, framed(data));
  }
  return bytes;
}

}  // namespace

namespace tfrecord {

extern const Mutator kMutator;
const Mutator kMutator{fix_checksums, restructure};

}  // namespace tfrecord
}  // namespace recordfs::fuzz
