// Splits a recordio file into the chunks of the current format or the records of the legacy one, and reassembles it
// with correct checksums (core/formats/recordio/FORMAT.md). Uses the terms of that page.
#include <algorithm>
#include <array>
#include <random>
#include <vector>

#include "core/hash/crc32.h"
#include "tests/fuzz/mutator.h"
#include "tests/fuzz/put.h"

namespace recordfs::fuzz {
namespace {

constexpr std::size_t kChunk = 32768;
constexpr std::size_t kChunkHeader = 28;
constexpr std::size_t kLargestPayload = kChunk - kChunkHeader;
constexpr std::size_t kRecordHeader = 20;
constexpr std::size_t kLargestFile = 200000;

constexpr std::uint64_t kUnpacked = 0x20bdd9f03195aefc;
constexpr std::uint64_t kPacked = 0x2e3c0734eb47762e;
constexpr std::array<std::uint64_t, 3> kChunkMagics{0xf70416c25cd9e1d9, kPacked, 0x3a75dfcbd71abafe};
constexpr std::array<std::uint64_t, 2> kRecordMagics{kUnpacked, kPacked};

// Returns the magic of which at least seven of the eight bytes at `at` match; 0 if there is none.
std::uint64_t nearly_magic(Bytes file, std::size_t at, std::span<const std::uint64_t> magics) {
  const std::uint64_t found = get_number(file, at, 8);
  for (const std::uint64_t magic : magics) {
    int same = 0;
    for (unsigned shift = 0; shift < 64; shift += 8) same += ((found ^ magic) >> shift & 0xFF) == 0 ? 1 : 0;
    if (same >= 7) return magic;
  }
  return 0;
}

bool is_legacy(Bytes file) {
  if (file.size() < kRecordHeader) return false;
  const std::uint64_t magic = nearly_magic(file, 0, kRecordMagics);
  if (magic != kPacked) return magic == kUnpacked;
  return file.size() < kChunkHeader || get_number(file, 16, 4) > kLargestPayload;
}

void fix_chunk(MutableBytes chunk) {
  if (chunk.size() < kChunkHeader) return;
  const std::uint64_t magic = nearly_magic(chunk, 0, kChunkMagics);
  const std::uint64_t size = get_number(chunk, 16, 4);
  if (magic == 0 || size > chunk.size() - kChunkHeader) return;
  put_number(chunk, 0, 8, magic);
  put_number(chunk, 8, 4, crc32(chunk.subspan(12, kChunkHeader - 12 + static_cast<std::size_t>(size))));
}

// Returns the size of the item count and the sizes at the beginning of `payload`.
std::size_t table_size(Bytes payload) {
  std::size_t at = 0;
  const auto number = [&] {
    std::uint64_t value = 0;
    for (unsigned shift = 0; at < payload.size(); shift += 7) {
      const auto byte = std::to_integer<std::uint64_t>(payload[at++]);
      if (shift < 64) value |= (byte & 0x7F) << shift;
      if (byte < 0x80) break;
    }
    return value;
  };
  for (std::uint64_t items = number(); items > 0 && at < payload.size(); --items) number();
  return at;
}

void fix_record(MutableBytes record) {
  put_number(record, 16, 4, crc32(record.subspan(8, 8)));
  const MutableBytes payload = record.subspan(kRecordHeader);
  if (get_number(record, 0, 8) != kPacked || payload.size() < 4) return;
  put_number(payload, 0, 4, crc32(payload.subspan(4, table_size(payload.subspan(4)))));
}

// Returns the end of each legacy record, regardless of its checksum. The last record extends to the end of the file.
std::vector<std::size_t> record_ends(Bytes file) {
  std::vector<std::size_t> ends;
  for (std::size_t at = 0; file.size() - at >= kRecordHeader;) {
    const std::uint64_t length = get_number(file, at + 8, 8);
    const std::size_t rest = file.size() - at - kRecordHeader;
    at += kRecordHeader + static_cast<std::size_t>(std::min<std::uint64_t>(length, rest));
    ends.push_back(at);
  }
  return ends;
}

std::vector<std::string> take_apart(Bytes file) {
  std::vector<std::string> parts;
  if (is_legacy(file)) {
    std::size_t begin = 0;
    for (const std::size_t end : record_ends(file)) {
      parts.emplace_back(as_text(file.subspan(begin, end - begin)));
      begin = end;
    }
    return parts;
  }
  for (std::size_t begin = 0; begin < file.size(); begin += kChunk) {
    parts.emplace_back(as_text(file.subspan(begin, std::min(kChunk, file.size() - begin))));
  }
  return parts;
}

MutableBytes writable(std::string& part) { return std::as_writable_bytes(std::span(part)); }

// Changes the payload after a part's header and writes its new length into the header.
void change_payload(std::string& part, bool legacy, const ChangeBytes& change) {
  const std::size_t header = legacy ? kRecordHeader : kChunkHeader;
  if (part.size() < header) return;
  const std::size_t stated =
      legacy ? part.size() - header : static_cast<std::size_t>(get_number(as_bytes(part), 16, 4));
  std::string payload = part.substr(header, stated);
  change(payload, 64);
  if (legacy) {
    part.resize(std::min<std::size_t>(part.size(), header));
    part += payload;
    put_number(writable(part), 8, 8, payload.size());
    return;
  }
  payload.resize(std::min(payload.size(), kLargestPayload));
  part.resize(kChunk, '\0');
  std::ranges::copy(payload, part.begin() + kChunkHeader);
  put_number(writable(part), 16, 4, payload.size());
}

void change_header(std::string& part, bool legacy, std::minstd_rand& random) {
  if (part.size() < kChunkHeader) return;
  const MutableBytes bytes = writable(part);
  if (legacy) {
    put_number(bytes, 0, 8, kRecordMagics[random() % kRecordMagics.size()]);
    return;
  }
  switch (random() % 3) {
    case 0: put_number(bytes, 0, 8, kChunkMagics[random() % kChunkMagics.size()]); break;
    case 1: put_number(bytes, 20, 4, get_number(bytes, 20, 4) + random() % 5 - 2); break;
    default: put_number(bytes, 24, 4, get_number(bytes, 24, 4) + random() % 5 - 2); break;
  }
}

void change_one(std::vector<std::string>& parts, bool legacy, std::minstd_rand& random, const ChangeBytes& change) {
  const auto picked = parts.begin() + static_cast<std::ptrdiff_t>(random() % parts.size());
  switch (random() % 12) {
    case 0: change_header(*picked, legacy, random); break;
    case 1: parts.insert(picked, std::string(*picked)); break;
    case 2: parts.erase(picked); break;
    case 3: picked->swap(parts[random() % parts.size()]); break;
    case 4: parts.insert(picked, std::string(random() % 2000, 'x')); break;
    case 5: picked->resize(picked->size() - random() % (picked->size() / 4 + 1)); break;
    default: change_payload(*picked, legacy, change);
  }
}

void fix_checksums(MutableBytes file) {
  if (!is_legacy(file)) {
    for (std::size_t at = 0; at < file.size(); at += kChunk) {
      fix_chunk(file.subspan(at, std::min(kChunk, file.size() - at)));
    }
    return;
  }
  std::size_t begin = 0;
  for (const std::size_t end : record_ends(file)) {
    const MutableBytes record = file.subspan(begin, end - begin);
    if (const std::uint64_t magic = nearly_magic(record, 0, kRecordMagics)) put_number(record, 0, 8, magic);
    fix_record(record);
    begin = end;
  }
}

std::string restructure(Bytes file, std::uint64_t seed, const ChangeBytes& change) {
  std::minstd_rand random(static_cast<std::minstd_rand::result_type>(seed));
  const bool legacy = is_legacy(file);
  auto parts = take_apart(file);
  if (parts.empty()) parts.emplace_back(kChunk, '\0');
  change_one(parts, legacy, random, change);
  std::string whole;
  for (std::string& part : parts) {
    if (whole.size() + part.size() > kLargestFile) break;
    if (!legacy) fix_chunk(writable(part));
    if (legacy && part.size() >= kRecordHeader && part[0] != 'x') fix_record(writable(part));
    whole += part;
  }
  return whole;
}

}  // namespace

namespace recordio {

extern const Mutator kMutator;
const Mutator kMutator{fix_checksums, restructure};

}  // namespace recordio
}  // namespace recordfs::fuzz
